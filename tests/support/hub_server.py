"""A small Hugging Face Hub on loopback: the requests that huggingface_hub makes to download models."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

API = re.compile(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/(.+))?")
FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


@dataclass
class Repository:
    """Commits to the folders of their files, and branches to commits. ``token`` opens a gated one."""

    commits: dict[str, Path]
    branches: dict[str, str]
    token: str = ""


@dataclass
class Hub:
    """What the server serves and does. ``requests`` are method, path and range of each request so far.

    ``break_after`` closes the connection once when that many bytes of the ``broken_file`` have been sent; ``stall`` makes
    the server send nothing more of it until ``resume`` is set. ``damage`` names a file to serve with other bytes; ``failure`` is the
    status of all answers.
    """

    url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    broken_file: str = ""
    break_after: int = 0
    stall: bool = False
    stalled: Event = field(default_factory=Event)
    resume: Event = field(default_factory=Event)
    damage: str = ""
    failure: int = 0

    def add(self, name: str, folder: Path, branch: str = "main", token: str = "") -> str:
        """Serve a folder as the newest commit of a repository's branch. Returns the commit's hash."""
        content = b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())
        commit = hashlib.sha1(str(folder).encode() + content).hexdigest()
        repository = self.repositories.setdefault(name, Repository({}, {}, token))
        repository.commits[commit] = folder
        repository.branches[branch] = commit
        return commit

    def downloads(self) -> list[str]:
        """The files that were asked for, in order."""
        return [
            path.rpartition("/resolve/")[2].partition("/")[2]
            for method, path, _ in self.requests
            if method == "GET" and "/resolve/" in path
        ]


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            yield file.relative_to(folder).as_posix(), file.read_bytes()


def _is_large(path: str) -> bool:
    return path.endswith((".safetensors", ".bin", ".onnx"))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, self.headers.get("Range")))
        match = API.fullmatch(path) or FILE.fullmatch(path)
        repository = self.hub.repositories.get(match[1]) if match else None
        if self.hub.failure:
            self._refuse(self.hub.failure, "")
        elif match is None or repository is None:
            self._refuse(404, "RepoNotFound")
        elif repository.token and self.headers.get("Authorization") != f"Bearer {repository.token}" and "resolve" in path:
            self._refuse(403, "GatedRepo")
        elif match.re is FILE:
            self._send_file(repository, match[2], match[3])
        else:
            self._send_listing(match[1], repository, match[2], match[3] or "main")

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, b"", {"X-Error-Code": code, "X-Error-Message": code})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _send_listing(self, name: str, repository: Repository, what: str | None, revision: str) -> None:
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            self._refuse(404, "RevisionNotFound")
            return
        rows = []
        for path, content in _files(repository.commits[commit]):
            row: dict[str, Any] = {"size": len(content), "path": path, "rfilename": path, "type": "file"}
            row |= {"oid": hashlib.sha1(content).hexdigest(), "blobId": hashlib.sha1(content).hexdigest()}
            if _is_large(path):
                digest = hashlib.sha256(content).hexdigest()
                row["lfs"] = {"size": len(content), "oid": digest, "sha256": digest, "pointerSize": 130}
            rows.append(row)
        info = {"id": name, "modelId": name, "sha": commit, "siblings": rows, "private": False, "tags": []}
        self._send(200, json.dumps(rows if what == "tree" else info).encode(), {"Content-Type": "application/json"})

    def _send_file(self, repository: Repository, revision: str, path: str) -> None:
        commit = repository.branches.get(revision, revision)
        content = dict(_files(repository.commits[commit])).get(path) if commit in repository.commits else None
        if content is None:
            self._refuse(404, "EntryNotFound")
            return
        etag = hashlib.sha256(content).hexdigest()
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if path == self.hub.damage:
            content = content[::-1]
        begin, status = 0, 200
        if ranged := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or ""):
            begin, status = int(ranged[1]), 206
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        body = content[begin:]
        if self.command == "GET" and path == self.hub.broken_file and self.hub.break_after:
            self._break(status, body, headers)
        else:
            self._send(status, body, headers)

    def _break(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        part, self.hub.break_after = body[: self.hub.break_after], 0
        self._send(status, part, {**headers, "Content-Length": str(len(body))})
        self.wfile.flush()
        if self.hub.stall:
            self.hub.stalled.set()
            self.hub.resume.wait(30)
        self.close_connection = True


@contextmanager
def serve_hub() -> Iterator[Hub]:
    """Serve an empty hub on loopback."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.resume.set()
        server.shutdown()
        server.server_close()
