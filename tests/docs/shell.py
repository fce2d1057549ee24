"""Command lines of the documentation taken apart into the programs that they start."""

import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from tests.conftest import TIERS
from tests.docs.pages import ROOT

SHELL_PROGRAMS = (
    "cd",
    "debootstrap",
    "echo",
    "export",
    "git",
    "sed",
    "tcpdump",
    "unshare",
    "vagrant",
)
"""Programs on the pages that are not ours: what they are given is not looked at."""

_PYTHON = re.compile(r"(\S*/)?python3?")
_SEPARATORS = {"&&", "||", "|", ";"}
_ALONE = ("check", "format", "help", "layers", "lint", "lock", "provision", "types")
_BARE_OPTIONS = ("--keep", "--user", "--fetched")
_PLACEHOLDERS = {"SET": "base", "SUITE": "bookworm", "NAME": "noise", "A": "soak", "B": "guest"}


class NotUnderstoodError(Exception):
    """A command line that starts nothing, or not like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A Python program of the project: a module, or a file, and its arguments."""

    program: str
    arguments: tuple[str, ...]

    @property
    def title(self) -> str:
        """One line that names it."""
        return " ".join([self.program, *self.arguments])


def calls(text: str) -> list[Call]:
    """Programs of the project that a line of shell starts.

    Raises
    ------
    NotUnderstoodError
        Something in it is not known, or does not exist.
    """
    return [call for words in _simple_commands(text) for call in _calls(words)]


def calls_if_understood(text: str) -> list[Call]:
    """The same; none where the line is not understood, which a test of its own tells."""
    try:
        return calls(text)
    except NotUnderstoodError:
        return []


