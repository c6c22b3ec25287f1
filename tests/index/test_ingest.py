"""Files into an index: what counts as read already, and who may read the index."""

from __future__ import annotations

import gzip
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawn_pdf import pdf
from growth import growth
from index_content import old
from tiny_models import make_model

from oreqa.corpus.readers import Fields, read_documents
from oreqa.errors import OreqaError
from oreqa.index.documents import stored_layout
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.encoder.encoder import Encoder


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(model=str(tiny), passage_tokens=40)


@pytest.mark.parametrize(("before", "after"), [
    (Fields("a b", "c"), Fields("a", "b c")),
    (Fields(), Fields("None")),
    (Fields("a"), Fields(None, "a")),
    (Fields("a", None, "c"), Fields("a", "c")),
])  # fmt: skip
def test_other_columns_are_read_anew(tmp_path: Path, settings: Settings, before: Fields, after: Fields) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,a b,b c,c,None\nowls,bees,foxes,wolves,moles\n")
    old(tmp_path)

    def state() -> list[tuple[str, str, str]]:
        return [(p.document_key, p.title, p.text) for p in Index.open(tmp_path / "kb").passages()]

    index_files(tmp_path / "kb", table, settings, fields=before)
    was = state()
    index_files(tmp_path / "kb", table, fields=after)
    assert state() != was
    assert index_files(tmp_path / "kb", table, fields=after).unchanged == 1


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody can reach, as pytest's own cannot."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        if any(not parent.stat().st_mode & 0o001 for parent in folder.parents):
            pytest.skip("no folder here is open to all")
        yield folder


@pytest.mark.parametrize(("private", "group", "expected"), [
    ({}, True, 0o777),
    ({"docs": 0o700}, True, 0o700),
    ({"docs": 0o750}, True, 0o770),
    ({"docs": 0o750}, False, 0o700),
    ({"docs/deep": 0o711}, True, 0o777),
    ({"docs/deep/b.txt": 0o600}, True, 0o700),
    ({"docs/deep/b.txt": 0o640}, True, 0o770),
    ({"docs/deep/b.txt": 0o640, "docs": 0o700}, True, 0o700),
])  # fmt: skip
@pytest.mark.parametrize("linked", [False, True])
def test_who_may_not_read_the_documents_may_not_read_their_index(
    shared: Path, settings: Settings, private: dict[str, int], group: bool, expected: int, linked: bool
) -> None:
    deep = shared / "docs" / "deep"
    deep.mkdir(parents=True)
    for file in (deep.parent / "a.txt", deep / "b.txt"):
        file.write_text("Owls hoot.")
        file.chmod(0o644)
    for name, mode in private.items():
        (shared / name).chmod(mode)
        if not group:
            if os.geteuid():
                pytest.skip("only root can give a folder to another group")
            os.chown(shared / name, -1, os.getegid() + 1)
    (shared / "link").symlink_to("docs")
    before = os.umask(0)
    try:
        index_files(shared / "kb", shared / ("link" if linked else "docs"), settings)
    finally:
        os.umask(before)
    assert stat.S_IMODE((shared / "kb").stat().st_mode) == expected


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path, library: Path, settings: Settings) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb").chmod(0o755)
    index_files(tmp_path / "kb", library, settings)  # pytest's folders are private
    assert stat.S_IMODE((tmp_path / "kb").stat().st_mode) == 0o755


def test_no_index_is_made_of_files_without_text(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "empty.txt").touch()
    with pytest.raises(
        OreqaError, match=r"docs: no documents could be read, so no index was made [(].*empty.txt: it holds no"
    ):
        index_files(tmp_path / "kb", tmp_path / "docs", settings)
    assert not (tmp_path / "kb").exists()
    problems: list[str] = []
    with pytest.raises(OreqaError, match=r"docs: no documents could be read, so no index was made$"):
        index_files(tmp_path / "kb", tmp_path / "docs", settings, on_problem=problems.append)
    assert len(problems) == 1
    (tmp_path / "docs" / "new.txt").write_text("Owls hoot.")
    report = index_files(tmp_path / "kb", tmp_path / "docs", settings)
    assert (report.added, len(report.problems)) == (1, 1)


