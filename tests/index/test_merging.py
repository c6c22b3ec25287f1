"""Several indexes become one, which searches as one that was built at once."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from index_content import assert_same, old
from tiny_models import make_model

from oreqa.answering import Answerer
from oreqa.core import Document
from oreqa.datasets.marks import Mark, Verdict, question_id, read_marks, set_mark
from oreqa.errors import IndexStateError, InputError, OreqaError
from oreqa.index import drafts, merging
from oreqa.index.change_encoder import change_encoder, publish_fitted
from oreqa.index.fitted import IndexFitted
from oreqa.index.generations import CHANGES, newest_generation, require_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.joining import MOVED
from oreqa.index.merging import MergeReport, merge_indexes
from oreqa.index.removal import remove_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings

QUESTIONS = ["hearts", "Who lays eggs?", "leather boots", "whale song", "the", "zebra"]


@pytest.fixture
def shards(tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two indexes, in the working folder: of the library, and of whales and bees in another folder."""
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "whales.md").write_text("# Whales\n\nWhales sing.\n\n## Depth\n\nA whale of three tonnes dives deep.\n")
    (other / "more.txt").write_text("The queen of the bees has one heart. Boots leak.\n")
    old(other)
    folders = [Path("shard-1"), Path("shard-2")]
    for folder, documents in zip(folders, (library, other), strict=True):
        index_files(folder, documents, Settings(str(tiny)))
    return folders


def hits(folder: Path) -> list[list[tuple[object, ...]]]:
    """All that searches give, in order, with every score."""
    with Index.open(folder) as index:
        return [
            [(hit.passage.document_key, hit.sentence.start, hit.score, *sorted(hit.scores.items())) for hit in each]
            for mode in ("hybrid", "dense", "sparse")
            for unit in ("sentence", "passage")
            for each in index.search(QUESTIONS, k=100, mode=mode, unit=unit)  # type: ignore[arg-type]
        ]


def test_it_searches_exactly_as_one_that_was_built_of_all(shards: list[Path], library: Path, tiny: Path) -> None:
    assert merge_indexes("kb", shards) == MergeReport(6, 9, 6)
    index_files("clean", library, Settings(str(tiny)))  # in the same batches: another one changes the last bits of a vector
    index_files("clean", "other")
    assert hits(Path("kb")) == hits(Path("clean"))
    with Index.open("kb") as index, Index.open("clean") as clean:
        assert index.snapshot().content == clean.snapshot().content
        assert list(index.documents()) == list(clean.documents())


def test_its_answers_are_those_of_one_that_was_built_of_all(
    shards: list[Path], library: Path, tiny: Path, tiny_reader: Path
) -> None:
    merge_indexes("kb", shards)
    index_files("clean", library, Settings(str(tiny)))
    index_files("clean", "other")
    replies = []
    for folder in ("kb", "clean"):
        with Answerer.load(folder, reader=str(tiny_reader)) as answerer:
            replies.append([reply.to_dict() for reply in answerer.reply(QUESTIONS)])
    assert replies[0] == replies[1]


