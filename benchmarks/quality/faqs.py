"""Asks the questions of FAQs as they stand: is the answer below the question, or is it another question?

Run:  python benchmarks/quality/faqs.py --work runs/own --name after [--source OTHER/src]

The FAQs are those of Debian packages, all in one index. Their questions are found in the files' markup by the patterns
below, not by the code that is measured. An answer is right if its sentence begins below its question and before the next
one, asks nothing, and if it is shown as a block, where that does. It is a question if its sentence ends like one.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from oreqa.provenance import commit

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, index, run
from support.debian import fetch

FAQS = {
    "abook": "FAQ", "cryptsetup": "FAQ.md.gz", "fetchmail": "fetchmail-FAQ.html", "lynis": "FAQ.gz", "mdadm": "FAQ.gz",
    "nano": "faq.html", "procmail": "FAQ", "sudo": "TROUBLESHOOTING.md.gz",
    "xboard": "FAQ.html", "git-doc": "gitfaq.html",
}  # fmt: skip
"""Packages, each with its FAQ in /usr/share/doc/PACKAGE."""

FEWEST, MOST = 4, 25
"""The fewest and the most words of a question that is asked."""

_IN_HTML = re.compile(r"<(h[1-6]|dt)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_MARK = r"(?:Q:[ \t]+|#+[ \t]+(?:\*\s*)?|[*-][ \t]+\**|\d+(?:\.\d+)*[a-z]?[.)]?[ \t]+)"
_IN_TEXT = re.compile(rf"^[ \t]*{_MARK}((?:\S[^\n]*\n?){{1,3}}?[^\n]*\?)\**[ \t]*$", re.MULTILINE)
_NUMBER = re.compile(r"^(?:[A-Z]?\d+(?:\.\d+)*[.:)]?|\[[^\]]*\]|Q:)\s+")

_ASK = """
import json, sys
from oreqa import Answerer
with Answerer.load(sys.argv[1]) as answerer:
    replies = answerer.reply(json.load(sys.stdin))
json.dump([[[a.text, a.sentence.text, a.passage.document_key, a.passage.heading, a.passage.text] for a in reply.answers]
           for reply in replies], sys.stdout)
"""


def questions(text: str, is_html: bool) -> list[str]:
    """Return the questions of a FAQ, in order, each once."""
    if is_html:
        titles = [html.unescape(re.sub(r"<[^>]+>", "", match[2])) for match in _IN_HTML.finditer(text)]
    else:
        titles = [match[1] for match in _IN_TEXT.finditer(text)]
    plain = [_NUMBER.sub("", " ".join(title.split())).strip(" *¶") for title in titles]
    return [title for title in dict.fromkeys(plain) if title.endswith("?") and FEWEST <= len(title.split()) <= MOST]


def judged(answer: list[str], question: str, file: str, others: list[str]) -> str:
    """Return whether an answer is "right", a "question", or "elsewhere"."""
    _, sentence, key, heading, passage = (" ".join(part.split()) for part in answer)
    if sentence.rstrip("\"'”’)] ").endswith("?"):
        return "question"
    if not key.endswith(file):
        return "elsewhere"
    if question in heading:
        return "right"
    place = passage.find(sentence)
    above = max(others, key=lambda other: passage.rfind(other, 0, place))
    return "right" if above == question and question in passage[:place] else "elsewhere"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--name", required=True, help="of results/documents/faqs-NAME.json, and of the index")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    options = parser.parse_args()
    folder, place = (options.work / part / "faqs" for part in ("collections", f"indexes/{options.name}"))
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, str, list[str]]] = []
    for package, name in FAQS.items():
        data = (fetch(package, options.work) / "usr/share/doc" / package / name).read_bytes()
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")
        file = f"{package}{'.html' if '.html' in name else '.md' if '.md' in name else '.txt'}"
        (folder / file).write_text(text, encoding="utf-8")
        faq_questions = questions(text, file.endswith(".html"))
        rows += [(question, file, faq_questions) for question in faq_questions]
    index(options.source, folder, place)
    done = run(options.source, "-c", _ASK, str(place), given=json.dumps([question for question, *_ in rows]))
    counts = Counter[str]()
    for (question, file, faq_questions), answers in zip(rows, json.loads(done.stdout), strict=True):
        kinds = [judged(answer, question, file, faq_questions) for answer in answers]
        counts[f"first: {kinds[0] if kinds else 'refused'}"] += 1
        counts.update(f"later: {kind}" for kind in kinds[1:])
        print(f"{kinds[0] if kinds else 'refused':10}{file:16}{question[:80]!r}: {answers[0][0][:80] if answers else ''!r}")
    outcome: dict[str, Any] = {
        "commit": commit(options.source),
        "questions": len(rows),
        "answers": dict(sorted(counts.items())),
    }
    report(f"documents/faqs-{options.name}", outcome)


if __name__ == "__main__":
    main()