def _simple_commands(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    for token in lexer:
        if token in _SEPARATORS:
            yield words
            words = []
        else:
            words.append(token)
    yield words


def _calls(words: Sequence[str]) -> list[Call]:
    match [word for word in words if not re.fullmatch(r"\[\S+\]", word)]:
        case ["sudo", *rest]:
            return _calls(rest)
        case ["./dev", *rest]:
            return _of_dev(rest)
        case ["netcosim", *rest]:
            return [_of_netcosim(rest)]
        case ["pip" | "pipx", "install", *rest]:
            return _of_pip(rest)
        case ["bash", "-c", text]:
            return calls(text)
        case ["eval", text]:
            return calls(text.removeprefix("$(").removesuffix(")"))
        case [python, *rest] if _PYTHON.fullmatch(python):
            return _of_python(rest)
        case ["tools/ray_cluster.sh", command, *rest]:
            return _of_cluster(command, rest)
        case [program, *_] if program in SHELL_PROGRAMS:
            return []
    raise NotUnderstoodError(f"{' '.join(words)!r}: no program that is known")


def _of_python(words: Sequence[str]) -> list[Call]:
    match words:
        case ["-P", *rest]:
            return _of_python(rest)
        case ["-m", "pip", "install", *rest]:
            return _of_pip(rest)
        case ["-m", module, *rest]:
            return [Call(program=module, arguments=tuple(rest))]
        case [script, *rest] if script.endswith(".py") and (ROOT / script).is_file():
            return [Call(program=script, arguments=tuple(rest))]
    raise NotUnderstoodError(f"python {' '.join(words)}: no module")


def _of_netcosim(words: Sequence[str]) -> Call:
    """``netcosim COMMAND ...``, by the entry points of the checkout."""
    if not words or words[0].startswith("-"):
        return Call(program="netcosim.cli.main", arguments=tuple(words))
    name, *rest = words
    registered = _project()["entry-points"]["netcosim.commands"]
    if name not in registered:
        raise NotUnderstoodError(f"netcosim {name}: no such command; there are {list(registered)}")
    module, function = registered[name].split(" ")[0].split(":")
    if function == "identify":
        rest = ["--scenario", "identify", *rest]
    return Call(program=module.removesuffix(".__main__"), arguments=tuple(rest))


def _of_dev(words: Sequence[str]) -> list[Call]:
    command, rest = (words[0], list(words[1:])) if words else ("help", [])
    if not re.search(rf"^    (\S+ \| )*{re.escape(command)}( \| \S+)*\) ", _dev(), re.M):
        raise NotUnderstoodError(f"./dev {command}: no such command")
    match command:
        case "run" | "sim" | "sweep":
            program = {"run": "emu.run", "sim": "sim.run", "sweep": "ray_sweeps.run"}[command]
            return [Call(program=program, arguments=tuple(rest))]
        case "bench" if rest:
            return [_bench(rest)]
        case "bare" if rest:
            return _bare(rest)
        case "grpc-releases":
            return [Call(program="tools/grpc_releases.py", arguments=tuple(rest))]
        case "setup":
            _check_set(rest)
        case "test":
            _check_tests(rest)
        case "docs" if rest[:1] in ([], ["--update"]):
            pass
        case "virtual-kernel" if rest:
            if len(rest) > 1 or not re.fullmatch(r"[0-9]+\.[0-9]+", rest[0]):
                raise NotUnderstoodError(f"./dev virtual-kernel: no version of Linux: {rest}")
        case _ if rest and command in (*_ALONE, "docs"):
            raise NotUnderstoodError(f"./dev {command}: takes no arguments: {rest}")
        case _:
            _check_files(rest)
    return []


def _bench(words: Sequence[str]) -> Call:
    name = _PLACEHOLDERS.get(words[0], words[0])
    places = [ROOT / "bench" / f"{name}.py", ROOT / "bench" / name / "__main__.py"]
    if not any(place.is_file() for place in places):
        raise NotUnderstoodError(f"./dev bench {name}: no such benchmark")
    return Call(program=f"bench.{name}", arguments=tuple(words[1:]))


def _bare(words: Sequence[str]) -> list[Call]:
    """``./dev bare SUITE [OPTION...] [--] COMMAND...``; without a command only its options."""
    suite, rest = words[0], list(words[1:])
    if not re.fullmatch(r"[a-z]+", _PLACEHOLDERS.get(suite, suite)):
        raise NotUnderstoodError(f"./dev bare {suite}: no suite")
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if option not in _BARE_OPTIONS or f"{option}) " not in _bare_script():
            raise NotUnderstoodError(f"./dev bare {option}: no such option")
    return _calls(rest) if rest else []


def _check_set(words: Sequence[str]) -> None:
    for word in words:
        _check_files([f"requirements/{_PLACEHOLDERS.get(word, word)}.lock"])


def _check_tests(words: Sequence[str]) -> None:
    """``./dev test [--all | --tiers A,B] [--no-root] [FILE...]``."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if not re.search(rf"^ +{re.escape(option)}\)", _dev(), re.M):
            raise NotUnderstoodError(f"./dev test {option}: no such option")
        if option == "--tiers":
            for name in rest.pop(0).split(",") if rest else [""]:
                if _PLACEHOLDERS.get(name, name) not in TIERS:
                    raise NotUnderstoodError(f"./dev test --tiers {name}: no such tier")
    _check_files(rest)


def _of_cluster(command: str, words: Sequence[str]) -> list[Call]:
    """``tools/ray_cluster.sh COMMAND ...``: its own command and options."""
    script = (ROOT / "tools/ray_cluster.sh").read_text("utf-8")
    for word in [command, *(word for word in words if word.startswith("-"))]:
        if not re.search(rf"^ +(.* \| )?{re.escape(word)}( \| .*)?\) ?", script, re.M):
            raise NotUnderstoodError(f"tools/ray_cluster.sh {word}: no such command or option")
    return []


def _of_pip(words: Sequence[str]) -> list[Call]:
    """Extras that are named exist, and so do files; what else is installed is not looked at."""
    extras = _project()["optional-dependencies"]
    for word in words:
        named = re.fullmatch(r"(?:\.|netcosim)\[([\w,-]+)\]", word)
        for extra in named[1].split(",") if named else ():
            if extra not in extras:
                raise NotUnderstoodError(f"pip install {word}: no extra {extra}")
    _check_files(word for word in words if word.startswith("requirements/"))
    return []


def _check_files(names: Iterator[str] | Sequence[str]) -> None:
    for name in names:
        if not (ROOT / name).exists():
            raise NotUnderstoodError(f"{name}: no such file")


def module_exists(module: str) -> bool:
    """True if ``python -m`` finds it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _dev() -> str:
    return (ROOT / "dev").read_text("utf-8")


def _bare_script() -> str:
    return (ROOT / "tools/bare.sh").read_text("utf-8")
