from __future__ import annotations

import csv
import gzip
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.readers import Fields, read_documents
from oreqa.errors import DocumentError


def read(path: Path, content: bytes | str) -> list[Document]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_documents(path))


def test_csv_and_tsv(tmp_path: Path) -> None:
    (a, b) = read(tmp_path / "a.csv", 'id,text,kind\n1,"One, with\na comma",x\n2,Two,y\n')
    assert (a.key.rsplit("#")[-1], a.text, a.fields) == ("1", "One, with\na comma", {"kind": "x"})
    assert b.text == "Two"
    path = tmp_path / "b.tsv"
    path.write_text("sku\tdescription\tproduct\n7\tA tent.\tTent\n")
    (row,) = read_documents(path, Fields("description", "product", "sku"))
    assert (row.key.rsplit("#")[-1], row.text, row.title, row.fields) == ("7", "A tent.", "Tent", {})


def test_jsonl(tmp_path: Path) -> None:
    lines = '{"text": "One.", "n": 5, "tags": ["a"]}\n\n{"text": "  "}\n{"text": "Two.", "title": "T"}\n'
    rows = read(tmp_path / "a.jsonl", lines)
    assert [(r.key.rsplit("#")[-1], r.title, r.text, r.fields) for r in rows] == [
        ("1", "", "One.", {"n": "5", "tags": '["a"]'}),
        ("3", "T", "Two.", {}),
    ]
    assert len(read(tmp_path / "b.jsonl.gz", gzip.compress(lines.encode(), mtime=0))) == 2


def test_an_overlong_line_is_refused_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROW_BYTES", 1000)
    with pytest.raises(DocumentError, match="line 2 is longer"):
        read(tmp_path / "a.jsonl", '{"text": "ok"}\n{"text": "' + "x" * 2000 + '"}\n')


def test_text_is_unicode_whatever_a_table_holds(tmp_path: Path) -> None:
    line = r'{"id": "k\ud800", "title": "t\udfff", "text": "a\ud800b \ud83d\ude00", "f\ud800": ["\udc00"], "g": "\ud800"}'
    (row,) = read(tmp_path / "a.jsonl", line)
    assert (row.title, row.text, row.fields) == ("t\ufffd", "a\ufffdb 😀", {"f\ufffd": '["\ufffd"]', "g": "\ufffd"})
    assert row.key.endswith("#k\ufffd")


def test_a_row_may_spread_over_lines_within_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROW_BYTES", 1000)
    with pytest.raises(DocumentError, match=r"line \d+ is in a row of more than"):
        read(tmp_path / "a.csv", 'text,b\n"' + "x" * 8 + '"\n"' + "x" * 9 + "\nx" * 5000)


