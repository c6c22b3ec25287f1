"""A connection to a Milvus server, whose errors become one line each."""

from __future__ import annotations

import logging
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from oreqa.errors import IndexStateError, InputError, describe

PREFIX = "milvus:"
TOKEN = "OREQA_MILVUS_TOKEN"
"""The environment variable with the server's token, or user:password."""

INSTALL_MILVUS = "pip install 'oreqa[milvus]'"
"""The command that installs what the engine needs."""

SECONDS = 10.0
"""Seconds until a connection attempt times out."""

_ROOTS = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"
"""gRPC's environment variable for a file of trusted certificates."""

_REFUSED = f"Milvus refuses the token; set the environment variable {TOKEN}"

_FIRST_CALL = "/milvus.proto.milvus.MilvusService/ShowCollections"
_MISSING_COLLECTION = 100
_DENIED = ("unauthenticated", "auth check failure", "permission deny", "permissiondenied", "password")


def server_uri(engine: str) -> str:
    """Return the address in ``milvus:URI``. Raises InputError for other strings, or if it contains a secret."""
    uri = engine.removeprefix(PREFIX)
    try:
        parts = urlsplit(uri)
        is_server = engine.startswith(PREFIX) and parts.scheme in ("http", "https") and bool(parts.hostname)
        port = parts.port
    except ValueError:
        is_server, port = False, None
    if not is_server:
        raise InputError(f"an engine is milvus:http://HOST:PORT, or https for TLS, not {engine!r}")
    if parts.username or parts.password or parts.query:
        raise InputError(f"an index notes its engine's address: leave name and password to the variable {TOKEN}")
    return uri if port else f"{parts.scheme}://{parts.netloc}:19530{parts.path}"


def connect(uri: str) -> Any:
    """Return a client of a server, cached by this process.

    Raises IndexStateError if it cannot be reached or refuses the token.
    """
    return _connected(uri, os.environ.get(TOKEN, ""), os.getpid())


@lru_cache(maxsize=8)
def _connected(uri: str, token: str, process: int) -> Any:
    try:
        from pymilvus import MilvusClient
    except ImportError:
        raise InputError(f"the engine of an index at {uri} needs the milvus extra: {INSTALL_MILVUS}") from None
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints every error with its traceback
    if reason := _unreachable(uri) or _refusal(uri, token):
        raise IndexStateError(f"{uri}: {reason}")
    with named_errors(uri):
        return MilvusClient(uri, token=token, timeout=SECONDS)


def _unreachable(uri: str) -> str:
    """Return why an address cannot be reached, as far as that shows before Milvus' protocol begins; empty if it can."""
    parts = urlsplit(uri)
    place = (parts.hostname or "", parts.port or 19530)
    try:
        with socket.create_connection(place, SECONDS) as plain:
            if parts.scheme == "https":
                context = ssl.create_default_context(cafile=os.environ.get(_ROOTS))
                context.set_alpn_protocols(["h2"])
                context.wrap_socket(plain, server_hostname=parts.hostname).close()
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        return f"TLS failed ({reason}); is the address right, and is its certificate trusted ({_ROOTS})?"
    except OSError as error:
        return f"Milvus cannot be reached ({error.strerror or error}); start it, or name where it is"
    return ""


def missing_collection(uri: str, collection: str) -> str:
    """Return the message for a missing collection."""
    return f"{uri}: the collection {collection} is missing; bring it back, or index into a new folder"


def _refusal(uri: str, token: str) -> str:
    """Return why a server does not answer a first call, which pymilvus would repeat for a minute; empty if it does."""
    import grpc

    parts = urlsplit(uri)
    is_secure, place = parts.scheme == "https", f"{parts.hostname}:{parts.port or 19530}"
    channel = grpc.secure_channel(place, grpc.ssl_channel_credentials()) if is_secure else grpc.insecure_channel(place)
    metadata = [("authorization", b64encode(token.encode()).decode())] if token else []
    with channel:
        try:
            channel.unary_unary(_FIRST_CALL)(b"", metadata=metadata, timeout=SECONDS)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
                return _REFUSED
            return f"it does not answer as Milvus ({error.code().name}); if it uses TLS, write https"
    return ""


@contextmanager
def named_errors(uri: str, collection: str = "") -> Iterator[None]:
    """Turn what pymilvus raises into one line."""
    from grpc import RpcError
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except (MilvusException, RpcError, TimeoutError) as error:
        with suppress(AttributeError):
            error.details = error.details()  # type: ignore[union-attr]
        text = f"{error} {getattr(error, 'details', '')}"
        if any(mark in text.lower() for mark in _DENIED):
            raise IndexStateError(f"{uri}: {_REFUSED}") from None
        if getattr(error, "code", None) == _MISSING_COLLECTION:
            raise IndexStateError(missing_collection(uri, collection)) from None
        message = getattr(error, "message", "") or describe(error)
        raise IndexStateError(f"{uri}: Milvus failed ({' '.join(str(message).split())[:200]})") from None
