from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.provenance import data_hash, fingerprint


@pytest.mark.parametrize(("value", "digits"), [
    ([], "4f53cda18c2baa0c"), ([["who", 1.5], None], "663a16bd9ef441d3"), ({"b": 1, "a": 2}, "6f21dfd78e16c056"),
    ("Zürich", "dfcb63f95eb8747e"),
])  # fmt: skip
def test_a_fingerprint_is_the_same_in_every_version(value: object, digits: str) -> None:
    assert fingerprint(value) == digits


def test_the_order_of_keys_counts() -> None:
    assert fingerprint({"a": 2, "b": 1}) != fingerprint({"b": 1, "a": 2})


def test_data_hash_follows_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    first = data_hash([tmp_path / "x"])
    assert first == data_hash([tmp_path])
    (tmp_path / "x").write_text("2")
    assert first != data_hash([tmp_path / "x"])
