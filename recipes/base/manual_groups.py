"""Make the groups that recipes/base/manual_readers.py trains on: a question, its passage and similar passages.

Run:  python recipes/base/find_passages.py --work runs/questions
      python recipes/base/manual_groups.py --work runs/questions --data ../shared/data --out runs/questions/groups.npz

Each question of recipes/base/questions is used four times, with up to six passages of its package; held-out packages
are left out. Questions of extractive data about training articles are used once, with up to four passages of their file;
those of ConditionalQA with the other known elements of their page. For some questions the sentences that answer are cut
out. The similar passages are found by BM25, and on manuals by vectors too.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from group_file import Example, Shown, label_all, save_groups

from oreqa.core import Range
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import placed_answers, readable_title, split_articles
from oreqa.defaults import BASE_ENCODER, DEFAULT_READER
from oreqa.errors import InputError
from oreqa.files import need_writable, read_json, read_jsonl
from oreqa.mining.negatives import bm25_passages
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph.windows import Text
from oreqa.models.names import find_model, find_tokenizer
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.text.answers import occurrences
from oreqa.text.sentences import split_sentences
from oreqa.training.reader.recipe import DataPart

QUESTIONS = Path(__file__).parent / "questions"
REPEATS, WRITTEN_PASSAGES, PASSAGES = 4, 6, 4
WRITTEN_CUT, CUT = 0.1, 0.08
"""Shares of the questions whose answer is cut out."""
DEPTH, NEAREST, OTHERS = 30, 12, 9
"""For written questions: depth of BM25 and vectors, and how many passages of both are kept; for others, BM25's depth."""
HARDEST = 0.3
"""Share of the questions that get the three most similar passages; the others get any similar ones."""
MENTION = 5
"""The shortest answer, in characters, whose mentions in another passage count as right; ``MOST_MENTIONS`` of them do."""
MOST_MENTIONS = 6
MAX_TOKENS, OVERLAP = 256, 64
PAGE_CHARACTERS = 1400


def _part(name: str, questions: int, titles: bool = True, asked: Literal["all", "unanswerable"] = "all") -> DataPart:
    return DataPart(file=Path(f"extractive/{name}.json.gz"), questions=questions, titles=titles, asked=asked)


SETS = (
    _part("qed-nq-train", 4000),
    _part("squad-train-pieces", 3500),
    _part("squad-train-more", 2000),
    _part("squad2-train-part", 2500, asked="unanswerable"),
    _part("afriqa-en", 2500),
    _part("fairytaleqa", 700, titles=False),
    _part("timeqa-human", 600, titles=False),
    _part("covidqa-passages", 800, titles=False),
    _part("tatqa-text-spans", 500, titles=False),
    _part("nq-short-sample", 500),
    _part("multihop-hotpot-2wiki", 500, titles=False),
)


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A question about a passage: the characters of its answers, and the parts of all that answers."""

    question: str
    place: int
    """The passage's number."""
    spans: list[Range]
    blocks: list[Range]


def find_piece(text: str, piece: str, start: int = 0) -> Range | None:
    """Return where a piece first occurs in a text from ``start`` on, ignoring white space."""
    match = re.compile(r"\s+".join(map(re.escape, piece.split()))).search(text, start)
    return match and match.span()


def read_question(row: dict[str, Any], text: str) -> WrittenQuestion:
    """Locate the answers and the block of a find_passages.py row in the ``text`` of its passage."""
    begin, end = find_piece(text, row["evidence"]) or (0, 0) if row.get("evidence") else (0, 0)
    spans = [span for answer in row.get("answers", ()) if (span := find_piece(text, answer, begin)) and span[1] <= end]
    blocks: list[Range] = []
    for piece in row.get("block", ()):
        if part := find_piece(text, piece, blocks[-1][1] if blocks else 0):
            blocks.append(part)
    return WrittenQuestion(row["question"], row["passage"], sorted(set(spans)), blocks)


