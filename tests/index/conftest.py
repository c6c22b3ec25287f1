"""A Milvus Lite server for the tests that need one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from milvus_server import milvus_lite


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server; tests without it are skipped."""
    if find_spec("pymilvus") is None or shutil.which("milvus-lite", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("pymilvus and milvus-lite are not installed: make integrations runs this")
    with milvus_lite(tmp_path_factory.mktemp("milvus") / "data") as address:
        yield address
