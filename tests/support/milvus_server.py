"""A Milvus Lite server as a process of the tests, and a gate before it that wants a token or speaks TLS."""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def milvus_lite(folder: Path) -> Iterator[str]:
    """The address of a server that keeps its data in a folder."""
    port = free_port()
    command = [Path(sys.executable).with_name("milvus-lite"), "server", "--host", "127.0.0.1", "--port", str(port)]
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        server = subprocess.Popen([*command, "--data-dir", folder], stdout=log, stderr=log)
    try:
        end = time.monotonic() + SECONDS
        while not answers(port):
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(SECONDS)


@contextmanager
def gate(server: str, token: str = "", certificate: Path | None = None) -> Iterator[str]:
    """The address of a gate before a server that lets those in who have the ``token``, with TLS if it has a certificate."""
    import grpc

    authorization = base64.b64encode(token.encode()).decode()

    class Gate(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: Any) -> Any:
            def forward(request: bytes, context: Any) -> Any:
                if token and dict(context.invocation_metadata()).get("authorization") != authorization:
                    context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure, please check api key is correct")
                try:
                    return channel.unary_unary(details.method)(request)
                except grpc.RpcError as error:
                    context.abort(error.code(), error.details())

            return grpc.unary_unary_rpc_method_handler(forward)

    with grpc.insecure_channel(server.removeprefix("http://")) as channel:
        listening = grpc.server(ThreadPoolExecutor(4))
        listening.add_generic_rpc_handlers((Gate(),))
        if certificate is None:
            port = listening.add_insecure_port("127.0.0.1:0")
        else:
            pair = certificate.with_suffix(".key").read_bytes(), certificate.read_bytes()
            port = listening.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
        listening.start()
        try:
            yield f"{'http' if certificate is None else 'https'}://localhost:{port}"
        finally:
            listening.stop(None)


def make_certificate(folder: Path) -> Path:
    """A certificate for localhost that nobody trusts who does not name it."""
    openssl = shutil.which("openssl")
    assert openssl is not None
    path = folder / "server.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    new = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*new, "-keyout", path.with_suffix(".key"), "-out", path], check=True, capture_output=True)
    return path
