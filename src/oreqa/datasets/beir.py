"""BEIR folders: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, each plain or gzipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import byte_lines, need, need_id, optional, read_jsonl, write_jsonl, write_text
from oreqa.paths import is_index, need_questions_file


@dataclass(frozen=True, slots=True)
class Entry:
    """A document of a BEIR corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Beir:
    """A retrieval task: documents, questions by id, and the relevance grade of each judged document by question id."""

    corpus: tuple[Entry, ...]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]


def load_beir(folder: Path, split: str) -> Beir:
    """Read a BEIR folder; only questions with judgements in ``split`` are kept.

    Raises InputError for a missing file or split, a malformed row, or a judgement on an unknown document or question.
    """
    need_questions_file(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/")
    corpus, queries_file = load_corpus(folder), _file(folder, "queries.jsonl")
    texts = {need_id(row, "_id", where): need(row, "text", str, where) for where, row in _rows(queries_file)}
    qrels_file = _file(folder / "qrels", f"{split}.tsv")
    documents = {entry.id for entry in corpus}
    qrels: dict[str, dict[str, int]] = {}
    for number, query, document, grade in _judgements(qrels_file):
        if query not in texts or document not in documents:
            missing = f"question {query[:99]!r}" if query not in texts else f"document {document[:99]!r}"
            raise InputError(f"{qrels_file}, line {number}: there is no {missing}")
        qrels.setdefault(query, {})[document] = grade
    return Beir(corpus, {query: texts[query] for query in qrels}, qrels)


def load_corpus(folder: Path) -> tuple[Entry, ...]:
    """Read the documents of a BEIR folder. Raises InputError for an index, a missing file or a malformed row."""
    if is_index(folder):
        raise InputError(f"{folder}: it is an index, not a BEIR folder; name it as index, not as data")
    return tuple(
        Entry(need_id(row, "_id", where), optional(row, "title", str, "", where), need(row, "text", str, where))
        for where, row in _rows(_file(folder, "corpus.jsonl"))
    )


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((f"{path}, line {number}", row) for number, row in read_jsonl(path))


def _file(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    names = sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []
    raise InputError(f"{folder / name}: no such file, nor {name}.gz; the folder holds: {', '.join(names) or 'nothing'}")


def _judgements(path: Path) -> Iterator[tuple[int, str, str, int]]:
    for number, line in enumerate(byte_lines(path), 1):
        try:
            cells = line.decode().rstrip("\r\n").split("\t")
            if not line.strip() or (number == 1 and cells[0] == "query-id"):
                continue
            query, document, grade = cells
            yield number, query, document, int(grade)
        except ValueError:
            raise InputError(f"{path}, line {number}: expected 'query-id TAB corpus-id TAB score'") from None


def save_beir(folder: Path, task: Beir, split: str) -> None:
    """Write a BEIR folder."""
    write_jsonl(folder / "corpus.jsonl", ({"_id": e.id, "title": e.title, "text": e.text} for e in task.corpus))
    write_jsonl(folder / "queries.jsonl", ({"_id": key, "text": text} for key, text in task.queries.items()))
    rows = [f"{q}\t{d}\t{grade}" for q, documents in task.qrels.items() for d, grade in documents.items()]
    write_text(folder / "qrels" / f"{split}.tsv", "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
