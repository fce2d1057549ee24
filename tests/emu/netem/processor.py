"""Features of a processor, from the text of ``/proc/cpuinfo``."""


def flags(cpuinfo: str) -> frozenset[str]:
    """Names of its features."""
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    return frozenset(
        word for name, _, words in lines if name.strip() == "flags" for word in words.split()
    )
