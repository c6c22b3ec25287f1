"""E-mails: the text that people read, the fields of the header, and the names of what is attached."""

from __future__ import annotations

import contextlib
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oreqa.core import Document
from oreqa.corpus.formats.mail import read_mail
from oreqa.errors import DocumentError


def read(message: EmailMessage | bytes) -> Document:
    return read_mail(bytes(message), Path("some_mail.eml"))[0]


HEADER = (
    "from: Anna <anna@example.org>; to: bob@example.org; date: Mon, 02 Jan 2023 10:00:00 +0100; subject: Plän for Monday"
)


def body(message: EmailMessage) -> str:
    """The text of a message after the row of its fields."""
    header, _, text = read(message).text.partition("\n\n")
    assert header == HEADER
    return text


def mail(text: str = "Hello.\n\nSee the\nplan.\n-- \nAnna Smith") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Plän for  Monday"
    message["From"] = "Anna <anna@example.org>"
    message["To"] = "bob@example.org"
    message["Date"] = "Mon, 02 Jan 2023 10:00:00 +0100"
    message.set_content(text)
    return message


def test_a_message() -> None:
    document = read(mail())
    assert (document.title, document.text) == ("Plän for Monday", f"{HEADER}\n\nHello.\n\nSee the\nplan.")
    assert [section.heading for section in document.sections] == ["Anna, 2 January 2023"]
    assert document.fields == {
        "from": "Anna <anna@example.org>",
        "to": "bob@example.org",
        "date": "Mon, 02 Jan 2023 10:00:00 +0100",
    }
    (page,) = document.pages
    assert (page.source, page.read, page.left_out) == (6, 4, {"signature": 2})


def test_plain_text_is_preferred_and_attachments_are_named() -> None:
    message = mail("Plain text.")
    message.add_alternative("<p>Marked <b>up</b>.", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan ä.pdf")
    message.add_attachment("a,b", subtype="csv", filename="rows.csv")
    assert body(message) == "Plain text.\n\nAttachments: plan ä.pdf, rows.csv"


def two_forms(plain: str, page: str) -> EmailMessage:
    message = mail(plain)
    message.add_alternative(page, subtype="html")
    return message


@pytest.mark.parametrize(
    ("plain", "page", "text"),
    [
        ("Look in a browser", "<p>The plan of the whole next week.", "The plan of the whole next week."),
        ("Look in a browser", "<p>One two three four five six.", "Look in a browser"),  # not more than 1.5 times
        ("Look in a browser", "<p>Look.", "Look in a browser"),
        (" ", "<p>Look.", "Look."),
        ("Plain.", "<p> </p>", "Plain."),
    ],
)
def test_a_page_that_says_clearly_more_is_read(plain: str, page: str, text: str) -> None:
    assert body(two_forms(plain, page)) == text


def test_the_form_that_is_not_read_is_counted() -> None:
    (page,) = read(two_forms("Look in a browser", "<nav>Menu</nav><p>The plan of the whole next week.")).pages
    assert (page.source, page.read, page.left_out) == (12, 7, {"navigation": 1, "other form of the message": 4})
    (page,) = read(two_forms("All of it.", "<p>All <b>of</b> it.")).pages
    assert (page.source, page.read, page.left_out) == (6, 3, {"other form of the message": 3})


def test_a_page_that_comes_with_its_pictures_or_an_invitation() -> None:
    message = two_forms("Look in a browser", "<p>The plan of the whole next week.")
    message.get_payload(1).add_related(b"PNG", maintype="image", subtype="png", filename="logo.png")
    assert body(message) == "The plan of the whole next week.\n\nAttachments: logo.png"
    message = two_forms("", "<p>The plan.")
    message.add_alternative("BEGIN", subtype="calendar")
    assert body(message) == "The plan."


def test_names_of_attachments_do_not_count_as_read() -> None:
    message = mail("See the plan.")
    message.add_attachment("a,b", subtype="csv", filename="rows of it.csv")
    (page,) = read(message).pages
    assert (page.source, page.read) == (3, 3)


def test_parts_are_bounded() -> None:
    head = b'Subject: s\nContent-Type: multipart/mixed; boundary="b"\n\n'
    assert read(head + b"--b\n\none\n" * 999).text.count("one") == 999
    with pytest.raises(DocumentError, match="more than 1,000 parts"):
        read(head + b"--b\n\none\n" * 1000)


def test_html_is_read_as_a_page() -> None:
    message = mail("")
    message.add_alternative("<nav>x</nav><h2>Dates</h2><ul><li>one</ul>", subtype="html")
    document = read(message)
    assert [(s.heading, document.text[s.start : s.end]) for s in document.sections] == [
        ("Anna, 2 January 2023", HEADER),
        ("Anna, 2 January 2023 > Dates", "- one"),
    ]
    assert document.pages[0].left_out == {"navigation": 1}


ORIGINAL = "Sorry, at 11:00.\n\n-----Original Message-----\nFrom: Bob\n\nAt 9:00.\nBring it."
OUTLOOK = "Sorry, at 11:00.\n\n________________________________\nFrom: Bob\n\nAt 9:00."
MARKED = "Sorry, at 11:00.\n\nBob wrote:\n> At 9:00.\n> Bring it."


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (ORIGINAL, "Sorry, at 11:00.\n\n-----Original Message-----\n\n> From: Bob\n\n> At 9:00.\n> Bring it."),
        (OUTLOOK, "Sorry, at 11:00.\n\n________________________________\n\n> From: Bob\n\n> At 9:00."),
        (MARKED, MARKED),
        ("A line:\n\n____________\n\nAt 9:00.", "A line:\n\n____________\n\nAt 9:00."),
    ],
)
def test_the_lines_of_a_quoted_mail_have_marks(text: str, marked: str) -> None:
    assert body(mail(text)) == marked


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<p>Sorry, at 11:00.</p><div>Bob wrote:<blockquote><h1>Plan</h1><p>At 9:00.</p>Bring<br>it.</blockquote></div>",
            "Sorry, at 11:00.\n\nBob wrote:\n\n> Plan\n\n> At 9:00.\n\n> Bring\n> it.",
        ),
        (
            "<p>One.<blockquote>When?<blockquote>Who?</blockquote></blockquote>At 9:00.<blockquote>Bye.</blockquote>",
            "One.\n\nWhen?\n\nWho?\n\nAt 9:00.\n\n> Bye.",
        ),
        ("<blockquote>When?</blockquote><p>At 9:00.", "When?\n\nAt 9:00."),
        ("<p>An open end.<blockquote>When?", "An open end.\n\nWhen?"),
    ],
)
def test_a_quotation_at_the_end_of_a_page_has_marks(page: str, text: str) -> None:
    assert body(two_forms("", page)) == text


