"""What each text rule is worth: answers with it and without it, with all other rules on.

Run:  python benchmarks/quality/text_rules.py --data ../shared/data --work runs/own --name after

Questions are asked as by `oreqa ask`: the tuning halves of people's questions and of those about lists
(own_documents.py); questions/by_rule.jsonl, about cells of tables; questions made from Podman's manual pages, 200 whose
answer is an option and 60 about options that do not exist; 400 questions of SQuAD dev over all its paragraphs.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from oreqa import Answerer, Index, index_documents, index_files
from oreqa.corpus.formats.html.page import read_html
from oreqa.datasets.paragraphs import whole_passages
from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.index.passages import index_passages
from oreqa.models.graph.openvino import OpenVinoSession

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad
from support.asking import judged
from support.debian import fetch
from support.own_collections import COLLECTIONS, LISTS, lay_out

QUESTIONS = Path(__file__).parent / "questions"

OFF: dict[str, tuple[str, Any]] = {
    "words with signs": ("oreqa.models.reader.reader.long_words", lambda text: []),
    "pairs closed": ("oreqa.text.whole_words._balanced", lambda text, start, end: (start, end)),
    "one paragraph or line": ("oreqa.models.reader.reader.unit_ends", lambda text: []),
    "a whole cell": ("oreqa.answering.reading.whole_cell", lambda span, text: span),
    "the cell asked for": ("oreqa.answering.reading.with_asked_cells", lambda question, answers, *_, **__: list(answers)),
    "fields of lines": ("oreqa.models.reader.reader.field_ends", lambda text: []),
    "labels": ("oreqa.answering.reading.ruled_out", lambda named, lines: [False] * len(lines)),
    "the question's words": ("oreqa.answering.reading.repeats_question", lambda question, answer: False),
    "identifiers": ("oreqa.answering.answerer.identifiers", lambda question: []),
}
"""What replaces a function to switch off a rule that cuts or chooses answers."""

NO_NAMES: tuple[str, Any] = ("oreqa.corpus.builder.is_name", lambda heading: False)
"""The same for the indexing rule that makes text of headings which are names."""


def remembered(run: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Wrap a session's ``run`` so that no batch is computed twice: without a rule, the models read mostly the same."""
    outputs: dict[Any, list[Any]] = {}

    def again(session: OpenVinoSession, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            key = (id(session), batch.arrays[0].shape, *(array.tobytes() for array in batch.arrays))
            if key not in outputs:
                outputs[key] = [array.copy() for _, arrays in run(session, iter([batch])) for array in arrays]
            yield batch, outputs[key]

    return again


def answers(place: Path, questions: Sequence[OpenQuestion], off: Mapping[str, tuple[str, Any]]) -> dict[str, list[str]]:
    """Return the first answer to each question, "" if refused: with all rules, and without each."""
    given: dict[str, list[str]] = {}
    with Answerer.load(place) as answerer, patch.object(OpenVinoSession, "run", remembered(OpenVinoSession.run)):
        for rule in ("all rules", *off):
            with ExitStack() as stack:
                if rule in off:
                    stack.enter_context(patch(*off[rule]))
                replies = answerer.reply([question.text for question in questions], k=1)
            given[rule] = [reply.answers[0].text if reply.answers else "" for reply in replies]
    return given


def compared(questions: Sequence[OpenQuestion], given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the answers right, wrong and refused by rule that is off, and the changed answers, each with its verdict."""
    rows: dict[str, Any] = {}
    before = [(answer, judged(question, answer)) for question, answer in zip(questions, given["all rules"], strict=True)]
    for rule, texts in given.items():
        after = [(answer, judged(question, answer)) for question, answer in zip(questions, texts, strict=True)]
        counts = {name: [verdict for _, verdict in after].count(name) for name in ("right", "wrong", "refused")}
        changed = {q.id: [a, b] for q, a, b in zip(questions, before, after, strict=True) if a != b}
        rows[rule] = {**counts, "changed": changed}
        print(f"  {rule:24}", *(f"{count:4} {name}" for name, count in counts.items()), f"{len(changed):4} changed")
    return rows


def index_manual(work: Path, place: Path) -> None:
    """Index the manual pages of Podman, as web pages made by mandoc."""
    mandoc, manual = fetch("mandoc", work) / "usr/bin/mandoc", fetch("podman", work) / "usr/share/man/man1"
    documents = []
    for page in sorted(manual.glob("podman*.1.gz")):
        source = gzip.decompress(page.read_bytes())
        html = subprocess.run([mandoc, "-T", "html"], input=source, capture_output=True, check=True).stdout
        documents.append(read_html(html, Path(page.name.replace(".1.gz", ".html"))))
    index_documents(place, documents)


def option_questions(place: Path) -> list[OpenQuestion]:
    """Return questions about options, the manual's headings: 200 ask for one by what it does, 60 for one that is absent."""
    rng = random.Random(0)
    described: dict[str, set[str]] = {}
    with Index.open(place) as index:
        for passage in index.passages():
            heading = passage.heading.rpartition(" > ")[2]
            name = re.match(r"--[\w-]+", heading)
            if not name or not passage.text.startswith(heading):
                continue
            first = next((sentence.text for sentence in passage.sentences if sentence.text != heading), "")
            sentence = first.removeprefix(heading).strip().rstrip(".:")
            if len(sentence.split()) > 3 and "--" not in sentence:
                described.setdefault(sentence, set()).update((name[0], heading))
    names = sorted({name for answers in described.values() for name in answers if re.fullmatch(r"--[\w-]+", name)})
    absent = sorted({f"{a}-{b[2:]}" for a, b in zip(names, rng.sample(names, len(names)), strict=True)} - set(names))
    rows = [(f"Which option does this: {sentence}?", tuple(sorted(a))) for sentence, a in sorted(described.items())]
    rows = rng.sample(rows, 200) + [(f"What does the option {name} do?", ()) for name in rng.sample(absent, 60)]
    return [OpenQuestion(f"podman-{n}", text, a, collection="podman", kind="option") for n, (text, a) in enumerate(rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--name", required=True, help="of results/documents/rules-NAME.json")
    options = parser.parse_args()
    places = options.work / "indexes" / "text-rules"
    tuning, by_rule = (load_question_list(QUESTIONS / f"{name}.jsonl") for name in ("tuning", "by_rule"))
    given: dict[str, dict[str, list[str]]] = {}
    question_sets = {name: [question for question in tuning if question.collection == name] for name in COLLECTIONS}
    lists = load_question_list(QUESTIONS / "lists-tuning.jsonl")
    question_sets |= {name: [question for question in lists if question.collection == name] for name in LISTS}
    question_sets["by rule: tables"] = list(by_rule)
    for name in (*COLLECTIONS, *LISTS):
        index_files(places / name, [lay_out(name, options.work)])
    index_manual(options.work, places / "podman")
    question_sets["by rule: podman"] = option_questions(places / "podman")
    with patch(*NO_NAMES):
        index_manual(options.work, places / "podman without names")
    index_passages(places / "squad", whole_passages(squad(options.data)))
    squad_questions = [
        OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers))
        for paragraph in squad(options.data)
        for question in paragraph.questions
    ]
    question_sets["squad"] = random.Random(0).sample(squad_questions, 400)
    for name, questions in question_sets.items():
        given[name] = answers(places / name.removeprefix("by rule: "), questions, OFF)
    podman = "by rule: podman"
    given[podman]["names in headings"] = answers(places / "podman without names", question_sets[podman], {})["all rules"]
    result = {}
    for name, questions in question_sets.items():
        print(name)
        result[name] = compared(questions, given[name])
    report(f"documents/rules-{options.name}", result)


if __name__ == "__main__":
    main()
