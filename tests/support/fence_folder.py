"""The clean folder in which the documentation's blocks run: the few files that its pages name."""

from __future__ import annotations

import csv
import gzip
import json
import mailbox
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import numpy as np
from drawn_pdf import pdf
from ole_file import ole_file
from PIL import Image, ImageDraw
from safetensors.numpy import load_file, save_file
from tiny_models import POSITIONS, make_head, make_model

from oreqa.datasets.marks import MARKS_FILE, question_id

ROOT = Path(__file__).parents[2]
TOWERS = 100
NAMES = ("Ada Lane", "Bert Holm", "Carla Ruiz", "Dora Finch", "Emil Stark", "Fatima Noor", "Greta Lind")

DOCUMENTS = {
    "docs/sea.md": "# The sea\n\nAn octopus has three hearts. Its blood is blue.\n\n## Life span\n\nMost live one or two years.\n",
    "docs/bees.md": "# Bees\n\nBees dance to tell each other where flowers are.\n",
    "docs/tents.jsonl": '{"id": 1, "title": "Tent", "text": "The tent is waterproof and weighs two kilograms.", "category": "tents"}\n'
    '{"id": 2, "title": "Boots", "text": "The boots are made of leather.", "category": "shoes"}\n',
    "docs/warranty.md": "# Warranty of the TX-5\n\nThe warranty of the TX-5 is two years. The manager of the shop signs it.\n",
    "docs/tower.md": "# The tower\n\nThe tower is 330 metres tall.\n",
    "docs/water.md": "# Water\n\nIce floats because it is less dense than liquid water.\n",
    "docs/policies/refund.md": "# Refunds\n\nWe refund the price within thirty days of the purchase.\n",
    "docs/drafts/plan.md": "# Plan\n\nThe new shop opens in spring.\n",
    "old/octopus.md": "# Old octopus\n\nAn octopus has nine hearts.\n",
    "notes.txt": "The key to the shed hangs behind the door.\n",
    "notes.md": "An owl hoots.\n",
    "reports/summary.md": "# Summary\n\nThe shop sold ninety tents.\n",
}
"""Small documents, so that what a page says of one of them is found."""

QUESTIONS = ("How long is the warranty of the TX-5?", "Why does ice float?", "How tall is the tower?")


@contextmanager
def small_models(folder: Path) -> Iterator[None]:
    """Folders in which small random models have the names of those that the recipes begin with: a folder comes first."""
    places = [folder / name for name in ("all-minilm-l6-v2", "minilm-reader")]
    for place in places:
        place.symlink_to(folder / "small" / place.name)
    try:
        yield
    finally:
        for place in places:
            place.unlink()


def make_folder(folder: Path) -> Path:
    """Write the files into a new folder. Returns it."""
    for name, text in DOCUMENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "demo").symlink_to(ROOT / "demo")
    (folder / "library").mkdir()
    for name in ("octopus", "bread", "chess", "piano", "sleep", "tides"):
        shutil.copy(ROOT / "demo/library" / f"{name}.md", folder / "library")
    shutil.copy(ROOT / "demo/library/penicillin.md", folder / "reports")
    (folder / "docs" / "warranty.pdf").write_bytes(pdf(["The warranty of the tent lasts two years."]))
    with (folder / "products.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("sku", "product", "description", "category"), ("T1", "Dome", "The dome tent is waterproof.", "tents")]
        )
    (folder / "questions.txt").write_text("".join(f"{question}\n" for question in QUESTIONS))
    (folder / "questions.csv").write_text(
        "question,answer\nHow long is the warranty of the TX-5?,two years|2 years\nWho is the chief executive?,\n"
    )
    _write_mail(folder)
    _write_scans(folder)
    _write_towers(folder)
    _write_small_models(folder / "small")
    shutil.copytree(ROOT / "src/oreqa/models/pack/minilm-reader", folder / "path/to/reader")
    shutil.copytree(ROOT / "src/oreqa/models/pack/minilm-retriever", folder / "path/to/model")
    return folder


def _write_mail(folder: Path) -> None:
    box = mailbox.mbox(folder / "mail.mbox")
    for number in range(1, 18):
        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = f"Order {number}", "Ada <ada@example.org>", "shop@example.org"
        message["Date"] = "Mon, 2 Jan 2023 09:00:00 +0000"
        message.set_content(f"I would like to order {number} tents.")
        box.add(message)
    box.close()
    shutil.copy(folder / "mail.mbox", folder / "Inbox")
    text = {f"__substg1.0_{name}001F": value.encode("utf-16-le") for name, value in (("0037", "Offer"), ("1000", "A tent."))}
    (folder / "offer.msg").write_bytes(ole_file({"__properties_version1.0": bytes(32), **text}))
    with zipfile.ZipFile(folder / "handbook.zip", "w") as archive:
        archive.writestr("rules.md", "# Rules\n\nDogs wait outside.\n")


