"""Choice of the guest for the tests of delay, jitter and loss, and its packages."""

import subprocess
from pathlib import Path

import pytest

from tests.emu.netem import emulated, guest, usermode
from tests.inside import ROOT

# As /proc/cpuinfo has them, with fewer features.
BEFORE_AMX = """
processor\t: 0
model name\t: Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz
flags\t\t: fpu vme sse2 avx512f xsaves vmx pku
vmx flags\t: vnmi preemption_timer
bugs\t\t: spectre_v1
"""
WITH_AMX = BEFORE_AMX.replace("pku", "pku amx_bf16 amx_tile amx_int8")
# A guest on a host that hides its virtualization, and a name that only looks like AMX.
GUEST = BEFORE_AMX.replace(" vmx pku", " pku no_amx_tile").replace("vmx flags", "other")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Both kinds, whatever this machine has."""
    (tmp_path / "version").touch()
    monkeypatch.setattr(usermode, "KERNEL", "sh")
    monkeypatch.setattr(usermode, "MODULES", tmp_path)
    monkeypatch.setattr(emulated, "EMULATOR", "sh")
    monkeypatch.setattr(emulated, "KERNEL", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("cpuinfo", "kind"),
    [(BEFORE_AMX, "user-mode Linux"), (GUEST, "user-mode Linux"), (WITH_AMX, "qemu")],
)
def test_user_mode_linux_wherever_it_runs(installed: Path, cpuinfo: str, kind: str) -> None:
    assert guest.chosen(guest.reasons(cpuinfo)) == kind


def test_qemu_where_there_is_no_package_of_user_mode_linux(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usermode, "KERNEL", "no-such-program")
    assert guest.chosen(guest.reasons(BEFORE_AMX)) == "qemu"


def test_what_is_missing_is_named(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert guest.missing(WITH_AMX) is None
    (installed / "version").unlink()
    assert guest.missing(BEFORE_AMX) is None
    said = guest.missing(WITH_AMX) or ""
    assert "user-mode Linux: it can't save the registers of a processor with AMX" in said
    assert f"qemu: {installed}: no kernel" in said
    assert "./dev test" in said
    monkeypatch.setattr(emulated, "EMULATOR", "no-such-program")
    assert "qemu: the package qemu-system-x86 is not installed" in (guest.missing(WITH_AMX) or "")


def test_kvm_only_on_a_processor_for_it(tmp_path: Path) -> None:
    device = tmp_path / "kvm"
    assert not emulated.virtualizes(BEFORE_AMX, device)
    device.touch()
    assert emulated.virtualizes(BEFORE_AMX, device)
    assert not emulated.virtualizes(GUEST, device)


@pytest.mark.parametrize(
    ("cpuinfo", "distribution", "architecture", "package"),
    [
        (BEFORE_AMX, "debian", "amd64", "user-mode-linux"),
        (GUEST, "debian", "amd64", "user-mode-linux"),
        (WITH_AMX, "debian", "amd64", "qemu-system-x86"),
        (BEFORE_AMX, "ubuntu", "amd64", "qemu-system-x86"),
        (WITH_AMX, "debian", "arm64", ""),
    ],
)
def test_the_set_up_installs_the_kind_that_is_booted(
    tmp_path: Path, cpuinfo: str, distribution: str, architecture: str, package: str
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    (tmp_path / "os-release").write_text(f"ID={distribution}\n")
    asked = f'source {ROOT}/tools/setup.sh; guest_package cpuinfo ./os-release "$1"'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", asked, "bash", architecture],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.strip(), done.stderr) == (package, "")
