"""The settings that a server starts with, checked before a model is loaded."""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oreqa.errors import InputError
from oreqa.paths import INDEX_HERE

FEWEST_TOKEN_CHARACTERS = 16
"""The shortest token, in characters: shorter ones can be guessed."""

RATE_BEYOND_LOOPBACK = 60
"""Questions per minute and client on a server that other machines can reach."""

_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_HOST = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask: requests to one of the ``hosts``, with the ``token`` if there is one.

    A client may ask at most ``rate`` questions per minute; 0 means no limit. ``read_only`` servers accept no marks and
    no files.
    """

    hosts: frozenset[str]
    token: str | None = None
    rate: int = 0
    read_only: bool = False


def collection_folders(indexes: Sequence[str]) -> dict[str, Path]:
    """Return the folder of each collection by name, from ``NAME=DIR``, or ``DIR``, named by its last component.

    Raises InputError for a repeated name, and for one that cannot be part of a URL.
    """
    folders: dict[str, Path] = {}
    for text in indexes:
        name, sign, folder = text.partition("=")
        if not sign or not _COLLECTION.fullmatch(name) or Path(text).is_dir():
            name, folder = _name_of(Path(os.path.abspath(text))), text  # noqa: PTH100  (a link keeps its name)
        if not folder:
            raise InputError(f"--index {text}: name a folder after the equals sign, as in {name}=kb")
        way = f"--index {shlex.quote(f'NAME={folder}')}"
        if not _COLLECTION.fullmatch(name):
            raise InputError(f"--index {text}: {name!r} is no name for a collection; choose one: {way}")
        if name in folders:
            raise InputError(f"--index {text}: two collections are named {name}; choose another name: {way}")
        folders[name] = Path(folder)
    return folders


def _name_of(folder: Path) -> str:
    """Return a collection's name from its folder; an index inside a folder of documents is named like that folder."""
    if folder.name != INDEX_HERE:
        return folder.name
    return folder.parent.name if _COLLECTION.fullmatch(folder.parent.name) else "documents"


def read_token(file: Path | None, variable: str | None) -> str | None:
    """Return the token from a file or $OREQA_TOKEN; None without either.

    Raises InputError for a file that cannot be read or that others may read, and for a token that is short or has blanks.
    """
    if file is None:
        return _checked_token(variable, "OREQA_TOKEN") if variable else None
    try:
        text = file.read_text(encoding="utf-8").strip()
        others = os.name == "posix" and file.is_file() and file.stat().st_mode & 0o077
    except OSError as error:
        raise InputError(f"{file}: the token cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        raise InputError(f"{file}: it holds no token: it is not UTF-8") from None
    if others:
        raise InputError(f"{file}: other users can read the token; run: chmod 600 {file}")
    return _checked_token(text, str(file))


def _checked_token(token: str, place: str) -> str:
    if len(token) < FEWEST_TOKEN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"{place}: a token is {FEWEST_TOKEN_CHARACTERS} or more letters, digits and signs, on one line; make one with: "
            "openssl rand -hex 32"
        )
    return token


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only.

    Examples:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def access(
    host: str,
    port: int,
    *,
    socket: bool,
    token: str | None,
    allow_host: Iterable[str],
    rate: int | None,
    read_only: bool,
) -> Access:
    """Return who may ask a server at this address. A ``socket`` is a local file, guarded by its permissions.

    Raises InputError for an address beyond loopback without a token, or without a host name to reach it by.
    """
    named = [name.lower() for name in allow_host]
    for name in named:
        if not _HOST.fullmatch(name):
            raise InputError(f"--allow-host {name}: write it as browsers show it, as in kb.example.org or 10.0.0.7:8765")
    is_private = socket or is_loopback(host)
    if not is_private and token is None:
        raise InputError(
            f"--host {host}: others can reach it, and nothing asks who they are: name a file with a token: --token-file FILE"
        )
    hosts = set(named)
    if is_private:
        hosts |= {f"{name}:{port}" for name in ("localhost", "127.0.0.1", "[::1]")} | ({"localhost"} if socket else set())
    if not socket and not _is_any(host):
        hosts.add(f"[{host}]:{port}" if ":" in host else f"{host.lower()}:{port}")
    if not hosts:
        raise InputError(f"--host {host}: name the host that people type: --allow-host kb.example.org:{port}")
    hosts |= {name.removesuffix(":80") for name in hosts}  # browsers omit the default port
    usual = 0 if is_private and not named else RATE_BEYOND_LOOPBACK
    return Access(frozenset(hosts), token, usual if rate is None else rate, read_only)


def _is_any(host: str) -> bool:
    """Return whether the host means all addresses of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host
