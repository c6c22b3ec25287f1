from __future__ import annotations

from oreqa.generation.drafts import Draft, drop_repeated


def draft(question: str, dropped: str | None = None) -> Draft:
    return Draft(0, "four", 3, "search", question, dropped=dropped)


def test_a_question_asked_before_in_the_same_words_is_dropped() -> None:
    drafts = [draft("How many legs?"), draft("how many legs"), draft("How many eyes?"), draft("The how many legs")]
    assert [d.dropped for d in drop_repeated(drafts)] == [None, "repeated", None, "repeated"]


def test_what_was_dropped_before_keeps_its_reason_and_blocks_no_other() -> None:
    drafts = [draft("How many legs?", "round_trip"), draft("How many legs?"), draft("How many legs?", "vague")]
    assert [d.dropped for d in drop_repeated(drafts)] == ["round_trip", None, "vague"]
    assert drop_repeated([]) == []


def test_a_row_gives_the_draft_back() -> None:
    for row in (draft("How many legs?"), Draft(0, "a", 0, "s", "Q?", 0.25, "improbable")):
        assert Draft(0, **row.row()) == row
    assert "dropped" not in draft("Q?").row()
