"""Addresses and archives other than zip: one line that says what to do, and no index."""

from __future__ import annotations

import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.corpus.files import find_files
from oreqa.corpus.unread import archive_suffix, how_to_download, how_to_unpack, include_hint, include_patterns
from oreqa.errors import InputError


@pytest.mark.parametrize(("address", "advice"), [
    ("https://example.org/guide.pdf", "download it (curl -LO https://example.org/guide.pdf), and index the file"),
    ("HTTPS://example.org", "download it (curl -Lo page.html HTTPS://example.org), and index the file"),
    ("http://example.org/a.pdf?b=1", "download it (curl -Lo a.pdf 'http://example.org/a.pdf?b=1'), and index the file"),
    ("http://example.org/a?b=1&c=2", "download it (curl -Lo page.html 'http://example.org/a?b=1&c=2'), and index the file"),
    ("s3://bucket/key.pdf", "download it, and index the file"),
    ("file:///srv/a.txt", "name the path, /srv/a.txt"),
])  # fmt: skip
def test_an_address_is_one_line_with_a_command(address: str, advice: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["index", address, "--index", str(tmp_path / "kb")])
    assert (done.exit_code, done.stderr) == (2, f"error: {address}: it is an address: {advice}\n")
    assert not (tmp_path / "kb").exists()


def test_paths_and_files_of_such_a_name_are_no_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("https:/example.org").mkdir(parents=True)
    Path("https://example.org/a.txt").write_text("Bees dance.")
    for path in ("https://example.org/a.txt", "C:/docs", "docs/http.txt", "notes: a"):
        assert how_to_download(Path(path)) is None
    assert [file.name for file in find_files([Path("https://example.org/a.txt")]).files] == ["a.txt"]


@pytest.mark.parametrize(
    "name", ["a.tar", "a.tar.gz", "A.TGZ", "b c.tar.xz", "a.7z", "a.rar", "mail.pst", "a.png.gz", "a.zst", "data.bin.bz2"]
)
def test_an_archive_alone_is_one_line_with_a_command(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"archive")
    done = CliRunner().invoke(app, ["index", str(path), "--index", str(tmp_path / "kb")])
    assert done.exit_code == 2
    line = f"error: {path}: it is an archive of a kind that is not read: unpack it ("
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1
    assert shlex.split(done.stderr.removeprefix(line).partition(")")[0])[-1] == str(path)
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a b.ps.gz", "gunzip -k 'a b.ps.gz' && ps2pdf 'a b.ps'"),
        ("a.dvi.xz", "unxz -k a.dvi.xz && dvipdf a.dvi"),
        ("a.ps", "ps2pdf a.ps"),
        ("-a.doc", "soffice --convert-to docx ./-a.doc"),
    ],
)
def test_a_document_of_a_type_that_is_not_read_is_to_be_converted(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(b"%!PS-Adobe-3.0\n\0")
    done = CliRunner().invoke(app, ["index", "--index", "kb", "--", name])
    assert done.exit_code in (1, 2)
    suffix = next(part for part in (".ps", ".dvi", ".doc") if part in name)
    line = f"{name}: files of type {suffix} are not read: index its PDF, HTML or text version, or convert it ({command})"
    assert line in done.stderr
    assert not Path("kb").exists()


def test_the_command_for_tar_unpacks_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Bees dance.")
    with tarfile.open(tmp_path / "x y.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.txt", "held.txt")
    line = how_to_unpack(tmp_path / "x y.tar.gz") or ""
    command = line[line.index("(") + 1 : line.index(")")]
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    assert (tmp_path / "held.txt").read_text() == "Bees dance."


def test_archives_beside_documents_are_omitted_and_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Bees dance.")
    for name in ("x.tar.gz", "y.tar.gz", "z.7z", "page.md.gz.bak"):
        (tmp_path / "docs" / name).write_bytes(b"archive")
    files = find_files([tmp_path / "docs"])
    assert [file.name for file in files.files] == ["a.txt"]
    assert files.unknown == {".tar.gz": 2, ".7z": 1, ".bak": 1}
    both = [str(tmp_path / "docs" / name) for name in ("a.txt", "z.7z")]
    done = CliRunner().invoke(app, ["index", *both, "--index", str(tmp_path / "kb")])
    assert done.exit_code == 1
    assert "z.7z: it is an archive of a kind that is not read: unpack it (7z x z.7z), and index the folder" in done.stderr
    assert (tmp_path / "kb").exists()


def test_what_is_read_gzipped_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(b"x")
    assert [file.name for file in find_files([tmp_path / "a.txt.gz"]).files] == ["a.txt.gz"]
    assert archive_suffix(Path(".tar")) is None


def test_a_name_is_no_option_of_the_command() -> None:
    assert "unpack it (gunzip -k ./-x.gz)," in str(how_to_unpack(Path("-x.gz")))
    assert "unpack it (dpkg -x 'a b.deb' unpacked), and index the folder" in str(how_to_unpack(Path("a b.deb")))


def test_several_archives_are_counted(tmp_path: Path) -> None:
    for name in ("a.tar", "b.tar"):
        (tmp_path / name).write_bytes(b"archive")
    with pytest.raises(InputError, match=r"a\.tar: it is .*and index the folder \(1 more are, too\)$"):
        find_files([tmp_path / "a.tar", tmp_path / "b.tar"])


def test_patterns_take_all_texts_of_other_kinds(tmp_path: Path) -> None:
    def patterns(*names: str) -> list[str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(b"\x7fELF\0" if name == "tool" else b"#!/bin/sh" if name == "run" else b"Text.")
        include = include_patterns(find_files([folder]).unsupported)
        texts = {name for name in names if name not in ("tool", "run", "logo.png")}
        assert texts <= {file.name for file in find_files([folder], include).files}
        return include

    assert patterns("a.nft", "b.nft", "c.Debian", "logo.png", "tool", "run") == ["*.nft", "*.Debian"]
    assert patterns("COPYING", "copyright", "AUTHORS", "run") == ["AUTHORS", "COPYING", "copyright"]
    assert patterns("COPYING", "DUMB", "AUTHORS", "THANKS", "CREDITS", "x.nft") == ["*.nft", "[A-Z]*"]
    assert patterns("COPYING", "DUMB", "AUTHORS", "THANKS", "copyright", "00-index") == ["00-index", "[A-Za-z]*"]
    assert include_hint(["*.nft", "[A-Z]*"]) == "to add those that are text: --include '*.nft' --include '[A-Z]*'"
    assert include_hint(list("abcdefghij")).endswith(" --include h and 2 more patterns")
    assert include_hint([]) == ""
