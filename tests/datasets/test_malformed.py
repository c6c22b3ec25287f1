"""Damaged data of every format: whatever is in a file, a loader returns or raises InputError, which names the file."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oreqa.cli.output import read_lines
from oreqa.datasets.beir import load_beir
from oreqa.datasets.load import data_kind, load_question_file, load_task
from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.paragraphs import load_mrqa, load_squad
from oreqa.datasets.reqa import build_reqa, load_boundaries
from oreqa.errors import InputError
from oreqa.evaluation.answers import evaluate_answers
from oreqa.evaluation.compare import compare_runs
from oreqa.evaluation.runs import load_run
from oreqa.files import append_jsonl, read_json, read_jsonl, write_json
from oreqa.mining.predictions import load_predictions

SQUAD = {
    "version": "2.0",
    "data": [
        {
            "title": "A",
            "paragraphs": [
                {
                    "context": "Foxes run. Bees hum.",
                    "qas": [
                        {"id": "1", "question": "who", "answers": [{"text": "Bees", "answer_start": 11}]},
                        {"id": "2", "question": "why", "answers": [], "is_impossible": True},
                    ],
                }
            ],
        }
    ],
}
QAS = [
    {"qid": "1", "question": "who", "answers": ["Bees"], "detected_answers": [{"text": "Bees", "char_spans": [[11, 14]]}]}
]
MRQA = [{"header": {"dataset": "x"}}, {"title": "A", "context": "Foxes run. Bees hum.", "qas": QAS}]
PAIRS = [
    {"question": "who", "answer": "Bees hum.", "context": "Bees hum. Foxes run.", "title": "A", "weight": 0.5, "rank": 1,
     "source": "silver", "score": 0.5, "negatives": [{"answer": "Foxes run.", "context": "Foxes run.", "title": "A"}]}
]  # fmt: skip
QUESTIONS = [
    {"id": "1", "question": "who", "answers": ["Bees"], "document": "bees.txt", "kind": "fact"},
    {"question": "when", "pattern": "19.."},
]
PREDICTED = [
    {
        "id": "1",
        "question": "who",
        "passages": [["A", "Bees hum."]],
        "spans": [[0, 0, 4, 1.5]],
        "right": [True],
        "fingerprint": "x",
    }
]
BOUNDARIES = [{"title": "A", "paragraph": 0, "sentence": 0, "start": 0, "end": 10}]
RUN = [
    {"id": key, "question": "who", "mrr": 1.0, "p@1": right, "ranks": [1.0], "gold": ["Bees"], "top": []}
    for key, right in (("1", 1), ("2", 0.0))
]
METRICS = {"task": "reqa", "mrr": 100.0, "p@1": 50, "questions": 2, "data_sha256": "0"}
CORPUS, QUERIES = [{"_id": "d", "title": "A", "text": "Bees hum."}], [{"_id": 1, "text": "who"}]
QRELS = b"query-id\tcorpus-id\tscore\n1\td\t1\n"

TABLE = b'id,question,answer,passage\n1,who,Bees,"Bees ""hum""."\n2,why,"[\'x\', \'y\']","[\'x\', \'y\']; z."\n'
DEEP = "[" * 100_000
RAW = [
    b"", b"\n", b"\0", b"\xff\xfe", b"\x1f\x8b", b"\x1f\x8b garbage", b"\xef\xbb\xbf", b"{", b"[]", b"{}", b"null", b'""', b"0",
    b"[[]]", b"[0]", b"[null]", b"NaN", b"1" * 5000, DEEP.encode(), b'{"a":' * 100_000, b'"\\ud800"', b'{"question": "\\udfff"}',
    b'"\xed\xa0\x80"', "é".encode("utf-16"), gzip.compress(b"{}", mtime=0)[:-3], gzip.compress(b'{"a": 1}\n' * 99, mtime=0)[:40],
]  # fmt: skip
VALUES = [None, True, 0, -1, 10**20, 0.5, "", "x", "\ud800", [], {}, [None], [[]], [{}], [0, 0, 0], ["x"], {"x": None}]


def _damaged_values(value: Any) -> Iterator[Any]:
    """The value with each of its parts replaced by what does not belong there, or left out."""
    yield from VALUES
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            smaller = copy.copy(value)
            del smaller[key]
            yield smaller
            for part in _damaged_values(value[key]):
                changed = copy.copy(value)
                changed[key] = part
                yield changed


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lines(rows: list[Any]) -> bytes:
    return b"".join(_json(row) + b"\n" for row in rows)


def _damaged_lines(rows: list[Any]) -> Iterator[bytes]:
    return (_lines(changed) for changed in _damaged_values(rows) if isinstance(changed, list))


def _damaged_bytes(data: bytes) -> Iterator[bytes]:
    """Raw oddities, cuts and flipped bytes, and the same of the gzipped file."""
    draw = random.Random(0)
    yield from RAW
    for whole in (data, gzip.compress(data, mtime=0)):
        yield from (whole[:cut] for cut in range(0, len(whole), 7))
        for _ in range(150):
            flipped = bytearray(whole)
            for _ in range(draw.choice((1, 1, 3))):
                flipped[draw.randrange(len(flipped))] = draw.randrange(256)
            yield bytes(flipped)
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "1" * 5000, "-0", "1e-999"):
        for cut in [at for at in range(len(data)) if data[at : at + 1].isdigit()]:
            yield data[:cut] + number.encode() + data[cut + 1 :]


def _compare(folder: Path) -> None:
    compare_runs(load_run(folder), load_run(folder.parent / "whole"))
    compare_runs(load_run(folder.parent / "whole"), load_run(folder))


LOADERS: dict[str, tuple[str, bytes, Iterator[bytes], list[Callable[[Path], Any]]]] = {
    "squad": ("f.json", _json(SQUAD), map(_json, _damaged_values(SQUAD)),
              [load_squad, load_question_file, load_task, lambda path: evaluate_answers(path.parent / "p.json", path)]),
    "mrqa": ("f.jsonl", _lines(MRQA), _damaged_lines(MRQA), [load_mrqa, load_question_file, load_task]),
    "pairs": ("f.jsonl", _lines(PAIRS), _damaged_lines(PAIRS), [lambda path: list(load_pairs(path)), data_kind]),
    "question list": ("f.jsonl", _lines(QUESTIONS), _damaged_lines(QUESTIONS), [load_question_file]),
    "table": ("f.csv", TABLE, iter(()), [load_question_file, lambda path: list(load_pairs(path)), data_kind]),
    "questions": ("f.txt", b"who\n\nwhy\n", iter(()), [read_lines]),
    "answers": ("f.json", _json({"1": "Bees"}), map(_json, _damaged_values({"1": "Bees"})),
                [lambda path: evaluate_answers(path, path.parent / "squad.json")]),
    "boundaries": ("f.jsonl", _lines(BOUNDARIES), _damaged_lines(BOUNDARIES),
                   [lambda path: build_reqa(load_squad(path.parent / "squad.json"), load_boundaries(path))]),
    "mined predictions": ("f.jsonl", _lines(PREDICTED), _damaged_lines(PREDICTED),
                          [lambda path: list(load_predictions(path))]),
    "corpus": ("b/corpus.jsonl", _lines(CORPUS), _damaged_lines(CORPUS), [lambda path: load_beir(path.parent, "train")]),
    "queries": ("b/queries.jsonl", _lines(QUERIES), _damaged_lines(QUERIES), [lambda path: load_task(path.parent)]),
    "judgements": ("b/qrels/train.tsv", QRELS, iter(()), [lambda path: load_beir(path.parent.parent, "train")]),
    "metrics": ("run/metrics.json", _json(METRICS), map(_json, _damaged_values(METRICS)), [lambda path: _compare(path.parent)]),
    "per_question": ("run/per_question.jsonl", _lines(RUN), _damaged_lines(RUN), [lambda path: _compare(path.parent)]),
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a whole file of each kind that is read beside a damaged one."""
    monkeypatch.setattr("oreqa.evaluation.metrics.RESAMPLES", 5)
    for name, data in {
        "squad.json": _json(SQUAD), "p.json": _json({"1": "Bees"}),
        "b/corpus.jsonl": _lines(CORPUS), "b/queries.jsonl": _lines(QUERIES), "b/qrels/train.tsv": QRELS,
        "run/metrics.json": _json(METRICS), "run/per_question.jsonl": _lines(RUN),
        "whole/metrics.json": _json(METRICS), "whole/per_question.jsonl": _lines(RUN),
    }.items():  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOADERS)
