"""Two checkouts of oreqa side by side: the same commands in turn, whole processes, over SQuAD dev's paragraphs.

Run:  python benchmarks/speed/checkouts.py --before ../before --after . --data ../shared/data --work runs/checkouts

Each checkout has its own cache and index. A round runs every command once with each checkout, the first one alternating;
the first round warms the caches and is not counted. Commands: index all paragraphs (encoding), index again after one
document changed (update), ask one question (cold ask, with and without a reader), ask many (reading), search many.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad, write_paragraph_files

QUESTION = "Which NFL team represented the AFC at Super Bowl 50?"
COMMANDS = ("index", "update", "ask", "ask without a reader", "ask many", "search many")


def run(checkout: Path, cache: Path, *arguments: str) -> float:
    """Wall seconds of one command of a checkout. Raises CalledProcessError if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OREQA_CACHE": str(cache)}
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "oreqa", *arguments], env=environment, check=True, capture_output=True)
    return time.perf_counter() - begun


def time_commands(checkout: Path, texts: Path, work: Path, round_number: int) -> dict[str, float]:
    """Seconds of each of COMMANDS, run once."""
    index, cache = work / "index", work / "cache"
    shutil.rmtree(index, ignore_errors=True)
    changed = next(iter(sorted(texts.rglob("*.txt"))))
    where = ("--index", str(index))
    seconds = {"index": run(checkout, cache, "index", str(texts), *where)}
    text = changed.read_text(encoding="utf-8")
    changed.write_text(f"{text} Round {round_number}.", encoding="utf-8")
    seconds["update"] = run(checkout, cache, "index", str(texts), *where)
    changed.write_text(text, encoding="utf-8")
    seconds["ask"] = run(checkout, cache, "ask", QUESTION, *where)
    seconds["ask without a reader"] = run(checkout, cache, "ask", QUESTION, *where, "--reader", "none")
    seconds["ask many"] = run(checkout, cache, "ask", "--questions", str(work.parent.parent / "few.txt"), *where)
    seconds["search many"] = run(
        checkout, cache, "search", "--questions", str(work.parent.parent / "many.txt"), *where, "--json"
    )
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/checkouts"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    checkouts = {"before": options.before.resolve(), "after": options.after.resolve()}
    paragraphs = squad(options.data)
    questions = [question.text for paragraph in paragraphs for question in paragraph.questions]
    options.work.mkdir(parents=True, exist_ok=True)
    (options.work / "few.txt").write_text("\n".join(questions[::100]), encoding="utf-8")
    (options.work / "many.txt").write_text("\n".join(questions[::10]), encoding="utf-8")
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for name in checkouts:
        shutil.rmtree(options.work / name, ignore_errors=True)
        write_paragraph_files(paragraphs, options.work / name / "texts")
    for number in range(options.rounds + 1):
        for name in checkouts if number % 2 else reversed(list(checkouts)):
            work = options.work / name
            timed = time_commands(checkouts[name], work / "texts", work / "run", number)
            if number:
                seconds[name].append(timed)
    result = {}
    for command in COMMANDS:
        before, after = ([row[command] for row in seconds[name]] for name in ("before", "after"))
        ratios = [a / b for a, b in zip(after, before, strict=True)]
        result[command] = {
            "before": round(statistics.median(before), 3),
            "after": round(statistics.median(after), 3),
            "after / before": round(statistics.median(ratios), 3),
            "lowest and highest ratio": [round(min(ratios), 3), round(max(ratios), 3)],
        }
    report("checkouts", result)


if __name__ == "__main__":
    main()