def _write_scans(folder: Path) -> None:
    """Pictures of a line of text: a page of a PDF, and a photo."""
    picture = Image.new("RGB", (800, 200), "white")
    ImageDraw.Draw(picture).text((40, 80), "The barn has a red door.", fill="black", font_size=40)
    picture.save(folder / "photo-of-a-page.jpg")
    (folder / "scans").mkdir()
    picture.save(folder / "scans" / "page.pdf")


def _tower(number: int) -> tuple[str, dict[str, str]]:
    """A text of a tower, and questions about its first sentence with their answers."""
    name, year = NAMES[number % len(NAMES)], str(1800 + number)
    who = (
        "Who built tower {0}?",
        "Who was the builder of tower {0}?",
        "Which builder made tower {0}?",
        "Tower {0} is by whom?",
    )
    when = (
        "When was tower {0} built?",
        "In which year was tower {0} built?",
        "What year is tower {0} from?",
        "How old is tower {0}?",
    )
    answers = {**dict.fromkeys(who, name), **dict.fromkeys(when, year)}
    text = f"Tower {number} was built by {name} in {year}. It has a roof of copper."
    return text, {question.format(number): answer for question, answer in answers.items()}


def _write_towers(folder: Path) -> None:
    """Short documents about towers with questions: SQuAD files, lists, and the files that recipes name."""
    articles, rows, marks, pairs = [], [], [], [("question", "passage")]
    (folder / "documents").mkdir()
    for number in range(1, TOWERS + 1):
        text, questions = _tower(number)
        (folder / "documents" / f"tower-{number}.md").write_text(f"# Tower {number}\n\n{text}\n")
        qas = [
            {"id": f"{number}-{n}", "question": question, "answers": [{"text": answer, "answer_start": text.index(answer)}]}
            for n, (question, answer) in enumerate(questions.items())
        ]
        articles.append({"title": f"Tower {number}", "paragraphs": [{"context": text, "qas": qas}]})
        question, answer = next(iter(questions.items()))
        rows.append({"question": question, "answers": [answer], "document": f"tower-{number}.md"})
        pairs.append((question, text))
        marks.append(
            {
                "id": question_id(question), "question": question, "answers": [answer], "verdict": "right",
                "time": "2025-01-01T00:00:00+00:00", "document": str(folder / "documents" / f"tower-{number}.md"),
                "answer": text.partition(" It ")[0], "context": text, "title": f"Tower {number}",
                "start": text.index(answer), "given": answer,
            }
        )  # fmt: skip
    rows += [{"question": f"Who painted tower {number}?", "answers": []} for number in range(1, 5)]
    with (folder / "pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows(pairs)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "questions.jsonl").write_text(lines)
    (folder / "asked.txt").write_text("".join(f"{row['question']}\n" for row in rows[:5]))
    (folder / MARKS_FILE).write_text("".join(json.dumps(row) + "\n" for row in marks))
    (folder / "data" / "extractive").mkdir(parents=True)
    _write_squad(folder / "questions.json", articles[:8])
    _write_squad(folder / "data" / "train.json", articles[8:20])
    for name in ("squad-train-pieces", "squad-train-more", "squad2-train-part", "qed-nq-train", "afriqa-en",
                 "fairytaleqa", "timeqa-human", "qamr"):  # fmt: skip
        _write_squad(folder / "data" / "extractive" / f"{name}.json.gz", articles[:2])


def _write_squad(file: Path, articles: list[dict[str, object]]) -> None:
    content = json.dumps({"version": "1.1", "data": articles}).encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)


def _write_small_models(folder: Path) -> None:
    """An encoder and a reader of six small random layers and of 512 positions, as many as the recipes need."""
    for model, prefix in (
        (make_model(folder / "all-minilm-l6-v2"), ""),
        (make_head(folder / "minilm-reader", "reader"), "bert."),
    ):
        weights = load_file(model / "model.safetensors")
        positions = f"{prefix}embeddings.position_embeddings.weight"
        weights[positions] = np.tile(weights[positions], (512 // POSITIONS, 1))
        first = f"{prefix}encoder.layer.0."
        for name in [name for name in weights if name.startswith(first)]:
            weights |= {f"{prefix}encoder.layer.{n}.{name.removeprefix(first)}": weights[name].copy() for n in range(2, 6)}
        save_file(weights, model / "model.safetensors")
        config = json.loads((model / "config.json").read_text())
        config |= {"max_position_embeddings": 512, "num_hidden_layers": 6}
        (model / "config.json").write_text(json.dumps(config))
