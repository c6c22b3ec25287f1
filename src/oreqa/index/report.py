"""The outcome of an update: what was added, changed, removed and left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from oreqa.index.coverage import Words


@dataclass(repr=False)
class Report:
    """Counts of documents and passages after an update, and the lines that a user should read."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    """Documents that were pruned."""
    gone: int = 0
    """Documents that are no longer in their source and were kept; ``prune`` would remove them."""
    passages: int = 0
    """Passages in the whole index."""
    encoded: int = 0
    """Passages that the model encoded; the others came from the memo."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Files that no reader supports, counted by file extension."""
    words: Words = field(default_factory=Words)
    """Words of the files read by this update: in the source, extracted, and left out by reason."""
    problems: list[str] = field(default_factory=list)
    """One line per file that was skipped."""
    warnings: list[str] = field(default_factory=list)
    """One line per problem with a file from which too little text was extracted."""
    mended: list[str] = field(default_factory=list)
    """Names of the search files that were damaged and have been rebuilt."""

    def __repr__(self) -> str:
        names = ("added", "changed", "unchanged", "removed", "gone", "passages", "encoded", "problems", "warnings")
        return f"Report({', '.join(f'{name}={value!r}' for name in names if (value := getattr(self, name)))})"
