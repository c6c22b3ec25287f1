"""Runs odd command lines: each must end with an exit code and a one-line reason, no traceback, hang or half-written file.

Run:  python benchmarks/faults/fuzz_commands.py --seconds 60

Every option of every command gets valid and invalid values. The models are small random ones, and the files are in a
temporary folder. Failures are printed with the seed that reproduces them.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from oreqa.cli import app

sys.path.append(str(Path(__file__).parents[1]))
import common  # noqa: F401, its import finds the tests' support
from forks import Ended, command, run, warm_up
from support.fuzzing import Trial, fuzz
from tiny_models import make_generator, make_head, make_model

PATIENCE = 60.0
"""Seconds after which a command counts as hanging."""
QUESTION = "how many hearts has an octopus"
ODD = (
    "", " ", "-", "--", "-1", "0", "1e999", "nan", "9" * 30, "٣", "none", "x" * 300, "x" * 5000, "\udcff", "é\u0301", "a\nb",
    "\x1b[2J", "a=b", "=", "path=*/[draft]/*", "kind=a\\b", "title=%", "missing/file.json", "docs", "file.txt", "empty",
    "kb", "broken.json", "broken.json.gz", "link", "loop", "closed", "[", "{}", "'", '"', "\\", ";", "$HOME", "-h",
)  # fmt: skip

SERVERS = {("serve",), ("mcp",)}
"""Commands that run until stopped, which a fork of a process with models cannot run; tests/server fuzzes them."""

Words = tuple[str, ...]
Commands = dict[Words, dict[str, bool]]
"""The options of each command, and whether each is a flag; arguments are listed under their placeholders."""


def commands() -> Commands:
    """Return the program's commands."""

    def walk(part: Any, words: Words) -> Iterator[tuple[Words, dict[str, bool]]]:
        for name, child in getattr(part, "commands", {}).items():
            yield from walk(child, (*words, name))
        if words and not hasattr(part, "commands"):
            parameters = part.get_params(part.context_class(part))
            names = [each.opts[0] if each.opts[0].startswith("-") else each.metavar for each in parameters]
            flags = [bool(getattr(each, "is_flag", False)) for each in parameters]
            yield words, dict(zip(names, flags, strict=True))

    found = {words: options for words, options in walk(typer.main.get_command(app), ()) if words not in SERVERS}
    for options in found.values():
        options.pop("--pypi", None)  # it would query a package index
        options.pop("--watch", None)  # it runs until stopped, too
    return found