def test_short_and_long_rows_of_a_csv(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", "\nid,text,kind\n\n1,One.\n2,Two.,x,more,again\n")
    assert [(row.text, row.fields) for row in rows] == [("One.", {}), ("Two.", {"kind": "x", "extra": '["more", "again"]'})]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize(
    ("table", "texts"),
    [
        ("# Data source: x\nDate,IBM,DELL\n1990,10.9,\n1991,,7\n", ["Date: 1990; IBM: 10.9", "Date: 1991; DELL: 7"]),
        ("# One\n# a, b\n\nDate,IBM,DELL\n1990,1,2\n", ["Date: 1990; IBM: 1; DELL: 2"]),
        ("# One\n#Date,IBM\n1990,1\n# no comment,2\n", ["#Date: 1990; IBM: 1", "#Date: # no comment; IBM: 2"]),
        ("#\n" * 30 + "Date,IBM\n1990,1\n", ["Date: 1990; IBM: 1"]),
        ("# One\nDate\n1990\n", ["# One: Date", "# One: 1990"]),  # a header that says so little may begin with "#"
    ],
)
def test_comments_before_the_header_are_skipped(tmp_path: Path, name: str, table: str, texts: list[str]) -> None:
    table = table.replace(",", "\t") if name == "a.tsv" else table
    assert [row.text for row in read(tmp_path / name, table)] == texts


def test_comments_do_not_move_the_numbers_of_lines(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="line 3 opens a quote"):
        read(tmp_path / "a.csv", '# One\na,b\n1,"2\n')


def test_rows_with_more_fields_than_the_header_are_said(tmp_path: Path) -> None:
    lines: list[str] = []
    (tmp_path / "a.csv").write_text("a;b\n1;2\n1;2;3\n1;2\n1;2;3;4\n")
    assert len(list(read_documents(tmp_path / "a.csv", on_unread=lines.append))) == 4
    assert lines == [
        "2 rows have more fields than the header, the first in line 3: quote the values that hold ';', or name all columns"
    ]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/b.csv", "a,b\n1,2,3\n")
    lines.clear()
    assert len(list(read_documents(tmp_path / "a.zip", on_unread=lines.append))) == 1
    assert lines == [
        "x/b.csv: 1 row has more fields than the header, in line 2: quote the values that hold ',', or name all columns"
    ]


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PARSED_FILE_BYTES", 1000)
    with pytest.raises(DocumentError, match="more than 200 times its size"):
        read(tmp_path / "a.jsonl.gz", gzip.compress(b"\n" * 1_000_000, mtime=0))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl", b'{"text": "x"}\n{oops\n', "line 2 is not JSON: write each row as one object on a line of its own$"),
        ("a.jsonl", b"[1]\n", "line 1 is a JSON list"),
        ("a.jsonl", b'{"id": 1, "text": "x"}\n{"id": 1, "text": "y"}\n', "row 2 repeats the identifier '1'"),
        ("a.jsonl", b'{"text": "ok"}\n{"text": "\xff\xfe"}\n', "line 2 is not utf-8"),
        ("a.jsonl.gz", b"\x1f\x8bnot", "gzip"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "x"}\n', mtime=0)[:14] + b"\xff" * 20, "gzip"),
        ("a.csv", b"text," + b"a," * 12_000 + b"\nx\n", "line 1 has more than 10,000 fields"),
        ("a.jsonl", b'{"text": ' + b"[" * 50_000, "line 1 is not JSON"),
        ("a.jsonl", b'{"text": "x", "id": "' + b"9" * 501 + b'"}', "row 1 has an identifier of 501 characters"),
        ("a.csv", b"", "no text"),
        ("a.csv", b"id,text\n", "no text"),
        ("a.jsonl", b"\n", "no text"),
        ("a.jsonl.gz", gzip.compress(b"", mtime=0), "no text"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:20], "damaged gzip"),
        ("a.txt.gz", b"text", "damaged gzip"),
        ("a.csv", b"a\0b,c\n", "binary"),
    ],
)
def test_bad_tables_are_named_in_one_line(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason) as caught:
        read(tmp_path / name, content)
    assert "\n" not in str(caught.value)


def test_a_number_may_be_longer_than_python_reads(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.jsonl", b'{"text": "x", "n": ' + b"9" * 5000 + b"}")
    assert row.fields == {"n": "9" * 5000}


def test_rows_with_plain_columns_name_them(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", "code,country,capital,area\nBT,Bhutan,Thimphu,\nTD,Chad,N’Djamena,1284000\n,,,\n")
    assert [(row.key.rsplit("#")[-1], row.title, row.text) for row in rows] == [
        ("1", "Bhutan", "code: BT; country: Bhutan; capital: Thimphu"),
        ("2", "Chad", "code: TD; country: Chad; capital: N’Djamena; area: 1284000"),
    ]
    assert rows[1].fields["capital"] == "N’Djamena"
    (row,) = read(tmp_path / "b.tsv", "id\tname\tprice\n7\tTent\t80\n")
    assert (row.key.rsplit("#")[-1], row.title, row.text) == ("7", "Tent", "id: 7; name: Tent; price: 80")


@pytest.mark.parametrize(
    ("table", "titles"),
    [
        ("Registry,Org\nIAB,Maxlinear\nIAB,Fiber Ltd\nIAB,Acme\n", ["Maxlinear", "Fiber Ltd", "Acme"]),
        ("Registry,Org\nIAB,Maxlinear\n", ["IAB"]),
        ("Registry,Code\nIAB,1\nIAB,2\n", ["", ""]),
        ("Registry,Org\n" + "IAB,Acme\n" * 20 + "MA-L,Fiber\n", [""] * 21),
        ("Registry,Org\nIAB,Maxlinear\nMA-L,Acme\n", ["IAB", "MA-L"]),
    ],
)
def test_a_column_with_a_single_value_is_no_title(tmp_path: Path, table: str, titles: list[str]) -> None:
    assert [row.title for row in read(tmp_path / "a.csv", table)] == titles


def test_the_rows_before_a_bad_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "One."}\n{"text": "Two."}\nno\n')
    rows = read_documents(tmp_path / "a.jsonl")
    assert [next(rows).text, next(rows).text] == ["One.", "Two."]
    with pytest.raises(DocumentError, match="line 3"):
        next(rows)


