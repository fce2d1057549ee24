"""Two hosts joined by a veth, in namespaces that end with the processes that hold them."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

ENDS = Path(__file__).parent / "live_ends.py"


class Host:
    """A network namespace; processes are started inside it."""

    def __init__(self, address):
        self.address = address
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        # It answers only once it is in its own namespace.
        self.holder.stdin.write(b"in\n")
        self.holder.stdin.flush()
        assert self.holder.stdout.readline() == b"in\n", "unshare needs root"

    def popen(self, argv, **how):
        return subprocess.Popen(["nsenter", "-t", str(self.holder.pid), "-n", *argv], **how)

    def run(self, *argv):
        argv = ["nsenter", "-t", str(self.holder.pid), "-n", *argv]
        subprocess.run(argv, check=True, capture_output=True, text=True)

    def end(self, role, *arguments):
        argv = [sys.executable, str(ENDS), role, *map(str, arguments)]
        return self.popen(argv, stdout=subprocess.PIPE, text=True)

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(600)
        self.holder.stdout.close()


@pytest.fixture
def hosts():
    """The client's host (interface c0) and the server's (s0), segments not merged by the card."""
    client, server = Host("10.9.0.1"), Host("10.9.0.2")
    try:
        client.run("ip", "link", "add", "c0", "type", "veth", "peer", "name", "s0", "netns",
                   str(server.holder.pid))  # fmt: skip
        for host, name in ((client, "c0"), (server, "s0")):
            host.run("ip", "address", "add", f"{host.address}/24", "dev", name)
            host.run("ip", "link", "set", name, "up")
            host.run("ethtool", "-K", name, "tso", "off", "gso", "off", "gro", "off")
        yield client, server
    finally:
        client.close()
        server.close()


@pytest.fixture
def talk_live(hosts):
    """Run a server and a client of one kind; what the two say at their ends."""
    return functools.partial(_talk_live, *hosts)


def _talk_live(client, server, kind, sizes):
    there = server.end(f"{kind}-server", server.address, *sizes)
    assert there.stdout.readline() == "ready\n"
    here = client.end(f"{kind}-client", server.address, *sizes)
    said = [process.communicate(timeout=600)[0] for process in (here, there)]
    assert [here.returncode, there.returncode] == [0, 0]
    return [json.loads(text) for text in said]
