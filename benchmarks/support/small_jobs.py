"""Commands that train models and make data, with small random models: their arguments, and the files that they write."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from forks import Child, Ended, command, run
from lives import LIVES
from tiny_models import make_fitted, make_generator, make_head, make_model

from oreqa.files import write_json, write_jsonl

PATIENCE = 600.0
"""Seconds after which a command counts as hanging."""
COMPARED = (".json", ".jsonl", ".safetensors")
OPTIMISER = "[optimiser]\nlearning_rate=3e-3\nbatch=4\ncheckpoint_steps=2\n"
WINDOWS = "max_tokens=48\noverlap=8\n"
TUNING = ("max_tokens=48", "optimiser.batch=8", "optimiser.checkpoint_steps=2", "optimiser.learning_rate=1e-3")


@dataclass(frozen=True, slots=True)
class Job:
    """A command whose words contain {} for the run's folder, the files that it writes there, and the index it changes."""

    words: tuple[object, ...]
    files: str
    index: Path | None = None

    def prepare(self, folder: Path) -> None:
        """Make the folder of a run."""
        folder.mkdir()
        if self.index:
            shutil.copytree(self.index, folder / "kb")

    def run(self, folder: Path) -> None:
        """Run the command in this process, which then ends."""
        command(*(str(word).replace("{}", str(folder)) for word in self.words))

    def begin(self, folder: Path) -> Child:
        return Child(lambda: self.run(folder))

    def finish(self, folder: Path) -> Ended:
        return self.begin(folder).wait(PATIENCE)

    def written(self, folder: Path) -> set[tuple[str, bytes]]:
        """Return the names and contents of the written files, without generation numbers and clock times."""
        files = [file for file in folder.glob(self.files) if file.suffix in COMPARED]
        return {(re.sub(r"search-\d+", "search", str(file.relative_to(folder))), _content(file, folder)) for file in files}


def _content(file: Path, folder: Path) -> bytes:
    content = file.read_bytes()
    if file.suffix == ".json":
        with suppress(ValueError):  # half written by a killed run
            content = json.dumps(_timeless(json.loads(content)), sort_keys=True).encode()
    return content.replace(str(folder).encode(), b"{}")


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(inner) for name, inner in value.items() if "second" not in name}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


