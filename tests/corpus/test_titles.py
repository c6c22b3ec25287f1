from __future__ import annotations

import pytest

from oreqa.corpus.titles import real_title


@pytest.mark.parametrize(
    "title",
    [
        "", "Microsoft Word - plan.doc", "Microsoft Excel - a", "PowerPoint-Präsentation", "PowerPoint Presentation", "untitled",
        "Untitled Document", "Document 1", "document1", "Presentation1", "Slide 1", "Title", "(anonymous)", "my long plan.docx",
        "plan.text",
    ],
)  # fmt: skip
def test_titles_that_programs_make_up(title: str) -> None:
    assert not real_title(title)


def test_real_titles() -> None:
    assert real_title(" The\n plan ") == "The plan"
    assert real_title("Documents of 2024") == "Documents of 2024"
    assert real_title("About version 2.0") == "About version 2.0"
