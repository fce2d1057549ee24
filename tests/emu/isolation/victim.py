"""A small run to be killed: namespaces, a network, processes in its hosts; then it waits.

Started as ``python -m tests.emu.isolation.victim``; prints ``ready`` when all is up, and leaves in
order with code 5 when a part of it dies, 130 when it is interrupted.
"""

import subprocess
import sys
import time
from pathlib import Path

from emu.isolation import isolate


def main() -> int:
    isolate.ensure_isolated([sys.executable, "-m", "tests.emu.isolation.victim"])
    try:
        return run()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return 130


def run() -> int:
    from emu.network import open_network
    from netcosim.errors import NetcosimError
    from netcosim.scenario import ClusterSpec
    from topo.catalogue import build_spec

    asked = ClusterSpec.model_validate({"topology": "star", "link": {"rate": "10mbit"}})
    dump = str(isolate.scratch_dir() / "w0.pcap")
    try:
        with open_network(build_spec(asked)) as live:
            ping = ["ping", "-n", "-i", "0.2", live.address("s0")]
            capture = ["tcpdump", "-i", live.interface("w0"), "-w", "-"]
            with Path(dump).open("wb") as file:
                children = [
                    live.popen("w0", argv, stdout=file, stderr=subprocess.DEVNULL)
                    for argv in (ping, capture)
                ]
            print("ready", flush=True)
            while all(child.poll() is None for child in children):
                live.check_alive()
                time.sleep(0.05)
            return 5
    except NetcosimError as problem:
        print(problem, flush=True)
        return 5


if __name__ == "__main__":
    sys.exit(main())
