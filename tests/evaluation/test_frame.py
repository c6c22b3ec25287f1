from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.errors import InputError
from oreqa.evaluation.frame import run_folder
from oreqa.index.generations import generation_folder


def test_what_would_be_lost_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    generation_folder(tmp_path / "index", 1).mkdir(parents=True)
    for name, file in (("run", "metrics.json"), ("model", "config.json"), ("trained", "run.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("{}")
    for name, contents in (("run", "a finished run"), ("model", "a model"), ("trained", "a model"), ("index", "an index")):
        with pytest.raises(InputError, match=rf"{name}: it holds {contents} already; choose another folder, or remove it"):
            run_folder(tmp_path / name)
    with pytest.raises(InputError, match=r"a.txt: it is a file; name a folder for the run"):
        run_folder(tmp_path / "a.txt")


def test_an_unfinished_run_goes_on_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "asking.jsonl").write_text("")
    assert run_folder(tmp_path / "run") == tmp_path / "run"
    assert run_folder(str(tmp_path / "new")) == tmp_path / "new"
