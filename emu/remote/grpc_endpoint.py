"""One end of one gRPC connection, as a process: configuration in argv, commands on stdin.

See docs/reference/endpoints.md. Needs nothing but grpcio and the standard library, and nothing
newer than Python 3.7: old releases need old interpreters. One unary call a tensor on one channel,
bytes in and out, no protobuf.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import sys
import threading
from typing import Any

# The script's own folder must not shadow libraries; the project must be found.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - one line, also on 3.7
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# grpc reads its environment when it is imported.
from emu.remote.endpoint_common import EndpointFailureError, give_up, wait_for_tick  # noqa: E402

wait_for_tick()  # grpc counts its milliseconds from its import on
from emu.remote.grpc_common import check_release  # noqa: E402
from emu.remote.grpc_requester import Requester  # noqa: E402
from emu.remote.grpc_responder import HAS_ASYNCIO, serve_asyncio  # noqa: E402
from emu.remote.grpc_single import serve_one_thread  # noqa: E402


def read_commands(commands: queue.Queue[dict[str, Any]]) -> None:
    """Pass on the emulator's commands; leave at once when it is gone."""
    for line in sys.stdin:
        if line.strip():
            commands.put(json.loads(line))
    os._exit(0)


def main() -> None:
    """Run one endpoint."""
    gc.disable()  # Collected between bursts, never within one.
    config: dict[str, Any] = json.loads(sys.argv[1])
    commands: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=read_commands, args=(commands,), daemon=True).start()
    try:
        check_release(config["settings"].get("release"))
        wait_for_tick()
        if config["role"] == "requester":
            Requester(config).run(commands)
        elif HAS_ASYNCIO and config["settings"].get("server", "asyncio") == "asyncio":
            serve_asyncio(config, commands)
        else:
            serve_one_thread(config, commands)
    except EndpointFailureError as problem:
        give_up(problem)
    os._exit(0)  # gRPC's threads have nothing left to do, and some releases are slow to see it.


if __name__ == "__main__":
    main()
