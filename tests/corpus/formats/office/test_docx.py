from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.formats.office.docx import read_docx
from oreqa.corpus.formats.office.word_styles import format_number
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
HEAD = f'<?xml version="1.0"?><w:{{0}} xmlns:w="{W}">{{1}}</w:{{0}}>'


def parts(document: Document) -> list[tuple[str, str]]:
    return [(s.heading, document.text[s.start : s.end]) for s in document.sections]


def save(source: object) -> Document:
    buffer = io.BytesIO()
    source.save(buffer)  # type: ignore[attr-defined]
    return read_docx(buffer.getvalue(), Path("a_file.docx"))


def docx_file(body: str, **others: bytes) -> bytes:
    """A Word file with another body, and other or more parts: ``core``, ``styles``, ``footnotes``."""
    buffer = io.BytesIO()
    docx.Document().save(buffer)
    changed = io.BytesIO()
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as target:
        kinds = "".join(
            f'<Relationship Id="x{kind}" Target="{kind}.xml" Type="http://x/{kind}"/>'
            for kind in others
            if f"word/{kind}.xml" not in source.namelist() and kind != "core"
        )
        for name in source.namelist():
            content = others.pop(Path(name).stem, source.read(name))
            if name == "word/document.xml":
                content = re.sub(rb"<w:body>.*</w:body>", lambda _: body.encode(), content, flags=re.DOTALL)
            if name == "word/_rels/document.xml.rels":
                content = content.replace(b"</Relationships>", kinds.encode() + b"</Relationships>")
            target.writestr(name, content)
        for kind, content in others.items():
            target.writestr(f"word/{kind}.xml", content)
    return changed.getvalue()


def read(body: str, **others: str) -> Document:
    made = {kind: HEAD.format(kind, text).encode() for kind, text in others.items()}
    return read_docx(docx_file(f"<w:body>{body}</w:body>", **made), Path("a.docx"))


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space='preserve'>{text}</w:t></w:r></w:p>"


def styled(text: str, style: str) -> str:
    return p(text, f"<w:pStyle w:val='{style}'/>")


def balanced(document: Document) -> bool:
    (page,) = document.pages
    return page.source == page.read + sum(page.left_out.values())


def test_title_headings_and_tables() -> None:
    source = docx.Document()
    source.add_heading("The Title", 0)
    source.add_paragraph("First.")
    source.add_heading("Part", 2)
    source.add_paragraph("Second.")
    table = source.add_table(2, 3)
    table.rows[0].cells[0].merge(table.rows[0].cells[1]).text = "both"
    table.rows[0].cells[2].text = "last"
    table.rows[1].cells[1].text = "below"
    table.rows[1].cells[2].add_table(1, 1).rows[0].cells[0].text = "nested"
    document = save(source)
    assert document.title == "The Title"
    assert parts(document) == [("", "First."), ("Part", "Second.\n\nboth | last\nbelow | nested")]
    assert balanced(document)


def test_rows_below_a_header_name_their_columns() -> None:
    source = docx.Document()
    source.add_paragraph("Prices.")
    rows = [("Name", "Price", "Place"), ("Kettle", "24.90", "Lyon"), ("Pot", "", "Ghent"), ("Bus", "1", "x; y")]
    table = source.add_table(4, 3)
    for cells, row in zip(rows, table.rows, strict=True):
        for text, cell in zip(cells, row.cells, strict=True):
            cell.text = text
    document = save(source)
    records = "Name: Kettle; Price: 24.90; Place: Lyon\n\nName: Pot; Place: Ghent\n\nBus | 1 | x; y"
    assert document.text == f"Prices.\n\n{records}"
    assert balanced(document)


@pytest.mark.parametrize(("header", "text"), [("", "a | b\nc | d"), ("<w:trPr><w:tblHeader/></w:trPr>", "a: c; b: d")])
def test_two_columns_have_names_where_the_file_says_so(header: str, text: str) -> None:
    cells = [f"<w:tc>{p(cell)}</w:tc>" for cell in "abcd"]
    assert read(f"<w:tbl><w:tr>{header}{cells[0]}{cells[1]}</w:tr><w:tr>{cells[2]}{cells[3]}</w:tr></w:tbl>").text == text


