"""An endpoint that tries to do harm, tells what it could do, and else is the example's.

It looks like one that somebody wrote: a stand-alone script, and nothing of netcosim is imported.
"""

import json
import os
import runpy
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]


def write(path):
    Path(path).write_text("harm")


def call(command):
    if os.system(f"{command} >/dev/null 2>&1") != 0:
        raise OSError("refused")


HARMS = {
    "itself": lambda: write(__file__),
    "a file beside it": lambda: write(Path(__file__).with_name("harm")),
    "the home": lambda: write(Path.home() / "harm"),
    "the results": lambda: write("out/harm"),
    "what is in them": lambda: Path("out/scenario.toml").unlink(),
    "the machine's files": lambda: write("/etc/harm"),
    "a setting of the machine": lambda: write("/proc/sys/kernel/hostname"),
    "a setting of the network": lambda: write("/proc/sys/net/ipv4/tcp_timestamps"),
    "the run": lambda: os.kill(1, 0),
    "the network": lambda: call("ip link set lo down"),
    "tc": lambda: call("tc qdisc add dev lo root pfifo"),
    "the mounts": lambda: call("mount -o remount,rw /"),
    "another user": lambda: os.setuid(0),
    "root's name": lambda: write("/nowhere" if os.geteuid() else "/dev/null"),
}


def main():
    done = []
    for name, harm in HARMS.items():
        try:
            harm()
        except OSError:
            continue
        done.append(name)
    captures = list(Path(tempfile.gettempdir()).iterdir())
    if done or captures:
        message = f"could do harm: {done}, could see: {captures}"
        print(json.dumps({"event": "error", "message": message}), flush=True)
        sys.exit(1)
    with tempfile.TemporaryFile() as file:
        file.write(b"what it may do")
    runpy.run_path(str(ROOT / "examples" / "own_endpoint.py"), run_name="__main__")


main()
