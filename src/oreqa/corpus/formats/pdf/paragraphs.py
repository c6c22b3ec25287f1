"""Groups the lines of a PDF into paragraphs, and joins them into text."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from oreqa.corpus.formats.pdf.lines import Line

_BULLET = re.compile(r"(?:[-–—*•‣◦▪●○■□]|\(?\d{1,3}[.)]|\(?[a-z]\)|\[\d{1,3}\])(?:\s|\Z)")
_BROKEN = re.compile(r"([^\W\d_]+)[-‐]\Z")
_FIRST = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LONGEST_WORD = 100
_APART = 1.4
"""A step down larger than this multiple of the line pitch separates paragraphs."""
_INDENT = 0.8
"""An indent larger than this share of the font size starts a paragraph."""


@dataclass(slots=True)
class Block:
    """The lines of one paragraph. A ``joined`` block continues the previous one: a code line, table row or list item."""

    lines: list[Line]
    joined: bool = False
    inner: float = field(default=0.0)
    """The left edge of its lines after the first."""


def measure(lines: Sequence[Line]) -> None:
    """Set the margin, edge and pitch of each line of a page from its column, a run of lines below each other."""
    column: list[Line] = []
    left = right = 0.0
    for line in [*lines, None]:
        if (
            line is not None
            and column
            and line.base < column[-1].base + 0.5 * line.size
            and line.left < right
            and line.right > left
        ):
            column.append(line)
            left, right = min(left, line.left), max(right, line.right)
            continue
        margin = right
        edges = Counter(round(member.left) for member in column).most_common(1)
        steps = [a.base - b.base for a, b in itertools.pairwise(column) if a.base - b.base > 0.3 * a.size]
        pitch = median(steps) if len(steps) > 2 else 0.0
        for member in column:
            member.margin, member.edge = margin, edges[0][0]
            member.pitch = min(pitch, 2 * member.size) or 1.25 * member.size
        if line is not None:
            column, left, right = [line], line.left, line.right


def split_blocks(lines: Iterable[Line]) -> Iterator[Block]:
    """Yield the paragraphs of ``lines``, in order. They may span pages."""
    block: Block | None = None
    for line in lines:
        if block is None:
            block = Block([line])
            continue
        starts_block, joined = _starts_block(block, line)
        if starts_block:
            yield block
            block = Block([line], joined=joined)
        else:
            block.lines.append(line)
            block.inner = line.left if len(block.lines) == 2 else min(block.inner, line.left)
    if block is not None:
        yield block


def _starts_block(block: Block, line: Line) -> tuple[bool, bool]:
    """Return whether ``line`` starts a new block, and whether that is joined to the previous one."""
    above = block.lines[-1]
    size = max(above.size, line.size)
    if min(above.size, line.size) < 0.85 * size and abs(above.base - line.base) > 0.5 * size:
        return True, False
    if above.page != line.page or line.base > above.base + 0.5 * size:
        return not _continues(above, line), False
    step = above.base - line.base
    if step > _APART * max(above.pitch, line.pitch):
        return True, False
    if above.hyphen and step > 0:
        return False, False
    short = _is_short(above, line) and step > 0.3 * size
    if _BULLET.match(line.text) and (short or not line.text[0].isdigit() or above.text[-1] in ".!?:;,"):
        return True, len(block.lines) == 1 and bool(_BULLET.match(above.text))
    row = len(block.lines) == 1 and above.text[-1] not in ".!?"
    if (above.gapped and line.gapped) or (above.mono and line.mono) or short:
        return True, row
    return _is_indented(block, line, size), False


def _continues(above: Line, line: Line) -> bool:
    """Return whether a paragraph continues across the end of a page or column."""
    if above.hyphen:
        return True
    if above.text[-1] in ".!?:;" or _BULLET.match(line.text) or above.gapped or line.gapped:
        return False
    full = above.right > above.margin - 2 * above.size and above.right - above.left > 10 * above.size
    return full and (line.text[0].islower() or line.text[0].isdigit() or above.text[-1] == "," or not line.text[0].isalpha())


def _is_short(above: Line, line: Line) -> bool:
    """Return whether the first word of ``line`` would have fitted in the line above."""
    if above.hyphen:
        return False
    word = line.text.split(" ", 1)[0]
    width = (line.right - line.left) * len(word) / len(line.text)
    return above.right + width + 0.8 * above.size < above.margin


def _is_indented(block: Block, line: Line, size: float) -> bool:
    above = block.lines[-1]
    if len(block.lines) == 1:
        is_right = line.left - min(above.left, line.edge) > _INDENT * size
        return is_right and not _BULLET.match(above.text) and above.text[-1] in ".:!?"
    return abs(line.left - block.inner) > _INDENT * size and min(line.top, above.top) - max(line.bottom, above.bottom) <= 0


def words_of(lines: Iterable[Line]) -> Counter[str]:
    """Count a document's words in lower case, without those broken at the end of a line."""
    counts: Counter[str] = Counter()
    broken = False
    for line in lines:
        text = line.text.casefold()
        if broken:
            text = text.partition(" ")[2]
        broken = bool(_broken_word(text))
        if broken:
            text = text.rpartition(" ")[0]
        counts.update(_WORD.findall(text))
    return counts


def _broken_word(text: str) -> str:
    """Return the letters before a hyphen that ends a line; "" if there are none."""
    match = _BROKEN.search(text[-_LONGEST_WORD:]) if text.endswith(("-", "‐")) else None
    return match[1] if match else ""


_CONJUNCTIONS = {"and", "or", "to", "und", "oder", "bzw", "et", "ou"}


def join(lines: Sequence[Line], words: Counter[str]) -> tuple[str, list[tuple[int, Line, int]]]:
    """Join a paragraph's lines; return its text, and each line with its offset and number of characters in it."""
    pieces: list[str] = []
    starts: list[tuple[int, Line, int]] = []
    length = 0
    for at, line in enumerate(lines):
        text = line.text
        after = lines[at + 1].text if at + 1 < len(lines) else ""
        gap = " " if after else ""
        rest = _FIRST.match(after)
        # Keep the hyphen of "short- and long-term".
        if rest and rest[0] not in _CONJUNCTIONS and (broken := _broken_word(text)):
            if _is_whole(broken, rest[0], line.hyphen, words, text):
                text = text[:-1]
            gap = ""
        starts.append((length, line, len(text)))
        pieces += [text, gap]
        length += len(text) + len(gap)
    return "".join(pieces), starts


def _is_whole(left: str, right: str, soft: bool, words: Counter[str], text: str) -> bool:
    """Return whether two parts of a word hyphenated at a line end form one word without the hyphen.

    ``words`` counts the document's own words.
    """
    if not right[0].islower():
        return False
    first, second = left.casefold(), right.casefold()
    with_hyphen, without = words[f"{first}-{second}"], words[first + second]
    if with_hyphen != without:
        return without > with_hyphen
    if text[: -len(left) - 1].endswith("-"):
        return False
    return not (len(left) > 2 and len(right) > 2 and words[first] and words[second])
