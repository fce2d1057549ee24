"""``netcosim completion SHELL``, and completion of every command's options, with argcomplete."""

import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from netcosim.failure import CrashSite, guarded

PROG: Final = "netcosim.cli.completion"
SHELLS: Final = ("bash", "zsh", "fish")

_ASKED: Final = "_ARGCOMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what a shell has to run to complete netcosim's commands; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda site: _main(given, site), PROG)


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and end; does nothing else."""
    if _ASKED in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)


def offer(
    parser: argparse.ArgumentParser,
    names: Mapping[str, Callable[[], Iterable[str]]],
    or_files: Collection[str] = (),
) -> None:
    """Complete the values of options, or of arguments, by names; in `or_files` also by files."""
    actions = {a.dest: a for a in parser._actions} | parser._option_string_actions
    for option, listed in names.items():
        action: Any = actions[option]
        action.completer = _completer(listed, files=option in or_files)


def completed_words() -> list[str]:
    """Whole words behind the program's name on the line that a shell wants completed."""
    if _ASKED not in os.environ:
        return []
    from argcomplete.lexers import split_line

    line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode()
    _, _, _, words, _ = split_line(line, len(line))
    return [str(word) for word in words[1:]]


def _completer(listed: Callable[[], Iterable[str]], *, files: bool) -> Callable[..., list[str]]:
    def completions(prefix: str, **_: Any) -> list[str]:
        found = list(listed())
        if files:
            from argcomplete.completers import FilesCompleter

            found += FilesCompleter()(prefix)
        return found

    return completions


def _main(given: Sequence[str], _: CrashSite) -> int:
    from netcosim.cli.options import Parser

    parser = Parser(prog=PROG, description=__doc__, epilog=_HOW, allow_abbrev=False)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    shell = parser.parse_args(given).shell
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["netcosim"], shell=shell))
    return 0


_HOW: Final = """\
bash, in ~/.bashrc:  eval "$(netcosim completion bash)"
zsh, in ~/.zshrc:    eval "$(netcosim completion zsh)"
fish:                netcosim completion fish > ~/.config/fish/completions/netcosim.fish
"""
