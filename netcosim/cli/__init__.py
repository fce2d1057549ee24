"""Shared command line: options, one-line errors with exit codes, summary tables."""

from netcosim.cli.console import output
from netcosim.cli.ending import finishing, interruption, run_main
from netcosim.cli.levels import print_levels
from netcosim.cli.options import (
    Options,
    Parser,
    adjust,
    choose_scenario,
    make_parser,
    read_options,
)
from netcosim.cli.reporting import draw, telling_where, withdraw_if_refused
from netcosim.cli.table import print_path, print_summary, print_training
from netcosim.failure import CrashSite

__all__ = [
    "CrashSite",
    "Options",
    "Parser",
    "adjust",
    "choose_scenario",
    "draw",
    "finishing",
    "interruption",
    "make_parser",
    "output",
    "print_levels",
    "print_path",
    "print_summary",
    "print_training",
    "read_options",
    "run_main",
    "telling_where",
    "withdraw_if_refused",
]
