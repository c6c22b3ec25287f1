"""Yes or no questions: what the reader's span loses of its sentence.

Run:  OREQA_PRECISION=f32 python benchmarks/quality/yes_or_no.py --data ../shared/data/blocks/conditionalqa-dev.jsonl.gz

The questions of ConditionalQA whose answer is yes or no, asked of the evidence of all its questions, one document per
page. Measured on the first answer, whatever its probability: how often its sentence is in the question's evidence, and how
often its span leaves out a word that negates or limits the statement.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import defaultdict
from html import unescape
from pathlib import Path

from oreqa import Answerer, Document, index_documents
from oreqa.answering import reading
from oreqa.files import read_jsonl
from oreqa.provenance import commit, data_hash
from oreqa.text.asking import asks_yes_or_no

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS

_LIMITS = re.compile(r"\b(?:not|no|never|only|unless|except|without|cannot)\b|n['’]t\b", re.IGNORECASE)


def plain(element: str) -> str:
    """Return the text of a page element."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", element)).split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    file = parser.parse_args().data
    rows = [row for _, row in read_jsonl(file)]
    pages: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        pages[row["url"]] |= dict.fromkeys(map(plain, row["evidence"]))
    selected = [row for row in rows if row["answers"] and row["answers"][0] in ("yes", "no")]
    with tempfile.TemporaryDirectory() as folder:
        index_documents(f"{folder}/kb", [Document(url, "", "\n\n".join(texts)) for url, texts in pages.items()])
        reading.as_sentences = list  # type: ignore[assignment, attr-defined]  # the answers as the reader gives them
        with Answerer.load(f"{folder}/kb") as answerer:
            replies = answerer.ask([row["question"] for row in selected], threshold=0)
    first = [(row, answers[0]) for row, answers in zip(selected, replies, strict=True) if answers]
    limits = [(len(_LIMITS.findall(a.sentence.text)), len(_LIMITS.findall(a.text))) for _, a in first]
    proved = sum(any(a.sentence.text in plain(element) for element in row["evidence"]) for row, a in first)
    result = {
        "questions": len(selected),
        "recognized": sum(asks_yes_or_no(row["question"]) for row in selected),
        "answers": len(first),
        "sentence_in_evidence": proved,
        "span_is_less_than_its_sentence": sum(a.text != a.sentence.text for _, a in first),
        "sentence_denies_or_limits": sum(bool(whole) for whole, _ in limits),
        "span_leaves_that_out": sum(whole > part for whole, part in limits),
    }
    report("blocks/yes-or-no", {"commit": commit(OURS), "data_sha256": data_hash([file]), **result})


if __name__ == "__main__":
    main()
