"""Names of files that are made of names that people give."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from netcosim.results.storage.file_names import file_name, split_name

LONGEST = 160

texts = st.text(st.characters(), max_size=300) | st.text("aA./@- é\n\0", max_size=8)


@given(texts, texts)
@example("../../x@h2", "/etc/passwd")
@example("a/b", "a@b")
@example("a/b@c", "a/b/c")
@example("VGG/h2", "vgg/h2")
@example("resnet50 at 1gbit", "resnet50-at-1gbit")
@example("a" * 300, "a" * 301)
@example("\u00e9", "e\u0301")
def test_different_names_have_different_safe_files(one: str, other: str) -> None:
    both = (one, other)
    files = [file_name(name, both) for name in both]
    for file in files:
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+@-]*", file) and len(file) <= LONGEST
        assert split_name(f"pictures/{file}.png") == ("pictures", f"{file}.png")
    assert (files[0].casefold() == files[1].casefold()) == (one == other)
    assert files == [file_name(name, reversed(both)) for name in both]


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,59}", fullmatch=True))
def test_names_of_scenarios_and_cells_stay_as_they_are(name: str) -> None:
    assert file_name(name) == name
    assert file_name(f"{name}/h2-on", ["mixed8/h2-on"]) == f"{name}@h2-on"
    assert file_name(f"resnet50/{name}@1gbit") == f"resnet50@{name}@1gbit"


def test_an_odd_name_stays_readable() -> None:
    assert file_name("resnet50 at 1gbit") == "resnet50-at-1gbit@-4870015201e3"
    assert file_name("../../x@h2") == "x-h2@-399c8225aec1"
    assert re.fullmatch("name@-[0-9a-f]{12}", file_name(".."))
