"""Makes texts safe to display: what a terminal or page would obey rather than show becomes a mark; and counts."""

from __future__ import annotations

# Characters that a terminal obeys, or that hide how a text reads: C0 and C1 controls, DEL, bidirectional controls; and those
# that no encoding supports: surrogates that stand for bytes of file names.
_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_MARKS = {
    **{code: 0x2400 + code for code in range(0x20)},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *_BIDI, *range(0xD800, 0xE000)), 0xFFFD),
    **dict.fromkeys((0x85, 0x2028, 0x2029), 0x2424),  # other line breaks
}
_LINES = {code: mark for code, mark in _MARKS.items() if chr(code) not in "\n\t"}


def visible(text: str, lines: bool = False) -> str:
    """Return a text with each control character replaced by one mark, e.g. ``␛`` for escape, which keeps offsets.

    With ``lines``, line breaks and tabs stay.
    """
    return text.translate(_LINES if lines else _MARKS)


def counted(number: int, noun: str) -> str:
    """Return e.g. ``1 file`` or ``2,000 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
