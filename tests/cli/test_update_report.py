from __future__ import annotations

from pathlib import Path

from oreqa.cli.update_report import update_summary
from oreqa.index.coverage import Report


def test_patterns_that_match_nothing_or_a_part_do_not_advise_to_prune() -> None:
    hint = "2 documents gone from these paths, or left out: --prune removes them"
    nothing = Report(gone=2, passages=3)
    assert update_summary(Path("kb"), nothing, "", excluded=True) == ["kb: no documents found; 3 passages in all"]
    assert update_summary(Path("kb"), nothing, "")[1:] == [hint]
    many = Report(added=8, unchanged=3, removed=1, files=2, passages=9)
    assert update_summary(Path("kb"), many, "") == ["kb: 8 added, 3 unchanged, in 2 files, 1 removed; 9 passages in all"]
    assert update_summary(Path("kb"), Report(added=2, files=2, passages=9), "") == ["kb: 2 added; 9 passages in all"]
    part = Report(unchanged=1, gone=2, passages=3)
    assert update_summary(Path("kb"), part, "", excluded=True)[1:] == [hint]
    assert update_summary(Path("kb"), part, "", included=True)[1:] == []
