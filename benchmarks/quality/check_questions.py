"""Check our questions about people's own documents against the documents' text, read by extractors that oreqa does not use.

Run:  python benchmarks/quality/check_questions.py --work runs/own [--only fresh howto-tuning] [--deal]

A question's evidence must occur in one of its documents word for word, except for white space and kinds of quotation
marks, and one of its answers must be near it; if it asks for several, all of them. The parts of a block must follow one
another with little between them, and contain one of the answers. For an unanswerable question, the words in `absent` must
not occur in the collection. The halves must be those that the seed deals: `--deal` deals the questions of both again.
"""

from __future__ import annotations

import argparse
import html
import random
import re
import subprocess
import sys
import unicodedata
import zipfile
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from oreqa.files import read_jsonl, write_jsonl

sys.path.append(str(Path(__file__).parents[1]))
from support.own_collections import lay_out

QUESTIONS = Path(__file__).parent / "questions"
HALVES = tuple((f"{name}tuning", f"{name}reporting") for name in ("", "lists-", "howto-", "several-"))
WHOLE = ("fresh", "premises")
SEED = 20
WARNING = 700
"""Characters allowed between two parts of a block: a warning, or the head of a page."""

_QUOTES = str.maketrans("‘’“”", "''\"\"")


def plain(text: str) -> str:
    """Return the text in one case, with uniform white space and quotation marks."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).split()).casefold()


@cache
def extract(file: Path) -> str:
    """Return a document's text: by w3m, by pdftotext, without tags or Markdown marks, or as it is."""
    commands = {
        ".html": ["w3m", "-dump", "-cols", "10000", "-I", "UTF-8", "-O", "UTF-8", "-T", "text/html", str(file)],
        ".pdf": ["pdftotext", str(file), "-"],
    }
    if file.suffix == ".odt":
        content = zipfile.ZipFile(file).read("content.xml").decode("utf-8")
        spaced = re.sub(r"<text:(?:tab|s|line-break)\b[^>]*/>|</text:[ph]>", " ", content)
        return plain(html.unescape(re.sub(r"<[^>]+>", "", spaced)))
    if file.suffix == ".md":
        return plain(
            re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", file.read_text(encoding="utf-8")).replace("`", "").replace("**", "")
        )
    if command := commands.get(file.suffix):
        return plain(subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace"))
    return plain(file.read_text(encoding="utf-8"))


def problems(row: dict[str, Any], folder: Path) -> list[str]:
    """Return what is wrong with a question of the collection in ``folder``."""
    texts = {str(file): extract(file) for file in sorted(folder.iterdir())}
    if not row["answers"]:
        held = [word for word in row["absent"] for text in texts.values() if holds(text, word)]
        return [f"the collection holds {word!r}" for word in held]
    accepted = [text for name, text in texts.items() if matches(name, row["document"])]
    if "block" in row:
        return block_problems(row, accepted)
    proofs = [text for text in accepted if holds(text, row["evidence"])]
    found = [] if proofs else [f"no document {row['document']} holds {row['evidence']!r}"]
    enough = all if row.get("kind") == "several" else any
    if not any(holds(text, answer) for text in proofs for answer in row["answers"]):
        found.append(f"none of {row['answers']} stands in the document of the evidence")
    elif not any(enough(holds(near(text, row["evidence"]), answer) for answer in row["answers"]) for text in proofs):
        found.append(f"{row['answers']} do not stand near the evidence")
    if len(row["evidence"].split()) > 15:
        found.append("the evidence is long")
    return found


def block_problems(row: dict[str, Any], texts: list[str]) -> list[str]:
    """Return what is wrong with a question's block: a text must contain its parts in order, the lead-in first."""
    parts = [plain(part) for part in (*([row["lead"]] if "lead" in row else []), *row["block"])]
    if not row["block"] or not all(parts):
        return ["a part of the block is empty"]
    missing = [part for part in parts if not any(part in text for text in texts)]
    if missing:
        return [f"no document {row['document']} holds {part!r}" for part in missing]
    found = (
        [] if any(together(parts, text) for text in texts) else ["the block's parts do not stand together in their order"]
    )
    if not any(holds(" ".join(parts), answer) for answer in row["answers"]):
        found.append(f"none of {row['answers']} stands in the block")
    return found


def together(parts: list[str], text: str) -> bool:
    """Return whether a text contains the parts in order, with at most a warning between two of them."""
    start = text.find(parts[0])
    while start >= 0:
        end = start + len(parts[0])
        for part in parts[1:]:
            place = text.find(part, end, end + len(part) + WARNING)
            if place < 0:
                break
            end = place + len(part)
        else:
            return True
        start = text.find(parts[0], start + 1)
    return False


def holds(text: str, words: str) -> bool:
    """Return whether words occur in a text, not as parts of longer words."""
    return re.search(rf"(?<!\w){re.escape(plain(words))}(?!\w)", text) is not None


def near(text: str, evidence: str, reach: int = 400) -> str:
    place = text.find(plain(evidence))
    return text[max(0, place - reach) : place + len(evidence) + reach]


def matches(name: str, document: str) -> bool:
    return fnmatchcase(name, document) if "*" in document else name.endswith(f"/{document}")


def deal(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, list[dict[str, Any]]]:
    """Deal half of the questions of each collection and kind to each purpose by the seed; odd ones alternate."""
    strata: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row["id"])):
        strata[row["collection"], row["kind"]].append(row)
    halves: dict[str, list[dict[str, Any]]] = {half: [] for half in names}
    rng, odd = random.Random(SEED), 0
    for stratum in strata.values():
        rng.shuffle(stratum)
        middle = (len(stratum) + odd) // 2
        odd ^= len(stratum) % 2
        for half, part in zip(names, (stratum[:middle], stratum[middle:]), strict=True):
            halves[half] += part
    return {half: sorted(part, key=lambda row: str(row["id"])) for half, part in halves.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--deal", action="store_true", help="deal the questions of both halves again")
    parser.add_argument("--only", nargs="+", choices=[*(name for pair in HALVES for name in pair), *WHOLE])
    options = parser.parse_args()
    groups = [group for group in (*HALVES, *((name,) for name in WHOLE)) if not options.only or {*group} & {*options.only}]
    for group in groups:
        check(group, options.work, options.deal)


def check(names: tuple[str, ...], work: Path, deals: bool) -> None:
    """Check the questions of a file, or of two that are halves; exit if something is wrong."""
    files = {name: [dict(row) for _, row in read_jsonl(QUESTIONS / f"{name}.jsonl")] for name in names}
    rows = [row for part in files.values() for row in part]
    dealt = deal(rows, names) if names in HALVES else files
    if deals:
        for name, part in dealt.items():
            write_jsonl(QUESTIONS / f"{name}.jsonl", part)
    elif dealt != files:
        sys.exit(f"{' and '.join(names)} are not the halves that the seed deals")
    folders = {name: lay_out(name, work) for name in {str(row["collection"]): None for row in rows}}
    wrong = [(row["id"], problem) for row in rows for problem in problems(row, folders[row["collection"]])]
    repeated = [name for name, count in Counter(str(row["question"]) for row in rows).items() if count > 1]
    for name, problem in wrong + [(question, "it is asked twice") for question in repeated]:
        print(f"{name}: {problem}")
    for name, part in dealt.items():
        print(name, len(part), dict(Counter(f"{row['collection']} {row['kind']}" for row in part)))
    if wrong or repeated:
        sys.exit(1)


if __name__ == "__main__":
    main()
