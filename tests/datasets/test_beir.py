from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.datasets.beir import Beir, Entry, load_beir, save_beir
from oreqa.errors import InputError


def test_beir_there_and_back(tmp_path: Path) -> None:
    task = Beir((Entry("d1", "T", "x"), Entry("d2", "", "y")), {"q": "why?"}, {"q": {"d1": 1, "d2": 0}})
    save_beir(tmp_path, task, "test")
    assert load_beir(tmp_path, "test") == task
    with pytest.raises(InputError, match=r"dev.tsv: no such file.*the folder holds: test.tsv"):
        load_beir(tmp_path, "dev")
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td9\t1\n")
    with pytest.raises(InputError, match="line 2: there is no document 'd9'"):
        load_beir(tmp_path, "test")
    (tmp_path / "qrels" / "test.tsv").write_text("q d1 1\n")
    with pytest.raises(InputError, match="line 1: expected 'query-id"):
        load_beir(tmp_path, "test")
    with pytest.raises(InputError, match="no such folder"):
        load_beir(tmp_path / "none", "test")
