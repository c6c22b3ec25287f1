"""What an update of an index did, in lines for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oreqa.cli.hits import shown_path
from oreqa.cli.output import counted
from oreqa.corpus.unread import include_hint
from oreqa.defaults import ENGLISH

if TYPE_CHECKING:
    from oreqa.index.coverage import Report


def update_summary(index: Path, report: Report, model: str, included: bool = False, excluded: bool = False) -> list[str]:
    """Return the lines about an update; patterns may have ``included`` or ``excluded`` files."""
    counts = [
        f"{number} {name}"
        for number, name in ((report.added, "added"), (report.changed, "changed"), (report.unchanged, "unchanged"))
        if number
    ]
    if 0 < report.files < report.added + report.changed + report.unchanged:
        counts.append(f"in {counted(report.files, 'file')}")
    if report.removed:
        counts.append(f"{report.removed} removed")
    if report.problems:
        counts.append(f"{counted(len(report.problems), 'file')} skipped")
    lines = [f"{index}: {', '.join(counts) or 'no documents found'}; {counted(report.passages, 'passage')} in all"]
    words = report.words
    if words.source:
        reasons = sorted(words.left_out.items(), key=lambda pair: -pair[1])
        left = "".join(f", {count:,} {reason}" for reason, count in reasons[:6] if count)
        lines.append(f"{words.read:,} of {counted(words.source, 'word')} read{'; left out' + left[1:] if left else ''}")
    if report.languages and model in ENGLISH:
        languages = sorted(report.languages.items(), key=lambda pair: -pair[1])
        named = ", ".join(f"{counted(number, 'document')} in {language}" for language, number in languages[:3])
        named += ", ..." if len(languages) > 3 else ""
        lines.append(f"{named}: {model} has learned English; choose a multilingual model with --model for a new index")
    if report.rebuilt:
        lines.append(f"{counted(len(report.rebuilt), 'damaged file')} rebuilt: {', '.join(report.rebuilt)}")
    # --include selects some files, and patterns that leave nothing are a mistake: what they exclude is not gone.
    if report.gone and not included and (counts or not excluded):
        lines.append(missing_line(report.gone))
    if report.unknown:
        kinds = [
            f"{count} {kind or 'without a suffix'}"
            + (f" ({shown_path(report.examples[kind])})" if kind in report.examples else "")
            for kind, count in report.unknown.items()
        ]
        most = f"{', '.join(kinds[:8])}{', ...' if len(kinds) > 8 else ''}"
        hint = include_hint(report.include)
        count = counted(sum(report.unknown.values()), "file")
        lines.append(f"{count} of other kinds not read: {most}{'; ' if hint else ''}{hint}")
    return lines


def missing_line(count: int) -> str:
    return (
        f"{counted(count, 'document')} gone from these paths, or left out: --prune removes {'it' if count == 1 else 'them'}"
    )
