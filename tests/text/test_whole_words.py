from __future__ import annotations

from itertools import pairwise

import pytest
from growth import growth
from hypothesis import given
from hypothesis import strategies as st

from oreqa.text.whole_words import LONGEST_WORD, long_words, whole_words


def widened(text: str, part: str) -> str:
    start = text.index(part)
    start, end = whole_words(text, start, start + len(part), long_words(text))
    return text[start:end]


@pytest.mark.parametrize(
    "word",
    ["read.csv2", "shared_buffers", "1.2", "v2.39.5", "C++", "C++11", "C#", "/etc/fstab", "~/.ssh/config", "./run.sh",
     "user@host", "user@my-host.org", "10%", "--no-edit", "-x", "-5", "1,700,250", "12:30", "std::vector", "localhost:8080",
     "https://example.org/a/b", "$4.25", "all-MiniLM-L6-v2", "UTF-8", "2018-08-21", "AC/DC", "AT&T", ".gitignore", "U.S",
     "x86-64", "cafe\u0301.txt", "20°C", "C:\\temp\\x"],
)  # fmt: skip
@pytest.mark.parametrize("frame", ["{}", "Write {} here.", "It is {}.", "({})", "“{}”, she said", "one,{};"])
def test_a_word_is_whole_wherever_it_is_cut(word: str, frame: str) -> None:
    text = frame.format(word)
    first = text.index(word)
    for start in range(first, first + len(word)):
        for end in range(start + 1, first + len(word) + 1):
            if any(c.isalnum() for c in text[start:end]):
                begin, stop = whole_words(text, start, end, long_words(text))
                assert text[begin:stop] == word


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a 12-year-old boy", "12"),
        ("the Anglo-Saxon king", "Saxon"),
        ("ruled 1985-1990 there", "1985"),
        ("ruled 1985–1990 there", "1990"),
        ("the mid-1980s were", "1980s"),
        ("the 7th-century king", "7th"),
        ("of a 150,000-strong army", "150,000"),
        ("Einstein's theory", "Einstein"),
        ("Path—the fourth—is", "the fourth"),
        ("the war ended in 1956.In the spring", "1956"),
        ("well...yes", "yes"),
        ("北京2008.5奥运", "北京"),
        ("made by Apple Inc. in", "Apple Inc."),
        ("in the U.S. It", "the U.S."),
        ("f (x) is", "f (x)"),
        ("they don't", "don't"),
        ("the '90s were", "the '90s"),
    ],
)
def test_prose_stays_as_it_was_read(text: str, part: str) -> None:
    assert widened(text, part) == part


@pytest.mark.parametrize(
    ("text", "part", "wanted"),
    [
        ("see (foo bar) there", "(foo", "foo"),
        ("see (foo bar) there", "bar)", "bar"),
        ("call f(x) now", "f(x", "f(x)"),
        ('say "hi there" now', '"hi', "hi"),
        ("is “Lost (X)” by", "“Lost (X)", "Lost (X)"),
        ("see (", "(", "("),
        ("in [1] it", "[1] it", "[1] it"),
    ],
)
def test_lone_brackets_are_omitted(text: str, part: str, wanted: str) -> None:
    assert widened(text, part) == wanted


@given(st.text("ab1.-_/@+:,;\"'()[]“”% \n北é$#"), st.data())
def test_a_stretch_stays_a_stretch_and_whole_words_stay(text: str, data: st.DataObject) -> None:
    words = long_words(text)
    assert all(0 <= start < end <= len(text) for start, end in words)
    assert all(a[1] <= b[0] for a, b in pairwise(words))
    if text:
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start + 1, len(text)))
        begin, stop = whole_words(text, start, end, words)
        assert 0 <= begin < stop <= len(text)
        assert begin < end
        assert stop > start


def test_data_is_no_word() -> None:
    assert long_words("a." * LONGEST_WORD) == []
    assert long_words("word: " + "x/" * LONGEST_WORD + "x b.c")[-1][1] == len("word: " + "x/" * LONGEST_WORD + "x b.c")


@pytest.mark.parametrize("unit", ["a", "a.", "a-", "(", ".", "/~", "a1-", "A-", "'", '"', "a, ", "x.y "])
def test_time_is_linear(unit: str) -> None:
    def extend(text: str) -> None:
        whole_words(text, 0, len(text), long_words(text))

    assert growth(extend, lambda n: unit * n, 10_000) < 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("yes/no", []),
        ("he/she and/or", []),
        ("his/10-year-old", []),
        ("/etc/fstab", ["/etc/fstab"]),
        ("src/oreqa/core", ["src/oreqa/core"]),
        ("docs/a.md", ["docs/a.md"]),
        ("10/12", ["10/12"]),
        ("Trail/SW well-known", []),
    ],
)
def test_slashes_of_paths_and_of_prose(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in long_words(text)] == words
