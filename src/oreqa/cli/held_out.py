"""What of a data file mining and training hold out, for the commands that read it."""

from __future__ import annotations

from pathlib import Path

from oreqa.cli.output import counted, say


def say_held_out(file: Path, held_out: bool | None = None) -> None:
    """Say how many articles and answered questions of a SQuAD or MRQA file are held out. Of other data nothing is said.

    ``held_out`` says whether these articles are used, or the others; their questions without an answer are counted, too.
    """
    from oreqa.datasets.load import data_kind, load_paragraphs
    from oreqa.datasets.paragraphs import count_held_out, split_articles

    if data_kind(file) not in ("squad", "mrqa"):
        return
    paragraphs = load_paragraphs(file)
    counts = count_held_out(paragraphs)
    measured = f", {counted(counts.questions, 'question')}" if counts.articles else "; none is left to measure on"
    say(f"  held out by title: {counts.articles:,} of {counted(counts.all_articles, 'article')}{measured}")
    used = () if held_out is None else split_articles(paragraphs)[held_out]
    if unanswered := sum(not question.answers for paragraph in used for question in paragraph.questions):
        say(f"  never used: {counted(unanswered, 'question')} without an answer")