def test_a_single_top_heading_is_the_title_and_several_are_none() -> None:
    assert read(styled("One", "Heading1") + p("Text.")).title == "One"
    document = read(styled("One", "Heading1") + p("Text.") + styled("Two", "Heading1") + p("More."))
    assert (document.title, parts(document)) == ("a", [("One", "Text."), ("Two", "More.")])


def test_headings_by_outline_level_and_inherited_style() -> None:
    styles = (
        "<w:style w:type='paragraph' w:styleId='berschrift1'><w:name w:val='Überschrift 1'/><w:pPr><w:outlineLvl w:val='0'/></w:pPr></w:style>"
        "<w:style w:type='paragraph' w:styleId='Own'><w:name w:val='Own'/><w:basedOn w:val='berschrift1'/></w:style>"
        "<w:style w:type='paragraph' w:styleId='Loop'><w:name w:val='L'/><w:basedOn w:val='Loop'/></w:style>"
        "<w:style w:type='paragraph' w:styleId='TOCHeading'><w:name w:val='TOC Heading'/><w:basedOn w:val='berschrift1'/></w:style>"
    )
    body = (
        styled("Inhalt", "TOCHeading") + styled("Erstes", "berschrift1") + p("a.") + styled("Zweites", "Own") + p("b.")
        + p("Drittes", "<w:outlineLvl w:val='1'/>") + p("c.") + p("Text", "<w:pStyle w:val='Own'/><w:outlineLvl w:val='9'/>")
        + styled("Kreis", "Loop")
    )  # fmt: skip
    document = read(body, styles=styles)
    assert parts(document) == [("Erstes", "a."), ("Zweites", "b."), ("Zweites > Drittes", "c.\n\nText\n\nKreis")]
    assert document.pages[0].left_out == {"table of contents": 1}
    assert balanced(document)


def test_lists_stay_with_the_sentence_that_announces_them() -> None:
    source = docx.Document()
    source.add_paragraph("You need:")
    for item in ("a tent", "a stove"):
        source.add_paragraph(item, style="List Bullet")
    source.add_paragraph("Then.")
    for item in ("Go.", "Stop."):
        source.add_paragraph(item, style="List Number")
    document = save(source)
    assert document.text == "You need:\n- a tent\n- a stove\n\nThen.\n\n1. Go.\n2. Stop."
    assert balanced(document)


