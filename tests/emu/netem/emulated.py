"""Debian's or Ubuntu's own kernel as the guest, in qemu: emulated, or on KVM where there is one.

Its first root is an archive in memory of a shell, three more of the machine's programs and the
modules that 9p over virtio takes; that mounts the machine's root, read-only, and goes on there.
"""

import lzma
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests import inside
from tests.emu.netem import cpio, init, processor

EMULATOR = "qemu-system-x86_64"
# Where tools/guest_kernel.sh unpacks a kernel and its modules; `version` is written last.
KERNEL = inside.ROOT / ".guest-kernel"
FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p")
PROGRAMS = ("sh", "insmod", "mount", "switch_root")
NINEP = "trans=virtio,version=9p2000.L,msize=512000"
MEMORY_MIB = 1024
KVM = Path("/dev/kvm")
# Emulated, newer processors are slower ones: their kernels move memory by single bytes
# ("rep movsb"). Older than this one, and numpy's wheels refuse (x86-64-v2).
EMULATED = ("-cpu", "Nehalem", "-accel", "tcg")
VIRTUALIZED = ("-cpu", "max", "-accel", "kvm", "-accel", "tcg")  # where the first one fails
# What protects a kernel from its users costs an emulated processor much; nobody else uses it.
UNPROTECTED = "mitigations=off init_on_alloc=0 hardened_usercopy=off lsm= audit=0 nokaslr"


def missing(cpuinfo: str) -> str | None:
    """Reason why it can't be booted; None if it can."""
    if shutil.which(EMULATOR) is None:
        return "the package qemu-system-x86 is not installed"
    if not (KERNEL / "version").exists():
        return f"{KERNEL}: no kernel for qemu there"
    return None


def command(folder: Path) -> list[str]:
    """Boot it with the machine's root, to work off the orders in `folder`."""
    archive = folder / "initramfs"
    first = init.command(KERNEL / "lib/modules", kind="9p", source="exchange", data=NINEP)
    archive.write_bytes(cpio.archive(_files(first)))
    return [
        EMULATOR,
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none"),
        *("-serial", "stdio", "-machine", "pc", "-smp", "1", "-m", f"{MEMORY_MIB}"),
        *(VIRTUALIZED if virtualizes(Path("/proc/cpuinfo").read_text(), KVM) else EMULATED),
        *_shared("root", Path("/"), ",readonly=on"),
        *_shared("exchange", folder, ""),
        *("-kernel", str(KERNEL / "vmlinuz"), "-initrd", str(archive)),
        *("-append", f"console=ttyS0 quiet panic=-1 tsc=reliable {UNPROTECTED}"),
    ]


def virtualizes(cpuinfo: str, device: Path) -> bool:
    """True if KVM is there, on a processor for it: without one, some take a guest and hang."""
    able = not processor.flags(cpuinfo).isdisjoint({"vmx", "svm"})
    return able and os.access(device, os.R_OK | os.W_OK)


def _shared(name: str, folder: Path, options: str) -> list[str]:
    # A comma in a value of qemu's is written twice.
    path = str(folder).replace(",", ",,")
    backend = f"local,id={name},path={path},security_model=none,multidevs=remap{options}"
    return ["-fsdev", backend, "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]


def _files(first: Sequence[str]) -> Iterator[cpio.Entry]:
    modules = dict(_plain(path) for path in _with_dependencies(FIRST_MODULES))
    steps = [
        "#!/bin/sh -e",
        *(f"insmod /modules/{name}" for name in modules),
        "mount -t devtmpfs devtmpfs /dev",
        f"mount -t 9p -o ro,cache=loose,{NINEP} root /root",
        f"exec switch_root /root {shlex.join(first)}",
    ]
    yield cpio.program("init", "\n".join([*steps, ""]).encode())
    for folder in ("dev", "root"):
        yield cpio.folder(folder)
    for name, content in modules.items():
        yield cpio.program(f"modules/{name}", content)
    for place, source in _programs().items():
        yield cpio.program(place, source.read_bytes())


def _plain(module: Path) -> tuple[str, bytes]:
    """Name and content of a module, unpacked if it is Debian 13's."""
    # Its insmod looks for the library that would unpack it when it runs; ldd does not show that.
    if module.suffix == ".xz":
        return module.stem, lzma.decompress(module.read_bytes())
    return module.name, module.read_bytes()


def _with_dependencies(names: Sequence[str]) -> list[Path]:
    """Files of the modules and of those they need, in the order in which to load them."""
    version = (KERNEL / "version").read_text().strip()
    found = [
        line.removeprefix("insmod ").strip()
        for name in names
        for line in _output("modprobe", "-d", KERNEL, "-S", version, "--show-depends", name)
        if line.startswith("insmod ")  # else it is built in
    ]
    return [Path(path) for path in dict.fromkeys(found)]


def _programs() -> dict[str, Path]:
    """Programs of the machine and the libraries they are linked with, by place in the archive."""
    found: dict[str, Path] = {}
    for name in PROGRAMS:
        path = shutil.which(name)
        assert path is not None, f"{name}: no such program in {os.environ['PATH']}"
        found[f"bin/{name}"] = Path(path)
        for line in _output("ldd", path):
            if library := re.search(r"(/\S+) \(0x", line):
                found[library[1].lstrip("/")] = Path(library[1])
    return found


def _output(*words: str | Path) -> list[str]:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
