"""What goes wrong with a server is one line each, and the token is nobody's but the variable's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from milvus_server import free_port, gate, make_certificate

from oreqa.errors import IndexStateError, InputError
from oreqa.index.engines.milvus_client import TOKEN, server_uri
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings


def test_addresses() -> None:
    assert server_uri("milvus:http://127.0.0.1:5") == "http://127.0.0.1:5"
    assert server_uri("milvus:https://milvus.example") == "https://milvus.example:19530"
    for wrong in ("milvus", "milvus:", "milvus:host:19530", "qdrant:http://host", "milvus:http://", "milvus:http://h:x"):
        with pytest.raises(InputError, match=r"^an engine is milvus:http://HOST:PORT, or https for TLS, not "):
            server_uri(wrong)
    with pytest.raises(InputError, match=f"leave name and password to the variable {TOKEN}$"):
        server_uri("milvus:http://root:Milvus@host:19530")


def test_a_language_whose_compounds_are_split_is_refused() -> None:
    with pytest.raises(InputError, match="the compounds of 'de' are split, which the engine milvus cannot count; "):
        Settings(language="de", engine="milvus:http://host:19530")


def test_without_the_extra_its_command_is_named(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    settings = Settings(str(tiny), engine=f"milvus:http://127.0.0.1:{free_port()}")
    with pytest.raises(InputError, match=r"needs the milvus extra: pip install 'oreqa\[milvus\]'$"):
        index_documents(tmp_path / "kb", "Bees dance.", settings)
    assert not (tmp_path / "kb").exists()


@pytest.mark.system
def test_nobody_answers(tiny: Path, tmp_path: Path, milvus: str) -> None:
    settings = Settings(str(tiny), engine=f"milvus:http://127.0.0.1:{free_port()}")
    with pytest.raises(IndexStateError, match=r"Milvus cannot be reached \(.+\); start it, or name where it is$"):
        index_documents(tmp_path / "kb", "Bees dance.", settings)
    assert not (tmp_path / "kb").exists()


@pytest.mark.system
def test_a_token(tiny: Path, tmp_path: Path, milvus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with gate(milvus, "root:a-secret") as address:
        settings = Settings(str(tiny), engine=f"milvus:{address}")
        refusal = rf"^{address}: Milvus refuses the token; set the environment variable {TOKEN}$"
        for token in ("", "root:wrong"):
            monkeypatch.setenv(TOKEN, token)
            with pytest.raises(IndexStateError, match=refusal):
                index_documents(tmp_path / "kb", "Bees dance.", settings)
        monkeypatch.setenv(TOKEN, "root:a-secret")
        index_documents(tmp_path / "kb", "Bees dance.", settings)
        with Index.open(tmp_path / "kb") as index:
            assert index.search("bees", 1)[0].sentence.text == "Bees dance."
        monkeypatch.setenv(TOKEN, "root:wrong")
        with pytest.raises(IndexStateError, match=refusal):
            Index.open(tmp_path / "kb")
    written = [path.read_bytes() for path in (tmp_path / "kb").rglob("*") if path.is_file()]
    assert written
    assert not any(b"secret" in content for content in written)


@pytest.mark.system
def test_tls(tiny: Path, tmp_path: Path, milvus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = make_certificate(tmp_path)
    with gate(milvus, certificate=certificate) as address:
        with pytest.raises(IndexStateError, match=r"TLS failed \(self-signed certificate\); is the address right"):
            index_documents(tmp_path / "kb", "Bees dance.", Settings(str(tiny), engine=f"milvus:{address}"))
        plain = address.replace("https", "http")
        with pytest.raises(
            IndexStateError, match=r"it does not answer as Milvus \(UNAVAILABLE\); if it uses TLS, write https$"
        ):
            index_documents(tmp_path / "kb", "Bees dance.", Settings(str(tiny), engine=f"milvus:{plain}"))
    with pytest.raises(IndexStateError, match="TLS failed"):
        index_documents(
            tmp_path / "kb", "Bees dance.", Settings(str(tiny), engine=f"milvus:{milvus.replace('http', 'https')}")
        )
    assert not (tmp_path / "kb").exists()


@pytest.mark.system
def test_a_certificate_that_is_trusted(tiny: Path, tmp_path: Path, milvus: str) -> None:
    """In a process of its own: gRPC reads the variable once."""
    import subprocess

    certificate = make_certificate(tmp_path)
    with gate(milvus, certificate=certificate) as address:
        program = (
            "import sys; from oreqa import Index, Settings, index_documents\n"
            f"index_documents({str(tmp_path / 'kb')!r}, 'Bees dance.', Settings({str(tiny)!r}, engine='milvus:{address}'))\n"
            f"print(Index.open({str(tmp_path / 'kb')!r}).search('bees')[0].sentence.text)"
        )
        environment = {**os.environ, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(certificate)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Bees dance.\n"), done.stderr