def sentences_of(text: str, spans: Iterable[Range]) -> list[Range]:
    """Return the sentences that overlap one of the ``spans``; a span outside all sentences is returned itself."""
    sentences = split_sentences(text)
    touched = [[(a, b) for a, b in sentences if a < end and start < b] or [(start, end)] for start, end in spans]
    return sorted({sentence for group in touched for sentence in group})


def without(text: str, cut: Sequence[Range]) -> str:
    """Return a text without the ranges ``cut``, which are in order."""
    ends = [0, *(end for _, end in cut)]
    return "".join(text[a:b] for a, b in zip(ends, [*(start for start, _ in cut), len(text)], strict=True)).strip()


def mentions(text: str, answers: Iterable[str]) -> list[Range]:
    """Return where a text mentions one of the ``answers`` of ``MENTION`` or more characters, in the same case.

    ``-d`` is not ``-D``.
    """
    return sorted(
        {
            (start, end)
            for answer in answers
            if len(answer) >= MENTION
            for start, end in occurrences(text, answer)
            if text[start:end].split() == answer.split()
        }
    )


def show(
    question: WrittenQuestion, nearest: Iterable[int], passages: Sequence[Text], count: int, cut: float, rng: random.Random
) -> list[Shown]:
    """Return a question's passage with some of the ``nearest``; with probability ``cut``, none answers.

    They are the first three, with probability ``HARDEST``, else ``count - 1`` drawn ones.
    """
    title, text = passages[question.place]
    answers = {text[start:end] for start, end in question.spans}
    others = [passages[number] for number in nearest if passages[number][1] != text]
    others = others[:3] if rng.random() < HARDEST else rng.sample(others, min(len(others), count - 1))
    if question.spans and rng.random() < cut:
        rest = title, without(text, sentences_of(text, question.spans))
        return [Shown(shown) for shown in (rest, *others) if shown[1] and not mentions(shown[1], answers)]
    blocks = question.blocks or sentences_of(text, question.spans[:1])
    rows = [Shown((title, text), question.spans, blocks, bool(blocks))]
    for other in others:
        spans = mentions(other[1], answers)[:MOST_MENTIONS]
        rows.append(Shown(other, spans, sentences_of(other[1], spans[:1]), bool(spans)))
    return rows


def nearest_of_both(lexical: Iterable[int], dense: Iterable[int]) -> list[int]:
    """Merge two ranked lists by the sum of reciprocal ranks (Cormack et al. 2009), and return the best."""
    scores: dict[int, float] = defaultdict(float)
    for ranked in (lexical, dense):
        for rank, number in enumerate(ranked):
            scores[int(number)] += 1 / (5 + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:NEAREST]


def written_examples(folder: Path, encoder: Encoder, rng: random.Random) -> Iterator[Example]:
    """Yield the questions about a package's manual, from its folder made by find_passages.py."""
    content = [row for _, row in read_jsonl(folder / "passages.jsonl")]
    passages = [(passage_head(row["title"], row["heading"]), row["text"]) for row in content]
    rows = [row for _, row in read_jsonl(folder / "rows.jsonl")]
    if not rows:
        return
    heads = [f"{head} {text}" for head, text in passages]
    questions = [read_question(row, passages[row["passage"]][1]) for row in rows]
    lexical = bm25_passages([question.question for question in questions], heads, DEPTH)
    scores = encoder.encode([question.question for question in questions]) @ encoder.encode(heads).T
    for row, question, ranked, similar in zip(rows, questions, lexical, scores, strict=True):
        if question.spans or question.blocks or row["kind"] in ("absent", "premise"):
            nearest = nearest_of_both(map(int, ranked), np.argsort(-similar)[:DEPTH].tolist())
            for _ in range(REPEATS):
                yield question.question, show(question, nearest, passages, WRITTEN_PASSAGES, WRITTEN_CUT, rng)


