from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.errors import InputError
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.mining import mine_negatives, mine_predictions, mine_silver


def run(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


@pytest.mark.slow
def test_silver_and_predictions(
    squad_file: Path, tiny: Path, tiny_classifier: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    mined = mine_silver(
        tmp_path / "f.jsonl", data=squad_file, classifier=tiny_classifier, k=4, min_probability=0.3, model=tiny, draw=9
    )
    counts = run(
        "mine", "silver", "--data", squad_file, "--classifier", tiny_classifier, "-k", 4, "--min-probability", 0.3,
        "--model", tiny, "--draw", 9, "--out", tmp_path / "c.jsonl",
    )  # fmt: skip
    assert (tmp_path / "f.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert counts["questions"] == mined.questions == 9
    assert (counts["gold"], counts["silver"]) == (len(mined.of_source("gold")), len(mined.of_source("silver")))
    assert counts["silver"] > 0
    number = mine_predictions(squad_file, tmp_path / "f", reader=tiny_reader, passages=2, k=7, draw=5)
    common = ("--data", squad_file, "--reader", tiny_reader, "--passages", 2, "-k", 7, "--draw", 5)
    assert run("mine", "predictions", *common, "--out", tmp_path / "c")["questions"] == number == 5
    assert (tmp_path / "f").read_bytes() == (tmp_path / "c").read_bytes()


def test_wrong_arguments_of_mining_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    nowhere: Any = tmp_path / "nowhere"
    for arguments, message in (
        ({"draw": -1}, "draw is -1; it must be a whole number from 1"),
        ({"draw": 2.5}, r"draw is 2\.5; it must be a whole number from 1"),
        ({"passages": 0}, "passages is 0; it must be a whole number from 1"),
        ({"k": 0}, "k is 0; it must be a whole number from 1"),
        ({"seed": "x"}, "seed is 'x'; it must be a whole number from 0"),
    ):
        with pytest.raises(InputError, match=message):
            mine_predictions(nowhere, tmp_path / "o", **arguments)
    for arguments, message in (
        ({"draw": -1}, "draw is -1; it must be a whole number from 1"),
        ({"seed": "x"}, "seed is 'x'; it must be a whole number from 0"),
    ):
        with pytest.raises(InputError, match=message):
            mine_negatives(nowhere, tmp_path / "o", **arguments)
        with pytest.raises(InputError, match=message):
            mine_silver(tmp_path / "o", data=nowhere, **arguments)
    for arguments, message in (
        ({"min_probability": "a"}, "min_probability is 'a'; it must lie between 0 and 1"),
        ({"min_probability": 5}, "min_probability is 5; it must lie between 0 and 1"),
        ({"k": 0}, "k is 0; it must be a whole number from 1"),
        ({"mode": "fuzzy"}, "no mode 'fuzzy': choose hybrid, dense, sparse"),
        ({"split": "dev"}, "are for data: leave them out"),
        ({"held_out": True}, "are for data: leave them out"),
        ({"draw": 5}, "are for data: leave them out"),
        ({"seed": 1}, "are for data: leave them out"),
        ({"model": nowhere}, "are for data: leave them out"),
        ({"questions": "\ud800"}, "questions: number 1 holds half of a surrogate pair"),
        ({"questions": ["who", "a \udcff"]}, "questions: number 2 holds half of a surrogate pair"),
    ):
        with pytest.raises(InputError, match=message):
            mine_silver(tmp_path / "o", **{"questions": ["who"], "index": nowhere, **arguments})


def test_a_question_mined_as_a_string_is_one_question(
    library: Path, tiny: Path, tiny_classifier: Path, tmp_path: Path
) -> None:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    mined = mine_silver(
        tmp_path / "s", questions="hea", index=tmp_path / "kb", classifier=tiny_classifier, min_probability=0
    )
    assert (mined.questions, {row["question"] for row in mined.rows}) == (1, {"hea"})