FITTING = {
    "--index": ["kb"],
    "QUESTION": [QUESTION],
    "DOCUMENT": ["octopus.md", "bees.txt"],
    "START": ["3"],
    "END": ["9"],
    "PATH": ["docs", "docs/bees.txt"],
    "RUN": ["run"],
    "NAME": ["minilm-reader", "models/reader"],
    "--data": ["stories.json", "list.jsonl", "pairs.jsonl", "beir"],
    "--questions": ["questions.txt", "list.jsonl", "10"],
    "--out": ["out/file.jsonl"],
    "--report": ["out/report.csv"],
    "--predictions": ["answers.json"],
    "--gold": ["stories.json"],
    "--sentences": ["list.jsonl"],
    "--model": ["models/encoder"],
    "--reader": ["models/reader", "none"],
    "--reranker": ["models/classifier", "none"],
    "--classifier": ["models/classifier"],
    "--extractor": ["models/extractor"],
    "--generator": ["models/generator"],
    "--train-classifier": ["none"],
    "--where": ["kind=tent", "path=*.md"],
    "--set": ["optimiser.batch=4", "epochs=1", "seed=3", "max_tokens=48"],
    "--mode": ["dense", "sparse", "hybrid"],
    "--unit": ["sentence", "passage"],
    "--precision": ["f32", "bf16", "i8", "auto"],
    "--device": ["cpu"],
    "--combine": ["alone=1"],
    "--style": ["textbook"],
    "--decoding": ["greedy", "beam"],
    "--split": ["train"],
    "--language": ["en", "de"],
    "--include": ["*.md"],
    "--exclude": ["*.md"],
    "--text-field": ["text"],
    "--title-field": ["title"],
    "--id-field": ["id"],
    "--passage-tokens": ["40"],
    "--threshold": ["0", "0.5"],
    "--round-trip": ["0", "0.1"],
    "--min-probability": ["0"],
    "--kept": ["0.1"],
    "--null": ["1"],
}
"""Values that can be valid for an option; files of ``write_files``."""
NEEDED = ("--index", "--data", "--out", "--recipe", "--model", "--predictions", "--gold", "--questions")
WARM = (
    "ask heart --index kb --reader models/reader --reranker models/classifier",
    "eval reqa --data stories.json --model models/encoder --out out/run",
    "generate --index kb --generator models/generator --round-trip 0 --out out/made.jsonl",
    "train reader --recipe reader.toml --out out/reader",
)
"""Commands that are run once, so that the others need not import the same modules."""
RECIPES = {
    "reader": 'backbone="models/encoder"\ndata=[{file="stories.json"}]\noverlap=8',
    "classifier": 'backbone="models/reader"\ndata=["pairs.jsonl"]',
    "retriever": 'backbone="models/encoder"\ndata=["stories.json"]',
    "generator": 'backbone="models/generator"\ndata=[{file="stories.json", style="textbook"}]\nquestion_tokens=20',
    "extractor": 'backbone="models/encoder"\ndata=[{file="stories.json"}]\noverlap=8',
}


def command_line(rng: random.Random, known: Commands) -> list[str]:
    """Return a command line: a command, most of the options that it needs, and some others."""
    words = rng.choice(list(known))
    line = [*words]
    for name, is_flag in known[words].items():
        if rng.random() > (0.85 if name.isupper() or name in NEEDED else 0.12 if name != "--help" else 0.01):
            continue
        fitting = [f"{words[-1]}.toml"] if name == "--recipe" else FITTING.get(name, ["1", "3", "10"])
        value = rng.choice(fitting) if rng.random() < 0.85 else rng.choice(ODD)
        line += [name] if is_flag else [value] if name.isupper() else [name, value]
    if rng.random() < 0.05:
        line.insert(rng.randrange(len(line) + 1), rng.choice(ODD))
    return line


def write_files() -> None:
    """Write files in the working folder."""
    for folder in ("docs", "models", "empty", "out", "beir"):
        Path(folder).mkdir()
    make_model(Path("models/encoder"))
    make_generator(Path("models/generator"))
    make_head(Path("models/reader"), "reader")
    make_head(Path("models/extractor"), "extractor")
    make_head(Path("models/classifier"), "classifier", marking="marked")
    articles = [_article(number) for number in range(12)]
    negative = {"answer": "fox 2 jumps.", "context": "fox 2 jumps."}
    pair = {"question": "where sleeps fox 1", "answer": "it sleeps in house 1.", "negatives": [negative]}
    recipes = {
        f"{kind}.toml": f'kind="{kind}"\nmax_tokens=48\n{text}\n[optimiser]\nlearning_rate=1e-3\nbatch=4\n'
        for kind, text in RECIPES.items()
    }
    for name, text in {
        "docs/octopus.md": "# Octopus\n\nAn octopus has three hearts. Its blood is blue.\n\n## Arms\n\nIt has eight arms.\n",
        "docs/bees.txt": "Bees dance to tell where flowers are. The queen lays eggs.\n\nDrones have no sting.\n",
        "docs/rows.jsonl": '{"id": "a", "title": "Tents", "text": "The tent is waterproof.", "kind": "tent"}\n',
        "stories.json": json.dumps({"version": "1.1", "data": articles}),
        "answers.json": json.dumps({str(number): f"house {number}" for number in range(12)}),
        "list.jsonl": json.dumps({"question": QUESTION, "answers": ["three"]}) + "\n",
        "pairs.jsonl": (json.dumps(pair) + "\n") * 4,
        "beir/corpus.jsonl": '{"_id": "d", "title": "A", "text": "Bees hum."}\n',
        "beir/queries.jsonl": '{"_id": "q", "text": "who hums"}\n',
        "questions.txt": f"{QUESTION}\n\nwhat is waterproof\n",
        "file.txt": "text",
        "broken.json": '{"data": [',
        "broken.json.gz": "\x1f\x8b",
        **recipes,
    }.items():
        Path(name).write_text(text, encoding="latin-1")
    Path("link").symlink_to("out/linked")
    Path("loop").symlink_to("loop")
    Path("closed").mkdir(mode=0)


