"""What of a data file mining and training hold out, for the commands that read it."""

from __future__ import annotations

from pathlib import Path

from oreqa.cli.output import counted, say


def say_held_out(file: Path, held_out: bool = False) -> None:
    """Say how many articles and questions of a SQuAD or MRQA file are held out, and how many questions were skipped.

    ``held_out`` says whether these articles are used, instead of the others. Of other data nothing is said.
    """
    from oreqa.datasets.load import data_kind, load_paragraphs
    from oreqa.datasets.paragraphs import count_held_out, split_articles

    if data_kind(file) not in ("squad", "mrqa"):
        return
    paragraphs = load_paragraphs(file)
    counts = count_held_out(paragraphs)
    articles, questions = counted(counts.all_articles, "article"), counted(counts.all_questions, "question")
    measured = "" if counts.articles else "; none is left to measure on"
    say(f"  held out by title: {counts.articles:,} of {articles}, with {counts.questions:,} of {questions}{measured}")
    used = split_articles(paragraphs)[held_out]
    if skipped := sum(not question.answers for paragraph in used for question in paragraph.questions):
        say(f"  skipped: {counted(skipped, 'question')} without an answer")
