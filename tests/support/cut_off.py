"""A network that leads nowhere for a command, and counts what leaves for it: that of native code and of children, too.

It is a network namespace (``unshare``) with nothing but loopback. A connection or look-up finds no way out, or nobody who
listens, and the kernel counts both.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import subprocess
import sys
from pathlib import Path

_ALONE = ("unshare", "--user", "--map-root-user", "--net")
_COUNTERS = ("Ip OutNoRoutes", "Udp NoPorts", "Ip6 OutNoRoutes", "Udp6 NoPorts")
_SET_FLAGS, _UP = 0x8914, 1


def can_cut_off() -> bool:
    """Whether this machine lets its users make networks of their own."""
    try:
        return subprocess.run([*_ALONE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def cut_off(sent: Path) -> list[str]:
    """What to write before a command: it adds a line to ``sent`` with the number of packets that tried to leave."""
    return [*_ALONE, sys.executable, __file__, str(sent)]


def _count() -> int:
    lines = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()]
    counters = {
        f"{names[0].rstrip(':')} {name}": int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], values[1:], strict=True)
    }
    for name, value in (line.split() for line in Path("/proc/net/snmp6").read_text().splitlines()):
        counters[name.replace("6", "6 ", 1)] = int(value)
    return sum(counters.get(name, 0) for name in _COUNTERS)


def _start_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))


def main() -> None:
    sent, *command = sys.argv[1:]
    _start_loopback()
    code = subprocess.run(command, check=False).returncode
    with Path(sent).open("a") as file:
        file.write(f"{_count()}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