def test_a_column_of_numbers_is_no_text_whatever_its_name(tmp_path: Path) -> None:
    cow, pig = read(tmp_path / "a.csv", "Animal,body,brain\nCow,465,423\nGuinea pig,1.04,5.5\n")
    assert (cow.title, cow.text) == ("Cow", "Animal: Cow; body: 465; brain: 423")
    assert pig.text == "Animal: Guinea pig; body: 1.04; brain: 5.5"
    assert [row.text for row in read_documents(tmp_path / "a.csv", Fields("body"))] == ["465", "1.04"]


def test_long_values_stand_on_lines_of_their_own(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.csv", f"day,remark\n2024-01-05,{'It rained. ' * 12}\n")
    assert row.text == "day: 2024-01-05\nremark: " + ("It rained. " * 12).strip()
    assert row.title == ""


def test_json_rows_without_a_text_field(tmp_path: Path) -> None:
    line = '{"country": "Bhutan", "people": 777000, "towns": ["Thimphu", "Paro"], "at": {"lat": 27}, "none": null, "flag": true}'
    (row,) = read(tmp_path / "a.jsonl", line)
    assert row.text == 'country: Bhutan; people: 777000; towns: Thimphu, Paro; at: {"lat": 27}; flag: true'
    assert row.title == "Bhutan"


@pytest.mark.parametrize(
    ("fields", "option"),
    [(Fields("c"), "--text-field"), (Fields(title="c"), "--title-field"), (Fields("a", "b", "c"), "--id-field")],
)
def test_a_named_field_must_be_there(tmp_path: Path, fields: Fields, option: str) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DocumentError, match=f"row 1 has no field 'c'; its fields are 'a', 'b': name one with {option}"):
        list(read_documents(tmp_path / "a.csv", fields))
    (row,) = read_documents(tmp_path / "a.csv", Fields("b"))
    assert (row.text, row.fields) == ("2", {"a": "1"})
    (tmp_path / "b.jsonl").write_text('{"a": "1", "b": "x"}\n{"a": "2"}\n')
    assert [row.title for row in read_documents(tmp_path / "b.jsonl", Fields("a", "b"))] == ["x", ""]


@pytest.mark.parametrize(
    "table",
    [
        "country;capital\nBhutan;Thimphu, or so\nChad;N'Djamena\n",
        "country\tcapital\nBhutan\tThimphu, or so\n",
        "country|capital\nBhutan|Thimphu, or so\n",
        "sep=;\ncountry;capital\nBhutan;Thimphu, or so\n",
        'country,capital\nBhutan,"Thimphu, or so"\n',
        'country;capital\nBhutan;"Thimphu, or so"\n"Two; lines\n";x\n',
    ],
)
def test_what_parts_the_columns_is_found(tmp_path: Path, table: str) -> None:
    assert read(tmp_path / "a.csv", table)[0].text == "country: Bhutan; capital: Thimphu, or so"


def test_a_single_column_is_not_parted(tmp_path: Path) -> None:
    assert [row.text for row in read(tmp_path / "a.csv", "text\nOne; two; three.\nFour.\n")] == ["One; two; three.", "Four."]
    assert read(tmp_path / "b.csv", "word\none\n")[0].text == "word: one"


