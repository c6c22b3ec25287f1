"""Check our questions about people's own documents against their documents, as extractors that oreqa does not use read them.

Run:  python benchmarks/quality/check_questions.py --work runs/own [--lists] [--deal]

The evidence of a question must stand in one of its documents word for word, with blanks and quotation marks made alike,
and one of its answers must stand near it. Of an unanswerable question the words in `absent` must not occur in the
collection. Both halves must be what the seed deals: `--deal` deals the questions of both again.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from oreqa.files import read_jsonl, write_jsonl

sys.path.append(str(Path(__file__).parents[1]))
from support.own_collections import COLLECTIONS, LISTS, lay_out

QUESTIONS = Path(__file__).parent / "questions"
HALVES = ("tuning", "reporting")
SEED = 20
_QUOTES = str.maketrans("‘’“”", "''\"\"")


def plain(text: str) -> str:
    """The text with blanks, quotation marks and cases made alike."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).split()).casefold()


@cache
def extract(file: Path) -> str:
    """A document's text, by w3m, pdftotext, or as it stands."""
    commands = {
        ".html": ["w3m", "-dump", "-cols", "10000", "-I", "UTF-8", "-O", "UTF-8", "-T", "text/html", str(file)],
        ".pdf": ["pdftotext", str(file), "-"],
    }
    if command := commands.get(file.suffix):
        return plain(subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace"))
    return plain(file.read_text(encoding="utf-8"))


def problems(row: dict[str, Any], folder: Path) -> list[str]:
    """What is wrong with a question of a collection that lies in ``folder``."""
    texts = {str(file): extract(file) for file in sorted(folder.iterdir())}
    if row["kind"] == "unanswerable":
        held = [word for word in row["absent"] for text in texts.values() if holds(text, word)]
        return [f"the collection holds {word!r}" for word in held]
    accepted = {name: text for name, text in texts.items() if matches(name, row["document"])}
    proofs = [text for text in accepted.values() if holds(text, row["evidence"])]
    found = [] if proofs else [f"no document {row['document']} holds {row['evidence']!r}"]
    if not any(holds(text, answer) for text in proofs for answer in row["answers"]):
        found.append(f"none of {row['answers']} stands in the document of the evidence")
    elif not any(holds(near(text, row["evidence"]), answer) for text in proofs for answer in row["answers"]):
        found.append(f"none of {row['answers']} stands near the evidence")
    if len(row["evidence"].split()) > 15:
        found.append("the evidence is long")
    return found


def holds(text: str, words: str) -> bool:
    """Whether words stand in a text, and not as parts of longer ones."""
    return re.search(rf"(?<!\w){re.escape(plain(words))}(?!\w)", text) is not None


def near(text: str, evidence: str, reach: int = 400) -> str:
    place = text.find(plain(evidence))
    return text[max(0, place - reach) : place + len(evidence) + reach]


def matches(name: str, document: str) -> bool:
    return fnmatchcase(name, document) if "*" in document else name.endswith(f"/{document}")


def deal(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Half of the questions of each collection and kind for each purpose, drawn by the seed; an odd one goes by turns."""
    strata: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row["id"])):
        strata[row["collection"], row["kind"]].append(row)
    halves: dict[str, list[dict[str, Any]]] = {half: [] for half in HALVES}
    rng, odd = random.Random(SEED), 0
    for stratum in strata.values():
        rng.shuffle(stratum)
        middle = (len(stratum) + odd) // 2
        odd ^= len(stratum) % 2
        for half, part in zip(HALVES, (stratum[:middle], stratum[middle:]), strict=True):
            halves[half] += part
    return {half: sorted(part, key=lambda row: str(row["id"])) for half, part in halves.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--deal", action="store_true", help="deal the questions of both files to two halves again")
    parser.add_argument("--lists", action="store_true", help="check the questions about lists")
    options = parser.parse_args()
    files = {half: QUESTIONS / f"{'lists-' if options.lists else ''}{half}.jsonl" for half in HALVES}
    halves = {half: [dict(row) for _, row in read_jsonl(file)] for half, file in files.items()}
    rows = [row for half in halves.values() for row in half]
    dealt = deal(rows)
    if options.deal:
        for half, part in dealt.items():
            write_jsonl(files[half], part)
    elif dealt != halves:
        sys.exit("the halves are not those that the seed deals")
    folders = {name: lay_out(name, options.work) for name in (LISTS if options.lists else COLLECTIONS)}
    wrong = [(row["id"], problem) for row in rows for problem in problems(row, folders[row["collection"]])]
    repeated = [name for name, count in Counter(str(row["question"]) for row in rows).items() if count > 1]
    for name, problem in wrong + [(question, "it is asked twice") for question in repeated]:
        print(f"{name}: {problem}")
    for half, part in dealt.items():
        print(half, len(part), dict(Counter(f"{row['collection']} {row['kind']}" for row in part)))
    sys.exit(bool(wrong or repeated))


if __name__ == "__main__":
    main()
