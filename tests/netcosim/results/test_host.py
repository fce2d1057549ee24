"""Record of the machine and the versions of a run."""

from pathlib import Path

from netcosim.results.host import SIMULATION, hash_files, hash_sources, versions


def test_a_hash_of_files_tells_every_change_but_bytecode(tmp_path: Path) -> None:
    (tmp_path / "a" / "deep").mkdir(parents=True)
    file = tmp_path / "a" / "deep" / "one.py"
    file.write_text("x = 1")
    (tmp_path / "b").mkdir()
    seen = [hash_files(tmp_path, ["a"])]
    (tmp_path / "a" / "one.pyc").write_text("bytecode")
    (tmp_path / "b" / "other.py").write_text("elsewhere")
    assert hash_files(tmp_path, ["a"]) == seen[0]
    file.write_text("x = 2")
    seen.append(hash_files(tmp_path, ["a"]))
    file.rename(file.with_name("two.py"))
    seen.append(hash_files(tmp_path, ["a"]))
    (tmp_path / "a" / "data.json").write_text("{}")
    seen.append(hash_files(tmp_path, ["a"]))
    assert len(set(seen)) == len(seen)


def test_versions_have_the_hash_of_the_sources() -> None:
    assert versions(SIMULATION)["sources"] == hash_sources()
    assert len(hash_sources()) == 64
