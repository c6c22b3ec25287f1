"""Every Python process of the tests notes in $OREQA_CONNECTIONS what would leave the machine; conftest.py reads it.

Python imports a module of this name when it starts, forks keep its hook, and conftest.py runs it in pytest's own processes.
"""

import os
import sys

_LOCAL = ("localhost", "127.0.0.1", "::1", "", "None", os.uname().nodename)
"""Places on this machine; its own name is among them, which torch's launcher of processes looks up."""


def _leaves(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "import":
        return str(arguments[0]).startswith(
            "openvino_telemetry."
        )  # the package itself may be hidden, its parts are not asked
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        return isinstance(address, tuple) and str(address[0]) not in _LOCAL  # else the path of a socket of this machine
    return event.startswith(("socket.getaddrinfo", "socket.gethostby")) and str(arguments[0]) not in _LOCAL


def _watch(out: str) -> None:
    def note(event: str, arguments: tuple[object, ...]) -> None:
        if _leaves(event, arguments):
            line = f"{event} {arguments[:2]} {os.environ.get('PYTEST_CURRENT_TEST', '')} {sys.argv[:3]}\n"
            descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(descriptor, line.encode(errors="replace"))
            os.close(descriptor)

    sys.addaudithook(note)


if "OREQA_CONNECTIONS" in os.environ:
    _watch(os.environ["OREQA_CONNECTIONS"])