def test_numbers_of_nested_lists() -> None:
    levels = "".join(
        f"<w:lvl w:ilvl='{n}'><w:start w:val='1'/><w:numFmt w:val='{kind}'/><w:lvlText w:val='{text}'/></w:lvl>"
        for n, (kind, text) in enumerate([("decimal", "%1."), ("lowerLetter", "%1.%2)"), ("none", "")])
    )
    numbering = (
        f"<w:abstractNum w:abstractNumId='5'>{levels}</w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='5'/></w:num>"
        "<w:num w:numId='2'><w:abstractNumId w:val='5'/><w:lvlOverride w:ilvl='0'><w:startOverride w:val='7'/></w:lvlOverride></w:num>"
    )
    items = [("1", 0), ("1", 1), ("1", 1), ("1", 0), ("1", 1), ("2", 0), ("1", 8), ("9", 0), ("0", 0), ("1", 2)]
    body = "".join(
        p("x", f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>") for number, level in items
    )
    marks = [line.removesuffix("x").strip() for line in read(body, numbering=numbering).text.split("\n") if line]
    assert marks == ["1.", "1.a)", "1.b)", "2.", "2.a)", "7.", "-", "", "", ""]


@pytest.mark.parametrize(
    ("number", "style", "shown"),
    [
        (4, "upperRoman", "IV"),
        (1999, "lowerRoman", "mcmxcix"),
        (28, "lowerLetter", "bb"),
        (0, "upperLetter", "0"),
        (5, "chicago", "5"),
    ],
)
def test_figures_of_lists(number: int, style: str, shown: str) -> None:
    assert format_number(number, style) == shown


def test_notes_come_after_the_paragraph_that_refers_to_them() -> None:
    body = "<w:p><w:r><w:t>Text.</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r><w:r><w:endnoteReference w:id='2'/></w:r></w:p>"
    cells = f"<w:tbl><w:tr><w:tc>{body}</w:tc><w:tc>{p('right')}</w:tc></w:tr></w:tbl>"
    foot, end = (
        f"<w:{kind} w:id='2'>{p(text)}</w:{kind}>" for kind, text in (("footnote", "See below."), ("endnote", "The end."))
    )
    document = read(body + p("Next.") + cells, footnotes=foot, endnotes=end)
    assert document.text == "Text.\nSee below.\nThe end.\n\nNext.\n\nText. | right\nSee below.\nThe end."


def box(text: str) -> str:
    return f"<wps:txbx xmlns:wps='w'><w:txbxContent>{p(text)}</w:txbxContent></wps:txbx>"


def test_text_boxes_are_read_once() -> None:
    both = (
        f"<mc:AlternateContent xmlns:mc='m'><mc:Choice Requires='wps'><w:drawing>{box('In the box.')}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box('In the box.')}</w:pict></mc:Fallback></mc:AlternateContent>"
    )
    document = read(f"<w:p><w:r><w:t>Before</w:t></w:r><w:r>{both}</w:r><w:r><w:t> and after.</w:t></w:r></w:p>")
    assert document.text == "Before and after.\n\nIn the box."
    assert balanced(document)


def test_changes_links_controls_and_breaks() -> None:
    runs = (
        "<w:ins><w:r><w:t>New</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t xml:space='preserve'> moved </w:t></w:r></w:moveFrom><w:r><w:tab/><w:t>tab</w:t><w:br/><w:t>line</w:t><w:noBreakHyphen/></w:r>"
        "<w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink><w:sdt><w:sdtContent><w:r><w:t>!</w:t></w:r></w:sdtContent></w:sdt>"
        "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r><w:t>Click here</w:t></w:r></w:sdtContent></w:sdt>"
    )
    document = read(
        f"<w:sdt><w:sdtContent><w:p>{runs}</w:p></w:sdtContent></w:sdt>", comments=f"<w:comment>{p('Why so?')}</w:comment>"
    )
    assert document.text == "New tab\nline-link!"
    assert document.pages[0].left_out == {"deletions": 1, "placeholders": 2, "comments": 2}
    assert balanced(document)


def field(instruction: str, result: str) -> str:
    mark = "<w:r><w:fldChar w:fldCharType='{}'/></w:r>"
    code = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
    return mark.format("begin") + code + mark.format("separate") + f"<w:r><w:t>{result}</w:t></w:r>" + mark.format("end")


def test_results_of_fields_stay_but_not_tables_of_contents() -> None:
    body = f"<w:p>{field('REF x', 'chapter 3')}</w:p><w:p>{field('TOC o', 'Intro 1')}</w:p><w:p><w:fldSimple w:instr=' PAGE '><w:r><w:t>4</w:t></w:r></w:fldSimple></w:p>"
    document = read(body)
    assert document.text == "chapter 3"
    assert document.pages[0].left_out == {"table of contents": 2, "headers and footers": 1}


def test_a_table_of_contents_without_an_end_ends_at_the_next_heading() -> None:
    opened = field("TOC o", "Intro 1").rsplit("<w:r>", 1)[0]
    document = read(f"<w:p>{opened}</w:p>" + p("Intro 2") + styled("Intro", "Heading1") + p("Text."))
    assert document.text == "Text."


def test_a_page_number_without_an_end_ends_with_its_paragraph() -> None:
    opened = field("PAGE", "3").rsplit("<w:r>", 1)[0]
    assert read(f"<w:p>{opened}</w:p>" + p("Real text here.")).text == "Real text here."


def test_headers_and_footers_once() -> None:
    source = docx.Document()
    source.core_properties.title = "The Report"
    source.add_paragraph("Body text.")
    section = source.sections[0]
    section.header.paragraphs[0].text = "ACME Ltd, 5 Long Street"
    section.footer.paragraphs[0].text = "The Report"
    page = section.footer.add_paragraph("Page ")
    for kind in ("begin", "separate", "end"):
        mark = OxmlElement("w:fldChar")
        mark.set(qn("w:fldCharType"), kind)
        page.add_run()._r.append(mark)
        if kind == "begin":
            code = OxmlElement("w:instrText")
            code.text = "PAGE"
            page.add_run()._r.append(code)
        if kind == "separate":
            page.add_run("7")
    document = save(source)
    assert parts(document) == [("", "Body text."), ("Headers and footers", "ACME Ltd, 5 Long Street")]
    assert document.pages[0].left_out == {"headers and footers": 4}
    assert balanced(document)


def test_a_table_that_is_there_for_its_looks() -> None:
    long = "Words of a column. " * 20
    cells = f"<w:tbl><w:tr><w:tc>{styled('Left', 'Heading2')}{p(long)}</w:tc><w:tc>{p('right')}</w:tc></w:tr></w:tbl>"
    document = read(cells + f"<w:tbl><w:tr><w:tc>{p('One')}{p('Two')}</w:tc></w:tr></w:tbl>")
    assert parts(document) == [("Left", f"{long.strip()}\n\nright\n\nOne\n\nTwo")]


def test_damaged_word_files() -> None:
    cell = "<w:tc><w:tcPr>{}</w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    wide = cell.format('<w:gridSpan w:val="60000000"/>', "wide") + cell.format("", "5") + cell.format("", "5")
    assert read(f"<w:tbl><w:tr>{wide}</w:tr></w:tbl>").text == "wide | 5 | 5"
    text = styled("Part", "Heading2") + p("Text.")
    body = f"<w:body>{text}</w:body>"
    assert parts(read_docx(docx_file(body, core=b"<odd/>"), Path("a.docx"))) == [("Part", "Text.")]
    for styles in (b"<odd", b"", b'<w:styles xmlns:w="x"><w:style w:type="odd"/></w:styles>'):
        assert parts(read_docx(docx_file(body, styles=styles), Path("a.docx"))) == [("Part", "Text.")]
    assert read("<w:p><w:r><w:footnoteReference w:id='7'/><w:t>x</w:t></w:r></w:p>").text == "x"


def archive(**parts: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a readable .docx file"),
        (
            b"PK\x03\x04nothing",
            "not a readable .docx file; it is damaged, or of another type: save it again in its own program",
        ),
        (archive(mimetype="application/vnd.oasis.opendocument.text"), "its content is that of a .odt file: rename it"),
        (archive(**{"xl/workbook.xml": "<x/>"}), "its content is that of a .xlsx file: rename it"),
        (docx_file(""), "not a readable .docx file"),
        (docx_file("<w:body>" + "<w:p>" * 5000 + "</w:p>" * 5000 + "</w:body>"), "not a readable .docx file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 Word", "of Office 97 to 2003"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.docx").write_bytes(data)
    with pytest.raises(DocumentError, match=reason) as caught:
        list(read_documents(tmp_path / "a.docx"))
    assert "\n" not in str(caught.value)


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    hostile = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname"><!ENTITY f "lol">]>'
    styles = hostile + HEAD.format("styles", "&e;&f;").removeprefix('<?xml version="1.0"?>').encode()
    assert read_docx(docx_file(f"<w:body>{p('Text.')}</w:body>", styles=styles), Path("a.docx")).text == "Text."


def test_word_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 1 << 20)
    with pytest.raises(DocumentError, match="it unpacks to more than 1 MB"):
        read_docx(docx_file("<w:body>" + " " * (1 << 20)), Path("a.docx"))


@pytest.mark.slow
def test_a_word_file_of_millions_of_paragraphs_stays_within_its_memory(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(docx_file("<w:body>" + "<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 4_000_000 + "</w:body>"))
    with pytest.raises(DocumentError, match="takes more than"):
        list(read_documents(tmp_path / "a.docx"))


def test_what_is_struck_out_is_omitted_and_counted() -> None:
    def run(text: str, properties: str) -> str:
        return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"

    body = (
        f"<w:p>{run('It costs ', '')}{run('59 or so ', '<w:strike/>')}{run('49 ', '<w:dstrike w:val=&quot;true&quot;/>')}"
        f"{run('39 euros', '<w:strike w:val=&quot;0&quot;/>')}{run('.', '<w:b/>')}</w:p>"
    ).replace("&quot;", '"')
    document = read(body)
    assert document.text == "It costs 39 euros."
    assert document.pages[0].left_out == {"struck-out text": 4}
    assert balanced(document)


def test_what_a_style_strikes_out_is_omitted() -> None:
    source = docx.Document()
    old = source.styles.add_style("Old", WD_STYLE_TYPE.CHARACTER)
    old.font.strike = True
    for name, kind in (("Older", WD_STYLE_TYPE.CHARACTER), ("Saved", WD_STYLE_TYPE.CHARACTER)):
        source.styles.add_style(name, kind).base_style = old
    source.styles["Saved"].font.strike = False
    source.styles.add_style("Gone", WD_STYLE_TYPE.PARAGRAPH).font.strike = True
    source.styles.add_style("Twice", WD_STYLE_TYPE.PARAGRAPH).font.double_strike = True
    source.styles.add_style("Long gone", WD_STYLE_TYPE.PARAGRAPH).base_style = source.styles["Gone"]
    price = source.add_paragraph("It costs ")
    price.add_run("59 or ", style="Old")
    price.add_run("49 or ", style="Older")
    price.add_run("now ", style="Saved")
    price.add_run("39", style="Old").font.strike = False
    source.add_paragraph("The old address", style="Gone")
    moved = source.add_paragraph("Hall Street ", style="Long gone")
    moved.add_run("Mill Lane ").font.strike = False
    moved.add_run("7", style="Old")  # struck out by both styles, which Word shows as it is
    source.add_paragraph("All of it", style="Twice").add_run(" and more", style="Old").font.strike = False
    document = save(source)
    assert document.text == "It costs now 39\n\nMill Lane 7"
    page = document.pages[0]
    assert page.left_out == {"struck-out text": 14}
    assert page.source == page.read + 14


def test_a_default_style_and_styles_in_a_circle() -> None:
    styles = (
        '<w:style w:type="paragraph" w:default="1" w:styleId="N"><w:rPr><w:strike/></w:rPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="A"><w:basedOn w:val="B"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="B"><w:basedOn w:val="A"/></w:style>'
    )
    text = "<w:p>{}<w:r><w:t>{}</w:t></w:r></w:p>"
    body = text.format("", "Out") + text.format('<w:pPr><w:pStyle w:val="A"/></w:pPr>', "Kept")
    assert read(body, styles=styles).text == "Kept"


def test_what_is_struck_out_in_a_diagram_is_omitted() -> None:
    run = '<w:r><w:rPr strike="{}"/><w:t>{}</w:t></w:r>'
    model = HEAD.format("dataModel", f"<w:p>{run.format('noStrike', 'Buy')}{run.format('sngStrike', ' and rent')}</w:p>")
    body = '<w:body><w:p><w:r><w:drawing><w:relIds w:dm="xdiagramData"/></w:drawing></w:r></w:p></w:body>'
    document = read_docx(docx_file(body, diagramData=model.encode()), Path("a.docx"))
    assert document.text == "Buy"
    assert document.pages[0].left_out == {"struck-out text": 2}
