"""The manuals of recipes/base/questions whose questions no reader was trained on."""

from __future__ import annotations

import shutil
from pathlib import Path

from oreqa.datasets.questions import OpenQuestion
from oreqa.files import read_json, read_jsonl
from support.debian import fetch

QUESTIONS = Path(__file__).parents[2] / "recipes" / "base" / "questions"
PACKAGES = read_json(QUESTIONS / "packages.json")
MANUALS = ("angband-data", "rsync", "tor")
"""The held-out manuals except dovecot-core, which has three times as many passages as these."""


def lay_out_manual(package: str, work: Path) -> Path:
    """Return the folder with the documents of a package that questions were written from."""
    folder = work / "manuals" / package
    if not folder.is_dir():
        unpacked, draft = fetch(package, work), folder.with_name(f"{package}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        for name in PACKAGES[package]["documents"]:
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(unpacked / name, draft / name)
        draft.rename(folder)
    return folder


def manual_questions(package: str) -> list[OpenQuestion]:
    """Return the questions with short answers and those without any; those answered only by a block are left out."""
    rows = [row for _, row in read_jsonl(QUESTIONS / f"{package}.jsonl") if "answers" in row]
    return [OpenQuestion(row["id"], row["question"], tuple(row["answers"]), collection=package) for row in rows]
