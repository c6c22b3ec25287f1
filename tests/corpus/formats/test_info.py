"""Info files: nodes without their heads and menus."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.corpus.formats.info import read_info
from oreqa.errors import DocumentError

INFO = """This is ls.info, produced by makeinfo.

\x1f
File: ls.info,  Node: Top,  Next: One,  Up: (dir)

GNU ls
******

It lists.

* Menu:

* One::   The first.
\x1f
File: ls.info,  Node: One,  Prev: Top,  Up: Top

1 One
*****

'--all'
     Shows \0\b[image src="x"\0\b]all.

     Really.

Done.
\x1f
Tag Table:
Node: Top\x7f37
\x1f
End Tag Table
"""


def test_nodes() -> None:
    document = read_info(INFO.encode(), Path("ls.info-1"))
    assert document.title == "ls"
    parts = [
        (section.heading, " ".join(document.text[section.start : section.end].split())) for section in document.sections
    ]
    assert parts == [("GNU ls", "It lists."), ("1 One > --all", "'--all' Shows all. Really."), ("1 One", "Done.")]
    for place in document.places:
        assert place.source is not None
        assert INFO[place.source :].startswith(document.text[place.start : place.start + 12])
    assert document.pages[0].left_out == {"contents": 4}


@pytest.mark.parametrize("data", [b"", b"text", b"\x1f\nTag Table:\n"])
def test_what_is_no_info_file(data: bytes) -> None:
    with pytest.raises(DocumentError, match="it holds no node"):
        read_info(data, Path("a.info"))