def test_columns_of_the_same_name_and_of_none(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.csv", "price,,price\n1,2,3\n")
    assert row.text == "price: 1; column 2: 2; price 2: 3"


def test_a_table_of_western_windows(tmp_path: Path) -> None:
    lines = [
        "Land;Hauptstadt",
        *("Chile;Santiago" for _ in range(30)),
        *("Österreich;Köln und Düsseldorf" for _ in range(9)),
    ]
    rows = read(tmp_path / "a.csv", "\n".join(lines).encode("cp1252"))
    assert rows[-1].text == "Land: Österreich; Hauptstadt: Köln und Düsseldorf"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.html", "a.csv", "a.tsv", "a.jsonl", "a.ndjson"])
def test_gzipped_text_reads_as_the_text(tmp_path: Path, name: str) -> None:
    content = '{"text": "One, two."}\n' if "json" in name else "text\nOne two.\n"
    plain = read(tmp_path / name, content)
    packed = read(tmp_path / f"{name}.gz", gzip.compress(content.encode(), mtime=0))
    assert [(d.title, d.text, d.sections, d.places) for d in packed] == [
        (d.title, d.text, d.sections, d.places) for d in plain
    ]
    assert packed[0].key.startswith(str(tmp_path / f"{name}.gz"))


def test_a_gzipped_text_may_not_unpack_to_more_than_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TEXT_FILE_BYTES", 1 << 20)
    with pytest.raises(DocumentError, match=r"it unpacks to more than 1 MB, the limit for \.gz files"):
        read(tmp_path / "a.txt.gz", gzip.compress(b"x" * ((1 << 20) + 1)))


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("price,price,price 2\n1,2,3\n", "price: 1; price 3: 2; price 2: 3"),
        ("column 2,,x\n1,2,3\n", "column 2: 1; column 3: 2; x: 3"),
        ("a,extra\n1,IMPORTANT,3,4\n", "a: 1; extra: IMPORTANT; extra 2: 3, 4"),
        ("name,text,capital\nBhutan,,Thimphu\n", "name: Bhutan; capital: Thimphu"),
        ('sep="\na,b\n1,2\n', None),
    ],
)
def test_no_cell_is_lost(tmp_path: Path, table: str, text: str | None) -> None:
    row = read(tmp_path / "a.csv", table)[-1]
    assert text is None or row.text == text
    assert all(cell in row.text for cell in table.split("\n")[-2].split(","))


@given(
    st.lists(st.sampled_from(["a", "b", "", "a 2", "column 2", "extra", "extra 2", "title"]), min_size=2, max_size=6),
    st.integers(2, 9),
)
def test_every_cell_is_in_the_text_of_its_row(header: list[str], width: int) -> None:
    cells = [f"cell{number}" for number in range(width)]
    with tempfile.TemporaryDirectory() as folder:
        (row,) = read(Path(folder) / "a.tsv", "\t".join(["x", *header]) + "\n" + "\t".join(cells) + "\n")
    assert all(cell in row.text for cell in cells)


def test_a_quote_that_is_never_closed_is_named(tmp_path: Path) -> None:
    table = 'sku,description\nS1,one\nS2,"unclosed lamp\nS3,three\nS4,four\n'
    with pytest.raises(DocumentError, match="line 3 opens a quote that is never closed"):
        read(tmp_path / "a.csv", table)
    with pytest.raises(DocumentError, match="line 3 opens a quote"):
        read(tmp_path / "b.csv", table.replace("S3,three\nS4,four\n", ""))
    rows = read(tmp_path / "c.csv", table.replace("lamp", 'lamp"'))
    assert len(rows) == 4
    assert len(read(tmp_path / "d.csv", 'a,b\n1,"two\nlines"\n3,"last\none"\n')) == 2


def test_long_fields_leave_csvs_own_limit_alone(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    path = tmp_path / "long.csv"
    path.write_text("title,text\na," + "word " * 40_000 + '\nb,"' + "line\n" * 40_000 + '"\n')
    lengths, limits_seen = [], set()
    for document in read_documents(path):
        lengths.append(len(document.text))
        limits_seen.add(csv.field_size_limit())
    assert all(length > limit for length in lengths)
    assert len(lengths) == 2
    assert limits_seen == {csv.field_size_limit()} == {limit}


def test_line_breaks_in_short_values_leave_a_row_on_one_line(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", 'code,remedy\nE1,"Switch it off.\nHold the button."\nE2,"' + "x" * 99 + '\n\ny"\n')
    assert rows[0].text == "code: E1; remedy: Switch it off. Hold the button."
    assert rows[0].fields["remedy"] == "Switch it off.\nHold the button."
    assert rows[1].text == "code: E2\nremedy: " + "x" * 99 + "\n\ny"