def test_vectors_are_shared_and_nothing_is_encoded(shards: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oreqa.models.encoder.encoder.Encoder.__init__", None)
    merge_indexes("kb", shards)
    ours = {path.stat().st_ino for path in Path("kb").rglob("*.npy")}
    for shard in shards:
        for name in ("passages.npy", "sentences.npy", "sentence_rows.npy"):
            (path,) = require_generation(shard).rglob(name)
            assert path.stat().st_ino in ours


def test_shards_that_cannot_be_written_make_an_index_that_can_be(shards: list[Path]) -> None:
    for shard in shards:
        shard.chmod(0o550)
    merge_indexes("kb", shards)
    assert Path("kb").stat().st_mode & 0o777 == 0o750 & ~_umask()
    for shard in shards:
        shard.chmod(0o750)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_where_links_are_impossible_files_are_copied(shards: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    assert merge_indexes("kb", shards).documents == 6
    for shard in shards:
        shutil.rmtree(shard)
    assert hits(Path("kb"))[0]


def test_an_update_goes_on_as_usual(shards: list[Path], library: Path, tiny: Path) -> None:
    merge_indexes("kb", shards)
    for shard in shards:
        shutil.rmtree(shard)
    report = index_files("kb", [library, "other"])
    assert (report.unchanged, report.encoded) == (6, 0)
    assert newest_generation(Path("kb")) == Path("kb/search-000001")
    (library / "octopus.md").write_text("# Octopus\n\nAn octopus has nine brains.\n")
    (library / "bees.txt").unlink()
    Path("other/new.txt").write_text("Moles dig tunnels.\n")
    report = index_files("kb", [library, "other"], prune=True)
    assert (report.added, report.changed, report.removed, report.encoded) == (1, 1, 1, 2)
    index_files("clean", [library, "other"], Settings(str(tiny)))
    assert_same(Path("kb"), Path("clean"))


def test_shards_with_a_history(shards: list[Path], library: Path, tiny: Path) -> None:
    """Removed documents do not come along, and the ids of their passages are not given again."""
    Path("other/secret.txt").write_text("Swordfish.\n")
    for shard in shards:
        index_documents(shard, Document(f"last of {shard}", "Last", "The swordfish swims."))
        remove_documents(shard, f"last of {shard}")
    index_files("shard-2", "other")
    remove_documents("shard-2", "secret.txt")
    Path("other/secret.txt").unlink()
    merge_indexes("kb", shards)
    index_files("kb", [library, "other"])
    index_documents("kb", Document("new", "New", "A new document."))
    index_files("clean", [library, "other"], Settings(str(tiny)))
    index_documents("clean", Document("new", "New", "A new document."))
    assert_same(Path("kb"), Path("clean"))
    with Index.open("kb") as index:
        assert index.snapshot().word_numbers(["swordfish"]) == {"swordfish": None}
        ids = index.snapshot().engine.every().passage_ids.tolist()
        assert ids == sorted(set(ids))


def test_compounds_are_those_of_all(tmp_path: Path, tiny: Path) -> None:
    texts = [
        ["Das Paket ist da. Ein Paket fehlt.", "Die Verwaltung der Pakete."],
        ["Eine Paketverwaltung hilft.", "Die Verwaltung schweigt."],
    ]
    for number, part in enumerate(texts):
        index_documents(
            tmp_path / f"{number}", [Document(text, "", text) for text in part], Settings(str(tiny), language="de")
        )
    merge_indexes(tmp_path / "kb", [tmp_path / "0", tmp_path / "1"])
    index_documents(
        tmp_path / "clean", [Document(t, "", t) for part in texts for t in part], Settings(str(tiny), language="de")
    )
    compounds = []
    for folder in (tmp_path / "kb", tmp_path / "clean"):
        with Index.open(folder) as index:
            query = "SELECT a.term, b.term FROM compounds, terms a, terms b WHERE a.id = compound AND b.id = part"
            compounds.append(sorted(index.snapshot().select(query)))
    assert compounds[0] == compounds[1] != []


def test_every_table_is_copied(shards: list[Path]) -> None:
    """Whoever adds a table to the documents says here what a merge does with it."""
    with sqlite3.connect(require_generation(shards[0]) / "documents.db") as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert tables - MOVED.keys() == {"settings", "sources", "terms", "compounds", "sqlite_sequence"}


def test_shards_are_added_to_an_index_and_those_that_are_there_are_passed_over(shards: list[Path]) -> None:
    assert merge_indexes("kb", shards[0]) == MergeReport(4, 6, 4)
    assert merge_indexes("kb", shards) == MergeReport(6, 9, 2, present=["shard-1"])
    assert merge_indexes("kb", shards) == MergeReport(6, 9, 0, present=["shard-1", "shard-2"])
    assert newest_generation(Path("kb")) == Path("kb/search-000002")
    merge_indexes("at once", shards)
    assert hits(Path("kb")) == hits(Path("at once"))


def test_a_document_in_two_is_named_with_what_to_do(shards: list[Path], library: Path) -> None:
    index_files("shard-2", library / "bees.txt")
    line = rf"^shard-2 and shard-1 both hold {library}/bees.txt; take it out of one of them, as by: oreqa remove {library}/bees.txt --index shard-2$"
    with pytest.raises(IndexStateError, match=line):
        merge_indexes("kb", shards)
    assert not Path("kb").exists()
    merge_indexes("kb", shards[0])
    with pytest.raises(IndexStateError, match=r"^shard-2 and kb both hold "):
        merge_indexes("kb", shards[1])
    remove_documents("shard-2", "bees.txt")
    assert merge_indexes("kb", shards).added == 2


def test_many_documents_in_two_are_counted_and_three_named(shards: list[Path], library: Path) -> None:
    index_files("shard-2", library)
    line = (
        rf"^shard-2 and shard-1 both hold 4 documents, as {library}/bees.txt, {library}/octopus.md, {library}/rows.jsonl#a; "
        rf"take them out of one of them, as by: oreqa remove {library}/bees.txt {library}/octopus.md '{library}/rows.jsonl#a' "
        r"--index shard-2 --yes ... \(with --json, oreqa merge lists all of them\)$"
    )
    with pytest.raises(IndexStateError, match=line) as raised:
        merge_indexes("kb", shards)
    assert raised.value.details == {
        "documents": [*map(str, map(library.joinpath, ("bees.txt", "octopus.md", "rows.jsonl#a", "rows.jsonl#b")))]
    }
    index_documents("shard-3", "Owls hoot.", Settings(existing_model("shard-1")))
    with pytest.raises(IndexStateError, match=r"^shard-2 and shard-1 both hold 4 documents"):
        merge_indexes("kb", [shards[0], "shard-3", shards[1]])


def existing_model(folder: str) -> str:
    with Index.open(folder) as index:
        return index.snapshot().settings.model


@pytest.mark.parametrize("kind", ["removed", "updated"])
def test_a_shard_that_is_written_during_the_merge_is_not_called_damaged(
    shards: list[Path], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it held when the merge began is merged, or is gone, which the error says."""
    begin = merging.begin_draft

    def write_meanwhile(generation: Path, draft: Path) -> sqlite3.Connection:
        monkeypatch.setattr(merging, "begin_draft", begin)
        if kind == "removed":
            remove_documents("shard-2", "more.txt")
        else:
            Path("other/new.txt").write_text("Moles dig.\n")
            index_files("shard-2", "other")
        return begin(generation, draft)

    monkeypatch.setattr(merging, "begin_draft", write_meanwhile)
    if kind == "removed":
        with pytest.raises(IndexStateError, match=r"^shard-2: it was updated while it was merged; run the merge again$"):
            merge_indexes("kb", shards)
        assert merge_indexes("kb", shards).documents == 5
    else:
        assert merge_indexes("kb", shards).documents == 6


def test_a_merge_leaves_no_changes_for_each_update_to_copy(shards: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    index_documents("kb", "Owls hoot.", Settings(existing_model("shard-1")))
    monkeypatch.setattr(drafts, "_SHARE", 0)  # an update would write all changes beside what is there
    merge_indexes("kb", shards)
    generation = require_generation(Path("kb"))
    assert not (generation / CHANGES).exists()
    assert merge_indexes("kb", shards).added == 0
    assert require_generation(Path("kb")) == generation


def test_a_shard_that_changed_since_is_refused(shards: list[Path]) -> None:
    merge_indexes("kb", shards)
    Path("other/more.txt").write_text("Something else.\n")
    index_files("shard-2", "other")
    with pytest.raises(
        IndexStateError,
        match=r"^shard-2 and kb both hold 2 documents, as .*more.txt, .*; .*, or merge all into a new folder$",
    ):
        merge_indexes("kb", shards)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"language": "de"},
            r"it differs from shard-1 in --language \(de, there en\); index its documents again, as there$",
        ),
        ({"passage_tokens": 50}, r"in --passage-tokens \(50, there \d+\);"),
        ({"truncate_dim": 8}, r"in (its model|--truncate-dim) "),
        ({"model": "another"}, r"in its model \(.*another, there .*\);"),
    ],
)
def test_other_settings_are_a_line(
    shards: list[Path], settings: dict[str, str], line: str, tiny_other: Path, tiny: Path
) -> None:
    chosen = {"model": str(tiny), **settings}
    if chosen["model"] == "another":
        chosen["model"] = str(tiny_other)
    index_documents("shard-3", "Foxes hunt.", Settings(**chosen))  # type: ignore[arg-type]
    with pytest.raises(IndexStateError, match=rf"^shard-3: .*{line}"):
        merge_indexes("kb", [*shards, "shard-3"])
    assert not Path("kb").exists()


@pytest.fixture
def tiny_other(tmp_path: Path) -> Path:
    return make_model(tmp_path / "another", seed=3)


def test_what_cannot_be_merged_is_a_line(shards: list[Path], tmp_path: Path) -> None:
    refused: list[tuple[list[Path], str]] = [
        ([*shards, Path("shard-1/../shard-1")], "this index is named twice"),
        ([Path("nowhere")], "nowhere: there is no index here"),
        ([], "paths are an empty list"),
    ]
    for folders, line in refused:
        with pytest.raises(OreqaError, match=line):
            merge_indexes("kb", folders)
    with pytest.raises(InputError, match="shard-1: this index is named twice"):
        merge_indexes("shard-1", shards)
    with pytest.raises(InputError, match="which is not an index"):
        merge_indexes("other", shards)
    (path,) = require_generation(shards[1]).rglob("sentences.npy")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IndexStateError, match=r"shard-2/.*sentences.npy: this file of the index is missing or damaged"):
        merge_indexes("kb", shards)
    assert not Path("kb").exists()


def test_who_may_not_enter_a_shard_may_not_enter_the_index(shards: list[Path]) -> None:
    shards[1].chmod(0o700)
    merge_indexes("kb", shards)
    assert Path("kb").stat().st_mode & 0o077 == 0


def mark(question: str, verdict: Verdict, time: str) -> Mark:
    return Mark(question_id(question), question, ("three",), verdict, time)


def test_marks_come_along(shards: list[Path]) -> None:
    set_mark(shards[0], mark("How many hearts?", "right", "2026-01-01T00:00:00Z"))
    set_mark(shards[0], mark("Who sings?", "none", "2026-01-03T00:00:00Z"))
    set_mark(shards[1], mark("how many hearts", "corrected", "2026-01-02T00:00:00Z"))
    set_mark(shards[1], mark("Who digs?", "wrong", "2026-01-01T00:00:00Z"))
    assert merge_indexes("kb", shards).marks == 2
    assert [(each.question, each.verdict) for each in read_marks(Path("kb"))] == [("how many hearts", "corrected")]
    assert [each.question for each in read_marks(Path("kb"), "undecided.jsonl")] == ["Who digs?"]
    assert merge_indexes("kb", shards).marks == 0


def test_what_was_fitted_comes_along_if_all_have_it(shards: list[Path]) -> None:
    def fit(folder: Path, weight: float) -> None:
        with Index.open(folder) as index:
            encoder = index.snapshot().fingerprint
        fusion = {unit: {"sentence cosine": weight} for unit in ("sentence", "passage")}
        publish_fitted(folder, lambda fitted: IndexFitted(encoder, fusion))  # type: ignore[arg-type]

    def weights(folder: str) -> object:
        with Index.open(folder) as index:
            return index.snapshot().index_fitted.fusion

    fit(shards[0], 0.5)
    assert merge_indexes("a", shards).unfitted == ["shard-1"]
    assert not weights("a")
    fit(shards[1], 0.5)
    assert merge_indexes("b", shards).unfitted == []
    assert weights("b") == weights("shard-1")
    fit(shards[1], 0.7)
    assert merge_indexes("c", shards).unfitted == ["shard-1", "shard-2"]
    merge_indexes("d", shards[0])
    assert merge_indexes("d", shards).unfitted == ["shard-2"]
    assert weights("d") == weights("shard-1")


def test_a_model_in_a_shards_folder_comes_along(shards: list[Path], tiny: Path, library: Path) -> None:
    shutil.copytree(tiny, "shard-3/adapted/1/encoder")
    shutil.move("shard-3", "moved")
    index_files("shard-3", library, Settings(str(tiny)))
    shutil.move("moved/adapted", "shard-3/adapted")
    change_encoder("shard-3", "adapted/1/encoder")
    merge_indexes("kb", ["shard-3", "shard-2"])
    shutil.rmtree("shard-3")
    assert hits(Path("kb"))[0]


def test_merges_of_other_documents_differ_in_content_after_an_update(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, prints = Settings(str(tiny)), set()
    for name, text in (("a", "Owls hoot."), ("b", "Larks sing."), ("c", "Bees dance.")):
        index_documents(tmp_path / name, Document(name.replace("c", "b"), "", text), settings)
    for name in "bc":
        merge_indexes(tmp_path / f"a{name}", [tmp_path / "a", tmp_path / name])
        monkeypatch.setattr(drafts, "_SHARE", 0)
        index_documents(tmp_path / f"a{name}", Document("d", "", "Herons wade."))
        monkeypatch.undo()
        with Index.open(tmp_path / f"a{name}") as index:
            prints.add(index.content_fingerprint)
    assert len(prints) == 2


KILLED = """
import os, signal, sys
from oreqa.index import merging, generations
def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(merging, sys.argv[1], die)
merging.merge_indexes("kb", ["shard-1", "shard-2"])
"""


@pytest.mark.parametrize("place", ["join_index", "write_compounds", "write_manifest", "publish_draft", "set_mark"])
@pytest.mark.parametrize("is_new", [True, False])
def test_killed_it_has_changed_nothing_and_can_be_called_again(shards: list[Path], place: str, is_new: bool) -> None:
    set_mark(shards[1], mark("Who digs?", "right", "2026-01-01T00:00:00Z"))
    if not is_new:
        merge_indexes("kb", shards[0])
    before = hits(Path("kb")) if not is_new else None
    run = subprocess.run([sys.executable, "-c", KILLED, place], check=False)
    assert run.returncode == -signal.SIGKILL
    if place != "set_mark":
        with pytest.raises(IndexStateError, match="never completed") if is_new else nullcontext():
            assert hits(Path("kb")) == before
    merge_indexes("kb", shards)
    merge_indexes("clean", shards)
    assert hits(Path("kb")) == hits(Path("clean"))
    assert len(read_marks(Path("kb"))) == 1
