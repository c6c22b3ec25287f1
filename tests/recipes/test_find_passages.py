"""The questions for training are whole, and their passages are found."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from oreqa.files import read_json, read_jsonl

ROOT = Path(__file__).parents[2]
QUESTIONS = ROOT / "recipes" / "base" / "questions"
PACKAGES: dict[str, Any] = read_json(QUESTIONS / "packages.json")
KINDS = ("fact", "option", "how-to", "why", "list", "definition", "absent", "premise")
FIELDS = {"id": str, "package": str, "document": str, "kind": str, "question": str, "answers": list, "evidence": str}
FIELDS |= {"block": list, "beside": str}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("find_passages", ROOT / "recipes" / "base" / "find_passages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_rows(package: str) -> list[dict[str, Any]]:
    return [row for _, row in read_jsonl(QUESTIONS / f"{package}.jsonl")]


def faults(row: dict[str, Any], package: str) -> list[str]:
    """What is wrong with a question by itself."""
    wrong = [f"{name} is no field" for name in row if name not in FIELDS]
    wrong += [
        f"{name} is no {FIELDS[name].__name__}" for name in row if name in FIELDS and type(row[name]) is not FIELDS[name]
    ]
    if wrong or not {"id", "package", "document", "kind", "question"} <= row.keys():
        return wrong or ["a field is missing"]
    texts = [
        row["question"],
        row.get("evidence", "-"),
        row.get("beside", "-"),
        *row.get("answers", ()),
        *row.get("block", ()),
    ]
    wrong += [f"{text!r} has other blanks" for text in texts if not text or " ".join(text.split()) != text]
    wrong += [] if row["package"] == package else ["it is another package's"]
    wrong += [] if row["document"] in PACKAGES[package]["documents"] else ["no such document"]
    wrong += [] if row["kind"] in KINDS else ["no such kind"]
    if row["kind"] in ("absent", "premise"):
        unanswered = row.get("answers") == [] and "beside" in row and not {"evidence", "block"} & row.keys()
        return wrong if unanswered else [*wrong, "it is answered, or not beside a passage"]
    wrong += ["it is beside a passage"] if "beside" in row else []
    if "answers" not in row:
        return wrong if row.get("block") else [*wrong, "nothing answers"]
    return (
        wrong
        if any(answer in row.get("evidence", "") for answer in row["answers"])
        else [*wrong, "evidence holds no answer"]
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_the_questions_of_a_package_are_whole(package: str) -> None:
    rows = read_rows(package)
    assert {row["id"]: problems for row in rows if (problems := faults(row, package))} == {}
    for name in ("id", "question"):
        assert [text for text, count in Counter(row[name].casefold() for row in rows).items() if count > 1] == []


def test_faults_are_noticed() -> None:
    (row,) = [row for row in read_rows("tor") if row["id"] == "tor-001"]
    assert faults(row, "tor") == []
    changes = [
        {"kind": "which"}, {"answers": ["nowhere"]}, {"answers": []}, {"document": "x"}, {"package": "rsync"}, {"lead": "x"},
        {"question": "a  b"}, {"kind": "absent"}, {"beside": "x"}, {"block": "x"},
    ]  # fmt: skip
    assert all(faults({**row, **change}, "tor") for change in changes)


def test_the_packages_are_none_of_the_tests(script: ModuleType) -> None:
    # ``script`` puts benchmarks/ on the path
    from support.own_collections import EVERY

    tested = {package for collection in EVERY.values() for package in collection}
    assert len(tested) > 25
    assert not tested & set(PACKAGES)
    questions = ROOT / "benchmarks" / "quality" / "questions"
    questions_elsewhere = {
        str(row["question"]).casefold() for file in questions.glob("*.jsonl") for _, row in read_jsonl(file)
    }
    assert not questions_elsewhere & {row["question"].casefold() for package in PACKAGES for row in read_rows(package)}


def test_every_file_of_questions_is_listed() -> None:
    assert sorted(PACKAGES) == sorted(file.stem for file in QUESTIONS.glob("*.jsonl"))
    assert {name for name in PACKAGES if PACKAGES[name].get("held_out")} == {"tor", "dovecot-core", "rsync", "angband-data"}
    assert sum(file.stat().st_size for file in QUESTIONS.iterdir()) < 4e6


def test_the_table_counts_what_is_there() -> None:
    table = re.findall(
        r"^\| \**([\w.+-]+?)\** \| (\S+) \| (\d+) \|((?: \d+ \|){9})", (QUESTIONS / "README.md").read_text(), re.MULTILINE
    )
    assert [name for name, *_ in table] == list(PACKAGES)
    for package, version, documents, counts in table:
        kinds = Counter(row["kind"] for row in read_rows(package))
        assert (version, int(documents)) == (PACKAGES[package]["version"], len(PACKAGES[package]["documents"]))
        assert [int(count) for count in re.findall(r"\d+", counts)] == [*(kinds[kind] for kind in KINDS), kinds.total()]


PASSAGES = [
    {"document": "a.txt", "title": "", "heading": "", "text": "To clean it:\n1. Cut the\n   power.\n2. Drain it."},
    {"document": "b.txt", "title": "", "heading": "", "text": "To clean it: 2. Drain it. 1. Cut the power."},
    {"document": "a.txt", "title": "", "heading": "", "text": "Again. 1. Cut the power. 2. Drain it. It takes 5 minutes."},
]


@pytest.mark.parametrize(
    ("row", "place", "several"),
    [
        ({"document": "a.txt", "block": ["1. Cut the power.", "2. Drain it."]}, 0, 1),
        ({"document": "a.txt", "block": ["1. Cut the power.", "2. Drain it."], "evidence": "Again. 1."}, 2, 0),
        ({"document": "b.txt", "block": ["1. Cut the power.", "2. Drain it."]}, None, 0),
        ({"document": "a.txt", "evidence": "takes 5 minutes"}, 2, 0),
        ({"document": "b.txt", "evidence": "takes 5 minutes"}, None, 0),
        ({"document": "a.txt", "beside": "clean it: 1."}, 0, 0),
        ({"document": "c.txt", "beside": "clean it: 1."}, None, 0),
    ],
)
def test_a_passage_holds_evidence_and_block(
    script: ModuleType, row: dict[str, Any], place: int | None, several: int
) -> None:
    placed, missing, count = script.find_rows([row], PASSAGES)
    assert (placed, missing) == (([], [row]) if place is None else ([{**row, "passage": place}], []))
    assert count == several


def test_documents_that_are_not_there_are_named(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("The still is clean.\n\nNever open it hot.")
    (tmp_path / "b.txt").write_bytes(b" ")
    passages = list(
        script.read_passages(tmp_path, ["a.txt", "b.txt", "c.txt"], lambda texts: [len(t.split()) for t in texts])
    )
    assert [(passage["document"], script.plain(passage["text"])) for passage in passages] == [
        ("a.txt", "The still is clean. Never open it hot.")
    ]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["b.txt", "it holds no c.txt"]