@pytest.mark.parametrize(
    ("header", "body", "text"),
    [
        ("Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable", b"caf=E9 au=\n lait", "café au lait"),
        ("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64", b"Y2Fmw6k=", "café"),
        ("Content-Type: text/plain; charset=nonsense", "café".encode(), "café"),
        ("Content-Type: text/plain; charset=undefined", "café".encode(), "café"),
        ('Content-Type: text/plain; charset="utf\0-8"', "café".encode(), "café"),
        ("Content-Type: text/plain; charset=us-ascii", "café".encode(), "café"),
        ("X: y", b"plain", "plain"),
        ("Content-Type: multipart/mixed", b"no boundary", "no boundary"),
        ("Content-Type: text/calendar", b"BEGIN", "Attachments: text/calendar"),
        ('Content-Type: multipart/mixed; boundary="b"', b"--b\n\none\n--b\n\ntwo", "one\n\ntwo"),
    ],
)  # fmt: skip
def test_encodings(header: str, body: bytes, text: str) -> None:
    assert read(f"Subject: s\n{header}\n\n".encode() + body).text == f"subject: s\n\n{text}"


@pytest.mark.parametrize(
    ("header", "heading"),
    [
        ("From: anna@example.org", "anna@example.org"),
        ("From: Anna\nDate: some day", "Anna"),
        ("Date: Mon, 02 Jan 2023 10:00:00 +0100", "2 January 2023"),
        ("X: y", ""),
    ],
)
def test_passages_are_named_by_what_the_header_says(header: str, heading: str) -> None:
    assert [section.heading for section in read(f"Subject: s\n{header}\n\nText.".encode()).sections] == [heading]


def test_a_subject_that_is_no_cell_stands_on_a_line_of_its_own() -> None:
    document = read(b"From: a@b.org\nTo: c@d.org\nSubject: One; two\n\nText.")
    assert document.text == "from: a@b.org; to: c@d.org\nsubject: One; two\n\nText."
    long = "word " * 20 + "end"
    document = read(f"From: a@b.org\nTo: c@d.org\nSubject: {long}\n\nText.".encode())
    assert document.text == f"from: a@b.org; to: c@d.org\nsubject: {long}\n\nText."
    assert read(b"To: c@d.org\n\nText.").text == "to: c@d.org\n\nText."


@pytest.mark.parametrize(
    ("header", "sender"),
    [
        ("bbb@ddd.com (John X. Doe)", "John X. Doe <bbb@ddd.com>"),
        ("bbb at ddd.com (John X. Doe)", "John X. Doe <bbb at ddd.com>"),  # as archives of lists write it
        ("anna@example.org (=?utf-8?q?J=C3=B6_D?=),\n bob@example.org (Bob), Eve <e@f.g>",
         "Jö D <anna@example.org>, Bob <bob@example.org>, Eve <e@f.g>"),
        ("anna@example.org (Berg, Anna)", '"Berg, Anna" <anna@example.org>'),
        ('anna@example.org (Anna "B" Berg)', r'"Anna \"B\" Berg" <anna@example.org>'),
        ('"J. Doe" <j@example.org>', "J. Doe <j@example.org>"),
        ('"Doe, bob@example.org (Bob)" <j@example.org>', '"Doe, bob@example.org (Bob)" <j@example.org>'),
    ],
)  # fmt: skip
def test_a_name_behind_an_address_is_read(header: str, sender: str) -> None:
    document = read(f"From: {header}\nSubject: s\n\nText.".encode())
    assert document.fields == {"from": sender}
    assert document.text == f"from: {sender}; subject: s\n\nText."


def test_a_forwarded_message_is_named() -> None:
    message = mail("See below.")
    message.add_attachment(mail("Inner."))
    assert body(message) == "See below.\n\nAttachments: Plän for Monday"


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(DocumentError, match="no header"):
        read(b"\n\nJust text.")


@given(
    st.binary(max_size=300),
    st.sampled_from(["Subject: ", "Content-Type: multipart/mixed; boundary=b\n\n--b\n", "To: ", "Date: "]),
)
def test_any_bytes(data: bytes, head: str) -> None:
    with contextlib.suppress(DocumentError):
        read(head.encode() + data)
