"""AsciiDoc: sections, lists, delimited blocks and tables, in the syntax of AsciiDoc.py and of Asciidoctor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.markup import LONGEST_LINE_WITH_MARKS, LineMarkup
from oreqa.corpus.formats.rendered import read_rendered

_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?$")
_REFERENCE = re.compile(r"\{([\w-]+)\}")
_HEADING, _UNDERLINE = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)"), re.compile(r"([=\-~^+])\1{2,}\s*$")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|```+)(?:\w*)\s*$")
_TABLE = re.compile(r"[|,:!]={3,}\s*$")
_MACRO = re.compile(r"(?:ifdef|ifndef|ifeval|endif|include|toc|anchor)::.*$|\[\[[^\]]*\]\]\s*$|<{3,}\s*$|'{3,}\s*$")
_CONDITION = re.compile(r"ifn?def::[^\[]*\[(.+)\]\s*$")
_ATTRIBUTES = re.compile(r"\[(?!\[)[^\]]*\]\s*$")
_TITLE = re.compile(r"\.([^\s.].*)$")
_ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d+\.|[a-z]\.|<(?:\d+|\.)>)\s+(?:\[[ x*]\]\s+)?(\S.*)$")
_TERM = re.compile(r"\s*(?:\[\[[^\]]*\]\])?(\S.*?|)(:{2,4}|;;)(?:\s+(.*))?$")
_IMAGE = re.compile(r"(?:image|video|audio)::[^\[]*\[(.*)\]\s*$")
_SPAN = re.compile(r"(\d*)(?:\.(\d+))?([*+])")
_MOST_SPANNED, _MOST_COLUMNS = 50, 1000
"""Most columns and rows of a cell, and most columns of a table."""
_CELL = re.compile(r"(?:(?<=\s)|^)((?:\d+(?:\.\d+)?[*+]|\.\d+\+)?[<^>.]*[aehlmsdv]?)\|")


def _shown(match: re.Match[str]) -> str:
    """Return the text between marks, whichever they are."""
    return next(filter(None, match.groups()), "")


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\(\(\(.*?\)\)\)|(?:indexterm|pass|anchor):\w*\[[^\]]*\]|\[\[[^\]]*\]\]"), ""),
    (re.compile(r"\(\((.*?)\)\)"), r"\1"),
    (re.compile(r"&lt;&lt;([^,&]+)(?:,\s*(.*?))?&gt;&gt;"), lambda match: match[2] or match[1].lstrip("#")),
    (re.compile(r"(?<![\w:])link(?:git):([\w.-]+)\[(\w*)\]"), r"\1(\2)"),
    (re.compile(r"(?:link|xref|mailto|menu):(\S*?)\[([^\]]*)\]"), lambda match: match[2].rstrip("^") or match[1]),
    (re.compile(r"((?:https?|ftp|irc)://[^\s\[\]]+)\[([^\]]*)\]"), lambda match: match[2].rstrip("^") or match[1]),
    (re.compile(r"(?:image|icon):[^\s:\[]+\[([^\]]*)\]"), r"\1"),
    (re.compile(r"(?:footnote|footnoteref):\w*\[([^\]]*)\]"), r" (\1)"),
    (re.compile(r"(?:kbd|btn|stem|latexmath|asciimath):\[([^\]]*)\]"), r"\1"),
    (re.compile(r"\[\.?line-through\](#{1,2})([^#]*)\1"), r"<s>\2</s>"),
    (re.compile(r"\[[\w.#%-]+\](?=[#*_`])"), ""),
    (re.compile(r"``(.+?)``|`\+(.+?)\+`|\+\+\+(.*?)\+\+\+|\+\+(.+?)\+\+"), _shown),
    (re.compile(r"\*\*(.+?)\*\*|__(.+?)__|##(.+?)##"), _shown),
    (re.compile(r"(?<![\w*])\*(\S(?:.*?\S)?)\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w_])_(\S(?:.*?\S)?)_(?![\w_])"), r"\1"),
    (re.compile(r"(?<![\w`])`(\S(?:.*?\S)?)[`'](?![\w`])"), r"\1"),
    (re.compile(r"(?<![\w+])\+(\S(?:.*?\S)?)\+(?![\w+])"), r"\1"),
    (re.compile(r"(?<![\w#&])#(\S(?:[^#]*\S)?)#(?!\w)"), r"\1"),
    (re.compile(r"\^(\S+?)\^"), r"<sup>\1</sup>"),
    (re.compile(r"(?<!~)~(\S+?)~(?!~)"), r"\1"),
    (re.compile(r"(?<=\S)\s+\+$"), "<br>"),
    (re.compile(r"(?<=\w)--(?=\w)|(?<=\s)--(?=\s|$)"), "—"),
    (re.compile(r"\\(?=[*_`+#{'\[<^~])"), ""),
)  # fmt: skip
_CHARACTERS = {
    "nbsp": " ", "asterisk": "*", "plus": "+", "startsb": "[", "endsb": "]", "lt": "<", "gt": ">", "amp": "&", "sp": " ",
    "litdd": "--", "apostrophe": "'", "caret": "^", "backslash": "\\", "tilde": "~", "backtick": "`", "empty": "",
    "blank": "", "vbar": "|", "zwsp": "", "wj": "", "cpp": "C++", "two-colons": "::", "two-semicolons": ";;",
    "quot": '"', "apos": "'",
}  # fmt: skip


def read_asciidoc(data: bytes, path: Path) -> Document:
    """Read AsciiDoc. The author in its header is a field; comments, passthrough blocks and includes are not read."""
    source = decode(data)
    reader = _AsciiDoc(source.split("\n"))
    reader.read()
    document = read_rendered(reader.markup.page(), source, path, reader.title)
    return replace(document, fields={"author": reader.author} if reader.author else {})


@dataclass(frozen=True, slots=True)
class _Cell:
    """A table cell, and how many columns and rows it spans."""

    text: str
    columns: int = 1
    rows: int = 1


class _AsciiDoc:
    """Reads the lines of a file."""

    def __init__(self, lines: list[str]) -> None:
        self.markup = LineMarkup()
        self.title, self.author = "", ""
        self._lines, self._next = lines, 0
        self._values = dict(_CHARACTERS)
        self._open: set[str] = set()  # delimiters of open blocks
        self._attached = -1  # the line that continues an item after a plus sign
        self._past_header = False

    def read(self) -> None:
        """Read all lines."""
        while self._next < len(self._lines):
            line = self._lines[self._next].rstrip()
            self._next += 1
            if not self._read_block(line):
                self._read_line(line)

    def _read_block(self, line: str) -> bool:
        """Read a heading, a delimited block or a table if the line begins one."""
        below = self._lines[self._next].rstrip() if self._next < len(self._lines) else ""
        if match := _HEADING.match(line):
            title = match[2].removesuffix(match[1])
            self._heading(len(match[1]), title.rstrip() if title[-1:].isspace() else match[2])
        elif self._is_underlined(line, below):
            self._next += 1
            self._heading("=-~^+".index(below[0]) + 1, line)
        elif match := _DELIMITER.match(line):
            self._delimited(match[1])
        elif _TABLE.match(line):
            self._table(line)
        else:
            return False
        return True

    def _is_underlined(self, line: str, below: str) -> bool:
        if self.markup.is_open or below in self._open or not re.search(r"\w", line) or abs(len(line) - len(below)) > 2:
            return False
        return bool(_UNDERLINE.match(below)) and not line.startswith((".", "[", "|"))

    def _heading(self, level: int, text: str) -> None:
        if level == 1 and not self._past_header:
            while self._next < len(self._lines) and (line := self._lines[self._next].strip()):
                if match := _ATTRIBUTE.match(line):
                    self._set(match)
                elif re.match(r"\w", line) and not self.author and "::" not in line:
                    self.author = self._plain(re.sub(r"\s*<.*", "", line))
                self._next += 1
            self.title = self._plain(text)  # its attributes may follow below
        else:
            self.markup.heading(max(1, level - 1), self._inline(text))
        self._past_header = True

    def _delimited(self, delimiter: str) -> None:
        """Read a block up to its closing delimiter; anything but code, comments and passthrough is read like other lines."""
        if delimiter[0] in "=*_" or delimiter == "--":
            self.markup.end_paragraph()
            self._open ^= {delimiter}
            return
        end = next(
            (i for i in range(self._next, len(self._lines)) if self._lines[i].rstrip() == delimiter), len(self._lines)
        )
        if delimiter[0] in "-.`":
            self.markup.code([re.sub(r"\s*<\d+>\s*$", "", line) for line in self._lines[self._next : end]])
        self._next = end + 1

    def _table(self, delimiter: str) -> None:
        """Read a table. Its first line has as many cells as there are columns, unless ``cols`` is set."""
        above = self._attributes()
        cells: list[_Cell] = []
        first, count, has_gap, columns = 0, 0, False, _columns(above)
        while self._next < len(self._lines) and self._lines[self._next].rstrip() != delimiter.rstrip():
            line = self._lines[self._next].strip()
            self._next += 1
            if not line:
                has_gap = has_gap or 0 < count == first
                continue
            pieces = _CELL.split(line)
            if pieces[0].strip() and cells:
                cells[-1] = replace(cells[-1], text=f"{cells[-1].text} {pieces[0].strip()}")
            for spec, text in zip(pieces[1::2], pieces[2::2], strict=True):
                cells += (new := _cells(spec, text.strip()))
                count += sum(cell.columns for cell in new)
            first = first or count
        for number, row in enumerate(_rows(cells, min(columns or first or 1, _MOST_COLUMNS))):
            self.markup.row([self._inline(cell.text) for cell in row], [(cell.columns, cell.rows) for cell in row])
            if number == 0 and (has_gap or "header" in above):
                self.markup.header()
        self._next += 1
        self.markup.end_paragraph()

    def _attributes(self) -> str:
        """Return the attributes above a table, which may have its title in between."""
        number = self._next - 1
        while number and (_ATTRIBUTES.match(self._lines[number - 1]) or _TITLE.match(self._lines[number - 1])):
            number -= 1
        return " ".join(line for line in self._lines[number : self._next - 1] if _ATTRIBUTES.match(line))

    def _read_line(self, line: str) -> None:
        markup = self.markup
        if not line:
            markup.end_paragraph()
        elif line.startswith("//") or _ATTRIBUTES.match(line) or (_MACRO.match(line) and not _CONDITION.match(line)):
            if not line.startswith("//"):
                markup.end_paragraph()
        elif line == "+":
            markup.end_paragraph()
            self._attach()
        elif match := _ATTRIBUTE.match(line):
            self._set(match)
        elif match := _CONDITION.match(line):
            markup.text(self._inline(match[1]))
        elif match := _IMAGE.match(line):
            markup.end_paragraph()
            markup.text(self._inline(match[1].split(",")[0]))
        elif not markup.is_open and (match := _TITLE.match(line)):
            markup.caption(self._inline(match[1]))
        elif match := _ITEM.match(line):
            numbered = match[1][0] not in "*-"
            mark = "1" if match[1][0].isdigit() else "a" if match[1][0].isalpha() else match[1]
            markup.item(mark, self._inline(match[2]), tag="ol" if numbered else "ul")
        elif (match := _TERM.match(line)) and match[1]:
            markup.item(match[2], self._inline(match[3] or ""), tag="dl", term=self._inline(match[1]))
        elif line[0].isspace() and not markup.is_open and not markup.in_list:
            self._literal(line)
        else:
            self._paragraph(line)
        self._past_header = self._past_header or markup.is_open

    def _attach(self) -> None:
        """Keep the item open for the block after a line with a plus sign."""
        while self._next < len(self._lines) and not self._lines[self._next].strip():
            self._next += 1
        self._attached = self._next

    def _paragraph(self, line: str) -> None:
        begins = not self.markup.is_open
        before = self._lines[self._next - 2].strip() if self._next > 1 else ""
        if begins and self.markup.in_list and not before and self._attached != self._next - 1 and not line[0].isspace():
            self.markup.end_lists()
        self.markup.text(self._inline(line.strip()))

    def _literal(self, line: str) -> None:
        """Add an indented paragraph, unchanged."""
        lines = [line]
        while self._next < len(self._lines) and self._lines[self._next].strip():
            lines.append(self._lines[self._next].rstrip())
            self._next += 1
        self.markup.code(lines)

    def _set(self, match: re.Match[str]) -> None:
        if not match[1].startswith("!"):
            self._values[match[1]] = match[2] or ""

    def _inline(self, text: str) -> str:
        """Return the markup of a line, without AsciiDoc's marks."""
        text = _REFERENCE.sub(lambda match: self._values.get(match[1], match.group()), text)
        text = escape(text, quote=False)
        if len(text) > LONGEST_LINE_WITH_MARKS:
            return text
        for pattern, to in _RULES:
            text = pattern.sub(to, text)
        return text

    def _plain(self, text: str) -> str:
        return re.sub(r"<[^<>]*>", "", self._inline(text)).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _cells(spec: str, text: str) -> list[_Cell]:
    """Return a cell from the text before its mark: ``3*`` repeats it; ``2+``, ``.3+`` and ``2.3+`` make it span others."""
    match = _SPAN.match(spec)
    if match is None:
        return [_Cell(text)]
    columns, rows = (min(int(number[:3] or 1), _MOST_SPANNED) or 1 for number in (match[1], match[2] or ""))
    return [_Cell(text)] * columns if match[3] == "*" else [_Cell(text, columns, rows)]


def _rows(cells: Sequence[_Cell], width: int) -> Iterator[list[_Cell]]:
    """Yield the rows of a table with ``width`` columns, some of which cells above may occupy."""
    taken = [0] * width  # by column, the rows that its cell occupies from this one on
    row: list[_Cell] = []
    column = 0
    for cell in cells:
        while column == width or taken[column]:
            column += 1
            if column >= width:
                if row:
                    yield row
                row, column, taken = [], 0, [max(0, rows - 1) for rows in taken]
        end = min(column + cell.columns, width)
        row.append(cell)
        taken[column:end] = [cell.rows] * (end - column)
        column = end
    if row:
        yield row


def _columns(attributes: str) -> int:
    """Return the number of columns in a table's attributes, 0 if they have none."""
    match = re.search(r"cols=(?:\"([^\"]*)\"|'([^']*)'|([\d*]+))", attributes)
    if match is None:
        return 0
    columns = re.split(r"[,;]", next(filter(None, match.groups()), ""))
    return sum(int(part.partition("*")[0]) if part.partition("*")[0].isdecimal() and "*" in part else 1 for part in columns)
