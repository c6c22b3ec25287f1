"""Fetch the manuals that the questions of recipes/base/questions ask about, and find the passage of each question.

Run:  python recipes/base/find_passages.py --work runs/questions [--only tor rsync]
      (on Debian or Ubuntu: it needs apt-get and dpkg)

The packages are listed in questions/packages.json. The passages are cut as for an index of the default encoder. A
question's passage is the first one of its document that contains its evidence, or the words that it was written beside, and
the parts of its block in their order; white space is ignored. `WORK/sets/PACKAGE` then contains `passages.jsonl`, all
passages of the package, and `rows.jsonl`, the questions whose passage was found, with its number as `passage`. The other
questions are printed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from oreqa.corpus.process import end_parser
from oreqa.corpus.readers import read_documents
from oreqa.corpus.splitter import CountTokens, split_passages
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.errors import DocumentError
from oreqa.files import read_json, read_jsonl, write_jsonl
from oreqa.models.encoder.encoder import Encoder

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from support.debian import fetch

QUESTIONS = Path(__file__).parent / "questions"
PASSAGE_TOKENS = 254
"""Without [CLS] and [SEP]."""

Row = dict[str, Any]


def plain(text: str) -> str:
    """Return the text with single spaces."""
    return " ".join(text.split())


def contains(text: str, row: Row) -> bool:
    """Return whether a passage, with single spaces, contains a question's evidence and the parts of its block in order."""
    if not all(row[name] in text for name in ("evidence", "beside") if name in row):
        return False
    place = 0
    for part in row.get("block", ()):
        start = text.find(part, place)
        if start < 0:
            return False
        place = start + len(part)
    return True


def find_rows(rows: Sequence[Row], passages: Sequence[Row]) -> tuple[list[Row], list[Row], int]:
    """Return the questions with the numbers of their passages, those without one, and how many fit several passages."""
    texts = [plain(passage["text"]) for passage in passages]
    numbers: dict[str, list[int]] = {}
    for number, passage in enumerate(passages):
        numbers.setdefault(passage["document"], []).append(number)
    placed, missing, several = [], [], 0
    for row in rows:
        places = [number for number in numbers.get(row["document"], ()) if contains(texts[number], row)]
        several += len(places) > 1
        if places:
            placed.append({**row, "passage": places[0]})
        else:
            missing.append(row)
    return placed, missing, several


def read_passages(folder: Path, documents: Sequence[str], count_tokens: CountTokens) -> Iterator[Row]:
    """Yield the passages of an unpacked package's documents; print each document that is missing or cannot be read."""
    for name in documents:
        file = folder / name
        if not file.is_file():
            print(f"{folder.name}: it holds no {name}: another version of it than the questions were written from?")
            continue
        try:
            for document in read_documents(file):
                for passage in split_passages(document, count_tokens, PASSAGE_TOKENS):
                    yield {"document": name, "title": passage.title, "heading": passage.heading, "text": passage.text}
        except DocumentError as error:
            print(f"{folder.name}: {name}: {error}")


def fetched_version(package: str, work: Path) -> str:
    """Return the version of the package that ``fetch`` fetched."""
    file = next((work / "downloads" / package).glob("*.deb"))
    return subprocess.run(
        ["dpkg-deb", "-f", str(file), "Version"], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    packages: dict[str, Any] = read_json(QUESTIONS / "packages.json")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="packages and passages are kept here")
    parser.add_argument("--only", nargs="+", choices=list(packages), metavar="PACKAGE", help="some of the packages")
    options = parser.parse_args()
    encoder = Encoder(DEFAULT_ENCODER)
    for package in options.only or packages:
        folder = fetch(package, options.work)
        fetched, written = fetched_version(package, options.work), packages[package]["version"]
        if fetched != written:
            print(f"{package}: version {fetched}, questions of {written}")
        passages = list(read_passages(folder, packages[package]["documents"], encoder.count_tokens))
        rows = [row for _, row in read_jsonl(QUESTIONS / f"{package}.jsonl")]
        placed, missing, several = find_rows(rows, passages)
        write_jsonl(options.work / "sets" / package / "passages.jsonl", passages)
        write_jsonl(options.work / "sets" / package / "rows.jsonl", placed)
        print(f"{package}: {len(passages):,} passages, {len(placed)} of {len(rows)} questions, {several} of them in several")
        for row in missing:
            print(f"  no passage: {row['id']} {row['question']}")
    end_parser()


if __name__ == "__main__":
    main()
