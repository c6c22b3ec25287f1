from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from oreqa.datasets.pairs import Candidate, load_pairs
from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.errors import InputError

ASKED = [OpenQuestion("2", "Who, then?", ("Ada", "Ada L.")), OpenQuestion("3", "Why?", ())]


def write(folder: Path, name: str, data: str | bytes) -> Path:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return folder / name


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("q.csv", 'question,answer\n"Who, then?",Ada|Ada L.\nWhy?,\n'),
        ("q.csv", "\ufeffQuery;Expected;;\r\nWho, then?;Ada | Ada L.;;\r\nWhy?;;;\r\n"),  # a spreadsheet with semicolons
        ("q.tsv", "question\tanswers\nWho, then?\t['Ada', \"Ada L.\"]\nWhy?\t[]\n"),  # as pandas writes lists
        ("Q.CSV.gz", gzip.compress(b'question,answer\n"Who, then?",Ada|Ada L.\nWhy?,\n', mtime=0)),
        ("q.csv", "question;answer\r\nWho, then?;Ada|Ada L.\r\nWhy?;\r\n".encode("utf-16")),
        ("q.csv", 'answer,unused,question\nAda|Ada L.,x,"Who, then?"\n,y,Why?\n,,\n'),
        ("q.csv", "Frage;Antwort\nWho, then?;Ada|Ada L.\nWhy?;\n"),
        ("q.csv", 'Question,Réponse\n"Who, then?",Ada|Ada L.\nWhy?,\n'),
    ],
)
def test_a_header_names_the_columns_of_all_common_forms_of_tables(tmp_path: Path, name: str, data: str | bytes) -> None:
    assert load_question_list(write(tmp_path, name, data)) == ASKED


def test_without_a_header_the_second_column_holds_the_answers(tmp_path: Path) -> None:
    questions = load_question_list(write(tmp_path, "q.csv", 'Who?,"Ada\nL."\n\nWhy?,\n'))
    assert [(q.id, q.text, q.answers) for q in questions] == [("1", "Who?", ("Ada\nL.",)), ("4", "Why?", ())]


def test_other_columns_are_fields_of_the_question(tmp_path: Path) -> None:
    text = "id,question,answer,document,kind,pattern\nx,Who?,Ada,a.md,fact,\ny,When?,,,,19..\n"
    assert load_question_list(write(tmp_path, "q.csv", text)) == [
        OpenQuestion("x", "Who?", ("Ada",), None, "a.md", None, "fact"),
        OpenQuestion("y", "When?", (), "19.."),
    ]


def test_a_workbook_is_its_first_sheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Question", "Answer"], ["How many?", 3], [None], ["Why?"]):
        book.active.append(row)
    book.save(tmp_path / "q.xlsx")
    questions = load_question_list(tmp_path / "q.xlsx")
    assert [(q.id, q.text, q.answers) for q in questions] == [("2", "How many?", ("3",)), ("4", "Why?", ())]
    book.active.append([None, "an answer"])
    book.save(tmp_path / "q.xlsx")
    with pytest.raises(InputError, match=r"q\.xlsx, row 5: its question is empty"):
        load_question_list(tmp_path / "q.xlsx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,answer\nWho?,Ada, L\n", ", line 2: it has 3 cells in 2 columns; quote those that hold the delimiter"),
        ('question,answer\n"Wh\no?",Ada\nWhy?\n', ", line 4: it has 1 of 2 cells"),
        ("question,answer\n,Ada\n", ", line 2: its question is empty"),
        ('question,answer\n"Who?,Ada\n', ": line 2 opens a quote that is never closed"),
        ("question,answer,expected\n", ", line 1: its columns answer and expected mean the same; rename all but one"),
        ("a,b,c\n", ", line 1: none of its 3 columns is named question"),
        ("question\nWho?\n", ", line 2: it has neither answers nor a pattern"),
        ("question,answer\nWho?,['a' 'b']\n", ", line 2: its list of answers has no commas"),
        ("id,question,answer\n1,a,b\n1,c,d\n", ", line 3: its id '1' is that of line 2, too"),
        ("\0\1", ": it is not text; save the table as CSV in UTF-8"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        load_question_list(write(tmp_path, "q.csv", text))
    assert f"q.csv{message}" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", "question,passage,negative\nWho?,Ada did.,Bob did.\nWhy?,Because.,\n"),
        ("p.tsv", "anchor\tpositive\tnegative\nWho?\tAda did.\tBob did.\nWhy?\tBecause.\t\n"),
        (
            "p.jsonl",
            '{"query": "Who?", "positive": "Ada did.", "negative": "Bob did."}\n{"question": "Why?", "passage": "Because."}\n',
        ),
        ("p.jsonl", '{"question": "Who?", "context": "Ada did.", "negatives": ["Bob did."]}\n'
         '{"question": "Why?", "passage": "Because.", "negative": ""}\n'),
    ],
)  # fmt: skip
def test_pairs_of_a_question_and_a_passage(tmp_path: Path, name: str, text: str) -> None:
    first, second = load_pairs(write(tmp_path, name, text))
    assert (first.question, first.positive, first.negatives, first.passage) == (
        "Who?", Candidate("Ada did.", "Ada did."), (Candidate("Bob did.", "Bob did."),), "",
    )  # fmt: skip
    assert (second.question, second.positive, second.negatives) == ("Why?", Candidate("Because.", "Because."), ())


def test_pairs_of_a_table_with_answers_in_their_passages(tmp_path: Path) -> None:
    text = "question,answer,context,title\nWho?,Ada,It was Ada.,Men\n"
    (pair,) = load_pairs(write(tmp_path, "p.csv", text))
    assert pair.positive == Candidate("Ada", "It was Ada.", "Men")
    with pytest.raises(InputError, match="line 2: it pairs its question with nothing; name a column passage"):
        list(load_pairs(write(tmp_path, "p.csv", "question\nWho?\n")))
