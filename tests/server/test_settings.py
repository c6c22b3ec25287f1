from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.errors import InputError
from oreqa.server.settings import RATE_BEYOND_LOOPBACK, Access, access, collection_folders, is_loopback, read_token

TOKEN = "a-token-of-some-length"


def allowed(
    host: str,
    token: str | None = None,
    hosts: tuple[str, ...] = (),
    rate: int | None = None,
    socket: bool = False,
    port: int = 8765,
) -> Access:
    return access(host, port, socket=socket, token=token, allow_host=hosts, rate=rate, read_only=False)


def test_collections_have_the_names_of_their_folders_or_those_that_are_given(tmp_path: Path) -> None:
    assert collection_folders([str(tmp_path / "kb"), "notes=elsewhere"]) == {
        "kb": tmp_path / "kb",
        "notes": Path("elsewhere"),
    }
    odd = tmp_path / "a= b"
    odd.mkdir()
    with pytest.raises(InputError, match=f"choose one: --index 'NAME={odd}'"):
        collection_folders([str(odd)])
    assert collection_folders([f"ab={odd}"]) == {"ab": odd}


def test_the_index_of_a_folder_is_named_like_the_folder() -> None:
    assert list(collection_folders(["manuals/.oreqa", "notes/.oreqa"])) == ["manuals", "notes"]
    assert collection_folders(["two words/.oreqa"]) == {"documents": Path("two words/.oreqa")}


@pytest.mark.parametrize(
    ("indexes", "message"),
    [
        (["x/kb", "y/kb"], "two collections are named kb"),
        (["kb="], "name a folder after the equals sign"),
        (["/"], "no name for a collection"),
        (["two words"], "no name for a collection"),
    ],
)
def test_collections_without_a_name_of_their_own_are_refused(indexes: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        collection_folders(indexes)


def test_a_token_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    assert read_token(file, "another-token-of-length") == TOKEN
    assert read_token(None, TOKEN) == TOKEN
    assert read_token(None, None) is None


@pytest.mark.parametrize(
    "text", ["short", "", "two words that are long", "a-token-of\nsome-lines-of-it", "tökentökentökentöken"]
)
def test_a_poor_token_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(InputError, match=f"{file}: a token is 16 or more"):
        read_token(file, None)


def test_a_token_that_cannot_be_read_or_that_others_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(InputError, match=f"{file}: the token cannot be read"):
        read_token(file, None)
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path, None)
    file.write_bytes(b"\xff\xfe" * 20)
    with pytest.raises(InputError, match="not UTF-8"):
        read_token(file, None)
    if os.name == "posix":
        file.write_text(TOKEN)
        file.chmod(0o644)
        with pytest.raises(InputError, match="chmod 600"):
            read_token(file, None)


def test_loopback() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.7", "kb.example.org", "")] == [False] * 5


def test_a_server_on_loopback_answers_for_loopback_alone() -> None:
    who = allowed("127.0.0.1")
    assert who.hosts == {"localhost:8765", "127.0.0.1:8765", "[::1]:8765"}
    assert (who.token, who.rate) == (None, 0)
    assert allowed("127.0.0.1", hosts=("KB.example.org",)).hosts == who.hosts | {"kb.example.org"}
    assert allowed("127.0.0.1", hosts=("kb.example.org",)).rate == RATE_BEYOND_LOOPBACK  # a proxy stands before it
    assert "localhost" in allowed("127.0.0.1", socket=True).hosts


def test_at_the_usual_port_names_without_a_port_are_allowed() -> None:
    names = {"localhost", "127.0.0.1", "[::1]"}
    assert allowed("127.0.0.1", port=80).hosts == names | {f"{name}:80" for name in names}
    assert allowed("10.0.0.7", TOKEN, port=80).hosts == {"10.0.0.7", "10.0.0.7:80"}
    assert allowed("0.0.0.0", TOKEN, ("kb.example.org:80",), port=80).hosts == {"kb.example.org", "kb.example.org:80"}
    assert "localhost" not in allowed("127.0.0.1", port=8080).hosts


def test_beyond_loopback_a_token_and_a_host_are_needed() -> None:
    with pytest.raises(InputError, match="--token-file"):
        allowed("0.0.0.0")
    with pytest.raises(InputError, match="--allow-host"):
        allowed("0.0.0.0", TOKEN)
    who = allowed("0.0.0.0", TOKEN, ("kb.example.org:8765",))
    assert (who.hosts, who.token, who.rate) == ({"kb.example.org:8765"}, TOKEN, RATE_BEYOND_LOOPBACK)
    assert allowed("10.0.0.7", TOKEN, rate=5) == Access(frozenset({"10.0.0.7:8765"}), TOKEN, 5)
    assert allowed("fd00::7", TOKEN).hosts == {"[fd00::7]:8765"}
    for host in ("http://kb.example.org", "kb.example.org/", "*", "a b"):
        with pytest.raises(InputError, match="--allow-host"):
            allowed("0.0.0.0", TOKEN, (host,))