@pytest.mark.parametrize("named", [False, True])
def test_linear_time_of_an_update_in_its_files(tmp_path: Path, tiny: Path, named: bool) -> None:
    """Files of a folder, and as many that are named."""

    def indexed(count: int) -> tuple[Path, list[Path]]:
        docs, folder = tmp_path / f"docs-{count}", tmp_path / f"kb-{count}"
        files = [docs / f"{number}.txt" for number in range(count)]
        if not docs.exists():
            docs.mkdir()
            for file in files:
                file.write_text("Owls hoot.")
            old(docs)
            index_files(folder, docs, Settings(str(tiny)))
        return folder, files if named else [docs]

    assert growth(lambda update: index_files(*update), indexed, 150) < 8


def test_the_layout_of_a_pdf_is_kept(tmp_path: Path, settings: Settings) -> None:
    file, kb = tmp_path / "a.pdf", tmp_path / "kb"
    file.write_bytes(pdf(["Owls hoot."]))
    (tmp_path / "b.txt").write_text("Bees hum.")
    (layout,) = [document.layout for document in read_documents(file)]

    def layouts() -> list[bytes]:
        snapshot = Index.open(kb).snapshot()
        return [
            stored_layout(snapshot.select, number) for (number,) in snapshot.select("SELECT id FROM documents ORDER BY key")
        ]

    index_files(kb, [file, tmp_path / "b.txt"], settings)
    assert layouts() == [layout, b""]
    file.unlink()
    index_files(kb, [file], prune=True)
    assert layouts() == [b""]


def test_a_loaded_encoder_is_used_if_it_is_the_index_s(
    tmp_path: Path, library: Path, tiny: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_files(tmp_path / "kb", library, Settings(str(tiny)))
    with Index.open(tmp_path / "kb") as index:
        encoder = index.encoder
    (library / "whales.txt").write_text("Whales sing.")
    other = make_model(tmp_path / "other", seed=5)
    assert index_files(tmp_path / "kb", library, encoder=Encoder(other)).added == 1
    (library / "wolves.txt").write_text("Wolves howl.")
    monkeypatch.setattr("oreqa.index.writer.Encoder", lambda *_, **__: pytest.fail("it is loaded already"))
    assert index_files(tmp_path / "kb", library, encoder=encoder).added == 1
    with Index.open(tmp_path / "kb") as index:
        assert index.fingerprint == encoder.fingerprint


@pytest.mark.parametrize(
    ("index", "paths"), [("kb", ["link"]), ("link", ["kb"]), ("link", ["."]), ("kb", ["link/marks.jsonl"])]
)
def test_an_index_never_holds_its_own_files(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, index: str, paths: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("Bees dance.")
    index_files("kb", ".", model=tiny)
    Path("kb", "marks.jsonl").write_text('{"text": "What people said of an answer."}')
    Path("link").symlink_to("kb")
    index_files(index, paths)
    with Index.open("kb") as opened:
        assert opened.documents() == [str(tmp_path / "notes.txt")]


def test_what_is_repaired_is_no_share_of_unchanged_files(tmp_path: Path, library: Path, tiny: Path) -> None:
    shares: list[tuple[int, int]] = []
    old(library)
    index_files(tmp_path / "kb", library, Settings(str(tiny)))
    (damaged,) = tmp_path.glob("kb/search-*/segment-*/sentences.npy")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    report = index_files(tmp_path / "kb", library, on_file=lambda _, done, total: shares.append((done, total)))
    assert report.encoded
    assert shares[-1] == (0, 0)  # no share is shown


def test_files_of_other_kinds_that_were_included_are_refreshed_without_naming_them(
    tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Bees dance.")
    (tmp_path / "docs" / "rules.nft").write_text("Owls hunt.")
    (tmp_path / "docs" / "b.nft").write_text("Moles dig.")
    old(tmp_path)
    (tmp_path / "README.gz").write_bytes(gzip.compress(b"Foxes sleep."))
    index_files(tmp_path / "kb", [tmp_path / "docs" / "a.md", tmp_path / "docs" / "rules.nft"], settings)
    report = index_files(tmp_path / "kb", tmp_path / "docs", prune=True)
    assert (report.unchanged, report.removed, report.gone, report.unknown) == (2, 0, 0, {".nft": 1})
    (tmp_path / "docs" / "rules.nft").write_text("Owls sleep.")
    report = index_files(tmp_path / "kb", [tmp_path / "docs", tmp_path / "README.gz"])
    assert (report.unchanged, report.changed, report.added) == (1, 1, 1)
    with Index(tmp_path / "kb") as index:
        assert str(tmp_path / "README.gz") in index.documents()
