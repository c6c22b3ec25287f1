from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa import Answerer
from oreqa.answering.choices import best_is_here, chosen_reader, chosen_reranking
from oreqa.cli import app
from oreqa.defaults import DEFAULT_READER, QUALITY_READERS, Quality
from oreqa.errors import InputError, ModelError
from oreqa.index.generations import newest_generation
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.names import find_model
from oreqa.models.stored import model_store


@pytest.fixture(autouse=True)
def no_large_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "oreqa"))
    monkeypatch.delenv("OREQA_QUALITY", raising=False)


def put_large_encoder(tiny: Path) -> None:
    model_store().mkdir(parents=True)
    shutil.copytree(tiny, model_store() / "all-mpnet-base-v2")


@pytest.fixture
def kb(tmp_path: Path, library: Path, tiny: Path) -> Path:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    return tmp_path / "kb"


def ask(kb: Path, *arguments: object) -> Result:
    return CliRunner().invoke(app, ["ask", "octopus hearts", "--index", str(kb), *map(str, arguments)])


def test_the_quality_is_the_argument_else_the_variable_else_fast(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_large_encoder(tiny)
    assert (chosen_reader("auto"), chosen_reader("auto", "best")) == ("minilm-reader", "mpnet-reader")
    monkeypatch.setenv("OREQA_QUALITY", "best")
    assert (chosen_reader("auto"), chosen_reader("auto", "fast")) == ("mpnet-reader", "minilm-reader")
    monkeypatch.setenv("OREQA_QUALITY", "")
    assert chosen_reader("auto") == "minilm-reader"
    monkeypatch.setenv("OREQA_QUALITY", "good")
    with pytest.raises(InputError, match=r"^OREQA_QUALITY: there is no quality 'good': choose fast or best$"):
        chosen_reader("auto")
    with pytest.raises(InputError, match=r"^there is no quality '': choose fast or best$"):
        chosen_reader("auto", "")
    assert (chosen_reader("other"), chosen_reader(None)) == ("other", None)


def test_best_without_its_model_says_how_to_get_it(kb: Path) -> None:
    assert not best_is_here()
    with pytest.raises(
        ModelError, match=r"best needs all-mpnet-base-v2, which is not here: oreqa models get all-mpnet-base"
    ):
        Answerer.load(kb, quality="best")
    refused = ask(kb, "--quality", "best")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("error: the quality best needs all-mpnet-base-v2")
    assert not list((kb.parent / "oreqa").glob("models/*"))  # nothing was downloaded


def test_best_reads_with_its_own_reader(kb: Path, tiny: Path, tiny_reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_large_encoder(tiny)
    monkeypatch.setitem(QUALITY_READERS, "best", str(tiny_reader))  # type: ignore[arg-type]
    monkeypatch.setattr("oreqa.answering.choices.BEST_READER", str(tiny_reader))
    with Answerer.load(kb, quality="best") as answerer, Answerer.load(kb, quality="fast") as fast:
        assert answerer.reader is not None
        assert answerer.passage_reranker is not None
        assert answerer.reader.folder.path == tiny_reader
        assert answerer.passage_reranker.folder.path == find_model(DEFAULT_READER)
        assert fast.passage_reranker is None
    monkeypatch.setenv("OREQA_QUALITY", "best")
    with Answerer.load(kb) as answerer, Answerer.load(kb, reader=None) as without:
        assert answerer.reader is not None
        assert answerer.reader.folder.path == tiny_reader
        assert without.reader is None
    assert f"oreqa fit --index {kb} --reader {tiny_reader}" in ask(kb).stderr


def test_an_index_has_a_quality_of_its_own(
    kb: Path, tiny: Path, tiny_reader: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_large_encoder(tiny)
    monkeypatch.setitem(QUALITY_READERS, "best", str(tiny_reader))  # type: ignore[arg-type]

    def reader(**chosen: Quality) -> str:
        with Answerer.load(kb, **chosen) as answerer:
            assert answerer.reader is not None
            return answerer.reader.folder.path.name

    def index(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["index", str(library), "--index", str(kb), *arguments])
        assert done.exit_code == 0, done.stderr
        return newest_generation(kb).name  # type: ignore[union-attr]

    assert reader() == "minilm-reader"
    first = index("--quality", "best")
    with Index.open(kb) as opened:
        assert opened.snapshot().settings.quality == "best"
        assert len(opened.search("octopus hearts", 3)) == 3
    assert (reader(), reader(quality="fast")) == (tiny_reader.name, "minilm-reader")
    assert index() == index("--quality", "best") == first  # nothing to change
    assert check_index(kb) == []
    monkeypatch.setenv("OREQA_QUALITY", "fast")
    assert reader() == "minilm-reader"
    monkeypatch.delenv("OREQA_QUALITY")
    assert index("--quality", "fast") != first
    assert reader() == "minilm-reader"
    assert CliRunner().invoke(app, ["index", str(library), "--index", str(kb), "--quality", "good"]).exit_code == 2
    with pytest.raises(InputError, match="there is no quality 'good': choose fast, best"):
        Settings(str(tiny), quality="good")  # type: ignore[arg-type]


def test_a_quality_beside_a_reader_is_refused(kb: Path) -> None:
    with pytest.raises(InputError, match="the quality fast chooses a reader: leave it or the reader minilm-reader out"):
        Answerer.load(kb, quality="fast", reader="minilm-reader")
    assert ask(kb, "--quality", "fast", "--reader", "none").exit_code == 2


def test_the_quality_best_is_suggested_once(kb: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oreqa.cli.ask import _mention_best

    messages: list[str] = []
    monkeypatch.setattr("oreqa.cli.ask.say", lambda text, err: messages.append(text))
    _mention_best()
    assert not messages  # standard error is no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _mention_best()
    _mention_best()
    assert messages == [
        "a larger model finds more answers: oreqa models get all-mpnet-base-v2, then ask with --quality best"
    ]


def test_a_classifier_or_a_number_asks_for_re_ranking() -> None:
    assert chosen_reranking(None, None) == chosen_reranking(None, 0) == (None, 0)
    assert chosen_reranking("mine", None) == ("mine", 20)
    assert chosen_reranking("mine", 3) == ("mine", 3)
    assert chosen_reranking(None, 3) == ("minilm-classifier", 3)
    with pytest.raises(
        InputError, match=r"^the classifier mine would re-rank no hits: leave it out, or their number, which"
    ):
        chosen_reranking("mine", 0)
    with pytest.raises(InputError, match=r"rerank_hits is 1.5; it must be a whole number from 0"):
        chosen_reranking(None, 1.5)  # type: ignore[arg-type]
