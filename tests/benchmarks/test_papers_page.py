"""The page of the four papers shows what lies in the raw files, and notices when it does not."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))  # for common.py and support/
    try:
        spec = importlib.util.spec_from_file_location("papers_page", BENCHMARKS / "papers_page.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


@pytest.fixture
def results(script: ModuleType, tmp_path: Path) -> Path:
    """A copy of the raw files that the page is made of."""
    for rows in script.ROWS.values():
        for row in rows:
            for name, *_ in row.ours:
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(script.RESULTS / name, tmp_path / name)
    return tmp_path


def test_the_page_shows_the_raw_figures(script: ModuleType) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.with_tables(page) == page
    kept = json.loads((script.RESULTS / "papers" / "rows.json").read_text(encoding="utf-8"))
    assert kept == script.raw_rows()


def test_a_figure_that_was_measured_again_changes_the_page(script: ModuleType, results: Path) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.with_tables(page, results) == page
    file = results / "endx" / "squad.json"
    content = json.loads(file.read_text())
    content["rows"]["gru endx_dot"]["mrr"] = [41.234, 0.567]
    file.write_text(json.dumps(content))
    changed = script.with_tables(page, results)
    assert "→41.23±0.57 |" in changed
    del content["rows"]["gru endx_dot"]
    file.write_text(json.dumps(content))
    with pytest.raises(KeyError, match="gru endx_dot"):
        script.with_tables(page, results)


def test_code_that_no_commit_holds_is_marked(script: ModuleType, results: Path) -> None:
    (row,) = (row for row in script.ROWS["endx"] if row.system == "GRU, raw")
    assert "†" not in script.line(row, results)
    file = results / "endx" / "squad.json"
    content = json.loads(file.read_text())
    for commit in ("f7c6adc-dirty", "unknown", None):
        file.write_text(json.dumps({**content, "commit": commit}))
        assert "±0.24† |" in script.line(row, results)
    del content["commit"]
    file.write_text(json.dumps(content))
    assert "±0.24† |" in script.line(row, results)


def test_a_page_without_a_table_is_refused(script: ModuleType) -> None:
    with pytest.raises(ValueError, match="no table between <!-- augmentation --> and <!-- end -->"):
        script.with_tables("# A page")


@pytest.mark.parametrize(
    ("value", "seeds", "shown"),
    [
        (70, 1, "70.00"),
        ([30.344, 0.889], 3, "30.34±0.89"),
        ([54.55, 0.0], 1, "54.55"),
        ([1.0, 2.0, 3.0], 3, "2.00±1.00"),
        ([77.4], 1, "77.40"),
        ([90.17, 0.17, [90.0, 90.2, 90.3]], 3, "90.17±0.17"),
    ],
)
def test_figures_are_shown_with_their_deviation(script: ModuleType, value: object, seeds: int, shown: str) -> None:
    assert script.shown(value, seeds) == shown


def test_a_row_that_was_not_run_says_so(script: ModuleType) -> None:
    for rows in script.ROWS.values():
        for row in rows:
            assert row.ours or row.verdict.startswith("not "), row
