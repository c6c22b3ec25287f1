"""Uploaded files, kept in one folder under their own names. With ``--watch`` they are indexed."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import time
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, BinaryIO

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from oreqa.as_json import document_id
from oreqa.corpus.readers import is_supported
from oreqa.errors import InputError
from oreqa.paths import full_path
from oreqa.server.problems import LeftError, RefusedError, busy, json_response
from oreqa.server.schemas import problems_of

UPLOADS_PATH = "/v1/uploads"

MAX_UPLOAD, MAX_UPLOADS = 64 << 20, 2 << 30
"""Bytes of one file, and of all files in the folder, at most."""

_FORM_BYTES, _SECONDS, _AT_ONCE = 64 << 10, 300.0, 4
_LONGEST_NAME = 200
_DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{kind}{number}" for kind in ("com", "lpt") for number in range(10))))
"""Names that are devices on Windows, with any extension."""


class UploadRow(BaseModel):
    """A stored file: its name, its size, the id that its document gets when indexed, and the time it was stored.

    An update that begins after ``time`` reads it.
    """

    name: str
    bytes: int
    document_id: str
    time: float


def need_uploads_folder(folder: Path) -> Path:
    """Return the folder's full path. Raises InputError if it is not a folder, or not writable."""
    if not folder.is_dir():
        raise InputError(f"--uploads {folder}: there is no such folder; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--uploads {folder}: it cannot be written")
    return full_path(folder)


def upload_router(folder: Path, read_only: bool) -> APIRouter:
    """Return the route that accepts files."""
    router, places, storing = APIRouter(tags=["uploads"]), asyncio.Semaphore(_AT_ONCE), asyncio.Lock()
    field = {"file": {"type": "string", "format": "binary"}}
    described = {"multipart/form-data": {"schema": {"type": "object", "properties": field, "required": ["file"]}}}

    @router.post(
        UPLOADS_PATH,
        status_code=201,
        response_model=UploadRow,
        responses=problems_of(400, 401, 403, 408, 409, 413, 415, 421, 429, 503),
        openapi_extra={"requestBody": {"content": described, "required": True}},
    )
    async def upload(request: Request) -> Response:
        """Store a file, the field ``file`` of a form. An existing name is refused."""
        if read_only:
            raise RefusedError(403, "this server takes no files: it was started with --read-only")
        if places.locked():
            raise busy("too many files are being sent; try again")
        async with places:
            try:
                async with asyncio.timeout(_SECONDS):
                    file = await _received(request)
            except TimeoutError:
                raise RefusedError(408, f"the file did not arrive in {_SECONDS:g} s") from None
            try:
                name, size = checked_name(file.filename or ""), file.size or 0
                async with storing:
                    await run_in_threadpool(keep_file, folder, name, file.file, size)
                    kept = time.time()
            finally:
                await file.close()
        row = {"name": name, "bytes": size, "document_id": document_id(str(folder / name)), "time": kept}
        return json_response(row, 201)

    return router


async def _received(request: Request) -> UploadFile:
    """Return the form's file as an unnamed temporary file. Raises RefusedError for another form, or if it is too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "multipart/form-data":
        raise RefusedError(415, "send the file as multipart/form-data, in the field 'file'")
    too_large = RefusedError(413, f"a file has at most {MAX_UPLOAD >> 20} MB")
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > MAX_UPLOAD + _FORM_BYTES:
        raise too_large

    async def counted() -> AsyncIterator[bytes]:
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > MAX_UPLOAD + _FORM_BYTES:
                raise too_large
            yield part

    try:
        parser = MultiPartParser(request.headers, counted(), max_files=1, max_fields=0)  # type: ignore[arg-type]
        form = await parser.parse()
    except ClientDisconnect:
        raise LeftError from None
    except (MultiPartException, KeyError, ValueError) as error:
        raise RefusedError(400, f"the form cannot be read: {getattr(error, 'message', 'it is damaged')}") from None
    file: Any = form.get("file")
    if not isinstance(file, UploadFile):
        await form.close()
        raise RefusedError(400, "the form has no file in the field 'file'")
    if (file.size or 0) > MAX_UPLOAD:
        await form.close()
        raise too_large
    return file


def checked_name(name: str) -> str:
    """Return a file name if it can be kept as it is.

    Raises RefusedError, a 400, for a name with a folder, an invisible or a bidirectional control character, a hidden one, a
    device, and one whose extension is not supported.

    Examples:
        >>> checked_name("Contract 2024.pdf")
        'Contract 2024.pdf'
    """
    is_plain = all(unicodedata.category(sign)[0] != "C" and sign not in "\u2028\u2029" for sign in name)
    if not name or not is_plain or any(sign in name for sign in '/\\:*?"<>|') or name != name.strip(" .") or name[:1] == "~":
        raise RefusedError(400, "a file's name has no folder, no invisible signs, and begins with a letter or digit")
    if len(name.encode()) > _LONGEST_NAME or name.partition(".")[0].strip().lower() in _DEVICES:
        raise RefusedError(400, f"choose another name for the file, of {_LONGEST_NAME} bytes at most")
    if not Path(name).suffix or not is_supported(Path(name)):
        raise RefusedError(400, "files of this ending are not read; see the formats in the documentation")
    return name


def keep_file(folder: Path, name: str, source: BinaryIO, size: int) -> None:
    """Put a file into the folder atomically.

    Raises RefusedError: 409 for an existing name, even of a link or a folder, 413 if the folder would exceed its limit, 503
    if the file cannot be written.
    """
    place, temporary = folder / name, folder / f".oreqa-{secrets.token_hex(8)}"  # hidden: it is not indexed
    try:
        with os.scandir(folder) as entries:
            states = [entry.stat(follow_symlinks=False) for entry in entries]
        used = sum(state.st_size for state in states if stat.S_ISREG(state.st_mode))
        if used + size > MAX_UPLOADS:
            raise RefusedError(413, f"the folder of files would hold more than {MAX_UPLOADS >> 30} GB")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, flags, 0o640)
        try:
            source.seek(0)
            with os.fdopen(descriptor, "wb") as target:
                while part := source.read(1 << 20):
                    target.write(part)
                target.flush()
                os.fsync(target.fileno())
            os.link(temporary, place, follow_symlinks=False)  # unlike a rename, it never replaces an existing file
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError:
        raise RefusedError(409, "there is a file of this name already; send it under another one") from None
    except OSError as error:
        raise RefusedError(503, f"the file cannot be kept ({error.strerror})") from error
