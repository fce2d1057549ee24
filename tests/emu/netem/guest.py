"""Functions called in a guest in virtual time, whose kernel has netem on any machine."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from emu.guest.boot import Guest, Order
from emu.guest.kernel import Kernel
from emu.isolation import isolate
from tests import inside

Json = dict[str, Any]

WITHOUT_NETEM = "initcall_blacklist=netem_module_init"
"""Word of the kernel's command line with which it has no netem."""


def answers(
    calls: Mapping[str, Json], *, options: Sequence[str] = (), timeout_s: float = 240
) -> dict[str, Any]:
    """Results of ``module:function`` targets, each called in namespaces of one guest's own."""
    commands = {target: inside.command(target, **given) for target, given in calls.items()}
    done = inside.inside(
        "tests.emu.netem.guest:boot",
        commands=list(commands.values()),
        options=list(options),
        timeout_s=timeout_s,
    )
    for target, each in zip(commands, done, strict=True):
        assert each["code"] == 0, f"guest: {target}: {each['code']}:\n{each['err'][-4000:]}"
    return {t: json.loads(d["out"].splitlines()[-1]) for t, d in zip(commands, done, strict=True)}


def boot(commands: list[list[str]], options: list[str]) -> list[Json]:
    """Boot a guest and have it run the commands; call it inside private namespaces."""
    folder = isolate.scratch_dir() / "guest"
    folder.mkdir()
    orders = [
        Order(
            command=command, folder=str(inside.ROOT), environment={"PYTHONDONTWRITEBYTECODE": "1"}
        )
        for command in commands
    ]
    seed = hashlib.sha256(b"tests").digest()
    guest = Guest(Kernel.find(), folder, orders, seed=seed, options=options)
    try:
        guest.start()
        done = guest.wait()
    finally:
        guest.kill()
    return [{"code": d.code, "out": d.out.decode(), "err": d.err.decode()} for d in done]