def extractive_examples(part: DataPart, rng: random.Random) -> Iterator[Example]:
    """Yield the questions about a SQuAD file's training articles."""
    paragraphs, _ = split_articles(load_paragraphs(part.file))
    passages = [(readable_title(paragraph.title) if part.titles else "", paragraph.text) for paragraph in paragraphs]
    questions = []
    for place, paragraph in enumerate(paragraphs):
        for row in paragraph.questions:
            spans = sorted(set(placed_answers(paragraph.text, row)))
            if bool(row.answers) == bool(spans) and not (spans and part.asked == "unanswerable"):
                questions.append(WrittenQuestion(row.text, place, spans, []))
    questions = rng.sample(questions, min(len(questions), part.questions or len(questions)))
    texts = [f"{title} {text}" for title, text in passages]
    for question, ranked in zip(
        questions, bm25_passages([question.question for question in questions], texts, OTHERS), strict=True
    ):
        yield question.question, show(question, map(int, ranked), passages, PASSAGES, CUT, rng)


def conditional_examples(file: Path, rng: random.Random) -> Iterator[Example]:
    """Yield the questions of ConditionalQA with the known elements of a page in order; some elements form a block."""
    rows = [(row, [re.sub(r"<[^>]+>", "", text).strip() for text in row["evidence"]]) for _, row in read_jsonl(file)]
    pages: dict[str, dict[str, None]] = defaultdict(dict)
    for row, evidence in rows:
        pages[row["url"]] |= dict.fromkeys(filter(None, evidence))
    for row, evidence in rows:
        elements = pages[row["url"]]
        others = [text for text in elements if text not in evidence]
        rng.shuffle(others)
        beside = {*evidence, *others[: rng.randint(0, 6)]}
        text = "\n".join(element for element in elements if element in beside)[:PAGE_CHARACTERS]
        blocks = [(text.find(part), text.find(part) + len(part)) for part in evidence if part and part in text]
        if not row.get("answerable", True) or not blocks:
            continue
        title = row["url"].rstrip("/").rpartition("/")[2].replace("-", " ")
        shown = [Shown((title, text), (), blocks, True)]
        if len(others) > 9:
            shown.append(Shown((title, "\n".join(others[6:])[:PAGE_CHARACTERS])))
        question: str = row["question"]
        yield question if rng.random() < 0.6 else f"{row['scenario']} {question}", shown


def read_examples(work: Path, data: Path, seed: int) -> Iterator[Example]:
    """Yield all questions with their passages, and print how many each source has. Raises InputError if there are none."""
    if not (work / "sets").is_dir():
        raise InputError(f"{work}: it holds no passages; run recipes/base/find_passages.py --work {work} first")
    encoder = Encoder(BASE_ENCODER)
    packages: dict[str, Any] = read_json(QUESTIONS / "packages.json")
    sources: list[tuple[str, Callable[[random.Random], Iterator[Example]]]] = []
    for name in (name for name, package in packages.items() if not package.get("held_out")):
        if (work / "sets" / name).is_dir():
            sources.append((name, partial(written_examples, work / "sets" / name, encoder)))
        else:
            print(f"{name}: it has no passages; find_passages.py --only {name} finds them")
    for part in SETS:
        placed = part.model_copy(update={"file": data / part.file})
        sources.append((part.file.name, partial(extractive_examples, placed)))
    sources.append(("conditionalqa", partial(conditional_examples, data / "blocks" / "conditionalqa-train.jsonl.gz")))
    for name, read in sources:
        examples = [example for example in read(random.Random(f"{seed} {name}")) if example[1]]
        print(f"{name}: {len(examples):,} groups", flush=True)
        yield from examples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where find_passages.py kept passages")
    parser.add_argument("--data", type=Path, required=True, help="the folder of extractive/ and blocks/")
    parser.add_argument("--out", type=Path, required=True, help="the file to write (.npz)")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    need_writable(options.out, "--out")
    inputs = ReaderInputs(find_tokenizer(find_model(DEFAULT_READER)), MAX_TOKENS, OVERLAP)
    examples = list(read_examples(options.work, options.data, options.seed))
    print(f"{options.out}: {save_groups(options.out, label_all(examples, inputs)):,} groups")


if __name__ == "__main__":
    main()