def _article(number: int) -> dict[str, object]:
    """Return a SQuAD article."""
    text, answer = f"fox {number} jumps over dog {number}. then it sleeps in house {number}.", f"house {number}"
    gold = {"text": answer, "answer_start": text.index(answer)}
    question = {"id": str(number), "question": f"where sleeps fox {number}", "answers": [gold]}
    return {"title": f"story_{number}", "paragraphs": [{"context": text, "qas": [question]}]}


class Program:
    """A working folder with files, and the state of its index."""

    def __init__(self) -> None:
        write_files()
        self.known = commands()
        warm_up(lambda: command("index", "docs", "--index", "kb", "--model", "models/encoder", "--passage-tokens", 40))
        for line in WARM:
            warm_up(lambda line=line: command(*line.split()))  # type: ignore[misc]
        shutil.copytree("kb", "kept")
        self.found = run(self._search, PATIENCE).out
        self.names = {path.name for path in Path().iterdir()}

    @staticmethod
    def _search() -> None:
        command("search", QUESTION, "--index", "kb", "--json")

    def trial(self, rng: random.Random, counts: Counter[str]) -> tuple[str, str]:
        """Run a random command line; return it and what is wrong with its end or with what it left."""
        line = command_line(rng, self.known)
        ended = run(lambda: command(*line), PATIENCE)
        counts[f"exit code {ended.code}"] += 1
        fault = _fault(ended, "--json" in line and "--help" not in line and "-h" not in line)
        changed = line[0] in ("index", "remove", "fit", "adapt")
        if changed or rng.random() < 0.1:
            after = run(self._search, PATIENCE)
            if after.code or (not changed and after.out != self.found):
                fault = fault or f"the index answers otherwise: {after.err}{after.out}"
        if left := [str(path) for path in Path().rglob("*") if re.search(r"/\.[^/]*\.\d+$|\.new$|\.removed$", f"/{path}")]:
            fault = fault or f"it left {left}"
        for path in Path().iterdir():  # what was written beside out/ by an odd name
            if path.name not in self.names:
                _remove(path)
        _remove(Path("out"))
        Path("out").mkdir()
        if changed:
            _remove(Path("kb"))
            shutil.copytree("kept", "kb")
        return str(line), fault


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _fault(ended: Ended, as_json: bool) -> str:
    """Return what is wrong with how a command ended."""
    if ended.failure or ended.code not in (0, 1, 2):
        return f"it ended with {ended.code}: {ended.failure or ended.err[-500:]}"
    lines = ended.err.strip().splitlines()
    if ended.code == 2 and not (lines and lines[-1].startswith("error: ")):
        return f"no reason: {ended.err[-500:]!r}"
    if as_json and ended.out:
        try:
            json.loads(ended.out)
        except ValueError:
            return f"no JSON: {ended.out[-500:]!r}"
    return ""


def prepare(folder: Path) -> Trial:
    os.chdir(folder)
    os.environ |= {"OREQA_PRECISION": "f32", "HF_HUB_OFFLINE": "1"}
    os.environ |= {"OREQA_CACHE": f"{folder}/cache", "HF_HOME": f"{folder}/hub"}
    return Program().trial


def main() -> None:
    fuzz(str(__doc__), prepare)


if __name__ == "__main__":
    main()