def prepare_jobs(work: Path) -> dict[str, Job]:
    """Make models, data and indexes in ``work``, and return the commands."""
    encoder, generator = make_model(work / "encoder"), make_generator(work / "generator")
    reader = make_head(work / "reader", "reader")
    classifier = make_head(work / "classifier", "classifier", seed=5, marking="marked")
    fitted = make_fitted(encoder, "minilm-retriever", encoder, work / "fitted")
    stories, questions, lives, docs = (
        work / name for name in ("stories.json", "questions.jsonl", "lives.jsonl", "docs.jsonl")
    )
    write_json(stories, {"version": "1.1", "data": [_article(number) for number in range(24)]})
    write_jsonl(docs, [_document(number) for number in range(40)])
    write_jsonl(questions, [question for number in range(40) for question in _questions(number)])
    write_jsonl(lives, [{"id": life.key, "title": life.title, "text": life.text} for life in LIVES])
    question_list = work / "asked.txt"
    question_list.write_text("".join(f"{question['question']}\n" for number in range(40) for question in _questions(number)))
    kb, lives_kb = work / "kb", work / "lives-kb"
    predictions, pairs = work / "predictions.jsonl", work / "pairs.jsonl"
    mine = ("mine", "predictions", "--data", stories, "--reader", reader, "--passages", 3, "-k", 40)
    for words in (
        ("index", docs, "--index", kb, "--model", encoder),
        ("index", lives, "--index", lives_kb, "--model", fitted),
        (*mine, "--out", predictions),
        ("mine", "negatives", "--data", stories, "--model", encoder, "--out", pairs),
    ):
        assert (ended := run(partial(command, *words), PATIENCE)).code == 0, ended.err
    recipes = _recipes(stories, encoder) | {
        "reranker": f'reader="{reader}"\npredictions="{predictions}"\ncandidates=4\nfrozen_layers=0\nmax_tokens=48\n',
        "classifier": f'backbone="{encoder}"\ndata=["{pairs}"]\nmarking="marked"\nmax_tokens=48\n',
        "extractor": f'backbone="{encoder}"\ndata=[{{file="{stories}"}}]\n{WINDOWS}',
        "generator": f'backbone="{generator}"\ndata=[{{file="{stories}", style="textbook"}}]\n'
        "max_tokens=40\nquestion_tokens=20\n",
    }
    jobs = {}
    for kind, text in recipes.items():
        recipe = work / f"{kind}.toml"
        recipe.write_text(f'kind="{kind}"\n{text}{OPTIMISER}')
        jobs[f"train {kind}"] = Job(("train", kind, "--recipe", recipe, "--out", "{}/model"), "model/**/*")
    out, scored = ("--out", "{}/out.jsonl"), ("--classifier", classifier, "--min-probability", 0)
    generate = ("generate", "--index", lives_kb, "--generator", generator, "--reader", reader, "--round-trip", 0.01)
    adapt = ("adapt", "--index", "{}/kb", "--generator", generator, "--round-trip", 0, "--train-classifier", classifier)
    tuning = [word for setting in TUNING for word in ("--set", setting)]
    return jobs | {
        "mine negatives": Job(("mine", "negatives", "--data", stories, "--model", encoder, *out), "**/*"),
        "mine predictions": Job((*mine, *out), "**/*"),
        "mine silver": Job(("mine", "silver", "--questions", question_list, "--index", kb, *scored, *out), "**/*"),
        "generate": Job((*generate, *out), "**/*"),
        "fit": Job(("fit", "--index", "{}/kb", "--data", questions, "--reader", reader), "kb/*/fitted.json", kb),
        "adapt": Job((*adapt, *tuning), "kb/adapted/**/*", lives_kb),
    }


def _recipes(stories: Path, encoder: Path) -> dict[str, str]:
    data = f'data=[{{file="{stories}", epochs=2}}]\n'
    return {
        "reader": f'backbone="{encoder}"\n{data}dev="{stories}"\n{WINDOWS}negatives=1.0\nunanswerable=0.5\n',
        "retriever": f'backbone="{encoder}"\ndata=["{stories}"]\nepochs=3\ndropout=0.1\nbatches="clusters"\nclusters=3\n'
        'max_tokens=48\ntowers="separate"\nprojection=8\n',
    }


def _article(number: int) -> dict[str, object]:
    text = f"fox {number} jumps over dog {number} and eats the bone of dog {number}. then it sleeps in house {number}"
    answers = {"who jumps over dog": f"fox {number}", "where sleeps fox": f"house {number}"}
    questions = [
        {"id": f"{number} {question}", "question": f"{question} {number}", "answers": [_gold(text, answer)]}
        for question, answer in answers.items()
    ]
    return {"title": f"story_{number}", "paragraphs": [{"context": text, "qas": questions}]}


def _gold(text: str, answer: str) -> dict[str, object]:
    return {"text": answer, "answer_start": text.index(answer)}


def _animal(number: int) -> tuple[str, str]:
    """Return an animal and its food."""
    return f"{('fox', 'dog', 'cow', 'hen', 'pig')[number % 5]} {number}", ("bone", "corn", "hay", "milk")[number % 4]


def _document(number: int) -> dict[str, object]:
    animal, food = _animal(number)
    text = f"{animal} eats {food}. it lives in house {number}."
    return {"id": f"d{number}", "title": f"story {number}", "text": text}


def _questions(number: int) -> list[dict[str, object]]:
    animal, food = _animal(number)
    answers = {
        f"who eats {food} in story {number}": animal,
        f"what is {number} in": f"house {number}",
        f"{animal} eats": food,
    }
    return [{"id": f"{number} {question}", "question": question, "answers": [a]} for question, a in answers.items()]