def test_only_input_errors_escape(kind: str, files: Path) -> None:
    name, whole, damaged, loaders = LOADERS[kind]
    path = files / name
    path.write_bytes(whole)
    for load in loaders:
        load(path)
    refusals = []
    for data in (*damaged, *_damaged_bytes(whole)):
        path.write_bytes(data)
        for load in loaders:
            try:
                load(path)
            except InputError as error:
                refusals.append(str(error))
            except Exception as error:
                pytest.fail(f"{error!r} of {data[:300]!r}")
    assert len(refusals) > 20
    assert not any("\n" in message or len(message) > 600 for message in refusals)
    path.unlink()
    for make in (path.mkdir, path.rmdir):  # a folder in its place, and nothing
        make()
        for load in loaders:
            if not (path.is_dir() and load in (load_task, data_kind)):
                with pytest.raises(InputError):
                    load(path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\n" + DEEP.encode(), "line 2: it is nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "line 1: a number has more than 4,300 digits; shorten it"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": "x\\uD83Dx"}', "line 1: a string holds half of a surrogate pair"),
        (gzip.compress(b'{"a": 1}\n' * 99, mtime=0)[:30], "it cannot be read"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff", "it cannot be read"),
    ],
)
def test_mistakes_are_named(data: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes(data)
    with pytest.raises(InputError, match=reason):
        list(read_jsonl(tmp_path / "f.jsonl"))


def test_characters_of_two_escapes_are_whole(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(r'"\ud83d\ude00 \\ud800"')
    assert read_json(tmp_path / "f.json") == "😀 \\ud800"


def test_json_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    rest = random.Random(0).randbytes(2_000_000).replace(b"\n", b"")
    data = gzip.compress(b'{"question": 1, "answer": 2}\n' + rest, mtime=0)
    (tmp_path / "f.jsonl").write_bytes(data[: len(data) // 2])
    assert data_kind(tmp_path / "f.jsonl") == "pairs"
    rows = read_jsonl(tmp_path / "f.jsonl")
    assert next(rows) == (1, {"question": 1, "answer": 2})
    with pytest.raises(InputError, match="cannot be read"):
        next(rows)


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        write_json(tmp_path, {})
    with pytest.raises(InputError, match="it is a folder"):
        write_json(Path(), {})


def test_names_that_are_no_text_can_be_written(tmp_path: Path) -> None:
    write_json(tmp_path / "f.json", {"data": "d\udcff.json"})
    append_jsonl(tmp_path / "f.jsonl", [{"data": "d\udcff.json"}])
    assert read_json(tmp_path / "f.json") == {"data": "d?.json"} == next(read_jsonl(tmp_path / "f.jsonl"))[1]
