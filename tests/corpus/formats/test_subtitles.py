"""Subtitles: what is said, with its times as places."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Place
from oreqa.corpus.formats.subtitles import read_subtitles

SRT = """1
00:00:01,000 --> 00:00:03,000
<i>The bell</i> rings
at noon.

2
00:00:03,500 --> 00:00:05,000
{\\an8}The gate opens.

3
01:01:05,000 --> 01:01:07,000
Later.
"""


def test_subtitles_that_follow_one_another_are_a_paragraph() -> None:
    document = read_subtitles(SRT.encode(), Path("some_film.srt"))
    assert (document.title, document.text) == ("some film", "The bell rings at noon.\nThe gate opens.\n\nLater.")
    assert document.places == (Place(0, "0:00:01"), Place(24, "0:00:03"), Place(41, "1:01:05"))


def test_other_formats() -> None:
    vtt = "WEBVTT\n\nNOTE no\n\n00:01.000 --> 00:03.000 align:start\n<v Ida>Hello &amp; bye.\n\n00:03.100 --> 00:04.000\nHello &amp; bye.\n"
    assert read_subtitles(vtt.encode(), Path("a.vtt")).text == "Hello & bye."
    ass = "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\nDialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,One,\\Ntwo\nComment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,no\n"
    assert read_subtitles(ass.encode(), Path("a.ass")).text == "One, two"


@pytest.mark.parametrize("data", [b"", b"text", b"WEBVTT", b"1\n00:00:01 --> x\nText\n"])
def test_files_without_subtitles_have_no_text(data: bytes) -> None:
    for name in ("a.srt", "a.vtt", "a.ass"):
        assert read_subtitles(data, Path(name)).text == ""


def test_long_speech_is_cut_at_the_ends_of_sentences() -> None:
    cues = "".join(
        f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\nNumber {n} is a sentence that is not short.\n\n" for n in range(1, 30)
    )
    paragraphs = read_subtitles(cues.encode(), Path("a.srt")).text.split("\n\n")
    assert len(paragraphs) > 2
    assert all(len(paragraph) < 500 for paragraph in paragraphs)
