"""The manuals of recipes/base/questions whose questions no reader was trained on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.files import read_json, read_jsonl, write_jsonl
from support.debian import fetch

QUESTIONS = Path(__file__).parents[2] / "recipes" / "base" / "questions"
PACKAGES = read_json(QUESTIONS / "packages.json")
HELD_OUT = tuple(name for name, package in PACKAGES.items() if package.get("held_out"))


def lay_out_manual(package: str, work: Path) -> Path:
    """The folder with the documents of a package that questions were written from."""
    folder = work / "manuals" / package
    if not folder.is_dir():
        unpacked, draft = fetch(package, work), folder.with_name(f"{package}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        for name in PACKAGES[package]["documents"]:
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(unpacked / name, draft / name)
        draft.rename(folder)
    return folder


def manual_questions(package: str, work: Path) -> list[OpenQuestion]:
    """The questions with short answers, and those without any: what only a block answers has none to compare with."""
    rows = [row for _, row in read_jsonl(QUESTIONS / f"{package}.jsonl") if "answers" in row]
    file = work / "manuals" / f"{package}.jsonl"
    write_jsonl(file, [{name: row[name] for name in ("id", "question", "answers")} for row in rows])
    return [replace(question, collection=package) for question in load_question_list(file)]
