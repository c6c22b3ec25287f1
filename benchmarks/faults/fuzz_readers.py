"""Feeds damaged files to every reader: only DocumentError may escape, and nothing may hang or fill the memory.

Run:  python benchmarks/faults/fuzz_readers.py --seconds 600 --seeds /usr/share/doc

Seeds are small files made here, and those of --seeds that are not too large. Failing files are kept under --work;
reread one with: python -c "from oreqa.corpus.readers import *; print(list(read_documents(Path('FILE'))))"
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import random
import resource
import shutil
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oreqa.corpus import limits
from oreqa.corpus.process import end_parser
from oreqa.corpus.readers import read_documents
from oreqa.corpus.splitter import split_passages
from oreqa.errors import DocumentError

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support import markup_seeds
from support.markup_seeds import WORDS, random_text

READERS = (
    *markup_seeds.SEEDS,
    "txt",
    "md",
    "html",
    "epub",
    "eml",
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "odt",
    "ods",
    "csv",
    "tsv",
    "jsonl",
    "jsonl.gz",
)
PACKED = {
    "docx": "word/document.xml",
    "epub": "o.opf",
    "pptx": "ppt/slides/slide1.xml",
    "xlsx": "xl/worksheets/sheet1.xml",
    "odt": "content.xml",
    "ods": "content.xml",
    **markup_seeds.PACKED,
}
"""Formats that are archives, with the part that contains the text."""
LARGEST_SEED = 200_000
PATIENCE, SLACK = 5, 30
"""A file hangs if it takes ``SLACK`` seconds more than its wall-clock limit: ``PATIENCE`` times its CPU time."""
MOST_MEMORY = 2 << 30
TOKENS: dict[str, tuple[bytes, ...]] = {
    "text": (b"\n", b"\r", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", "\u200b\u0301\u2028".encode(), b"\x1b]52;",
             b" ", b"\t"),
    "md": (b"# ", b"###### ", b"---\n", b"===\n", b"```", b"title: ", b"| a | b |\n", b"1.\n", b"- ", b"> ", b"   "),
    "html": (b"<div>", b"<p>", b"</p>", b"<table><tr><td>", b"<ul><li>", b"<style>", b"<script>", b"<!--", b"<![CDATA[",
             b"&#1;", b"&#xD800;", b"<h1>", b"<a href=", b"<svg>", b"<textarea>", b"<head>", b"\"'"),
    "epub": (b"<itemref/>", b'<item id="a" href="../x"/>', b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&a;", b"<h1>", b"<table>",
             b"<nav>", b"#", b"%00", b"<![CDATA["),
    "eml": (b"\n\n", b"--b\n", b"--b--\n", b"Content-Type: ", b"multipart/mixed; boundary=b\n", b"message/rfc822\n\n",
            b"text/html; charset=x\n", b"=?utf-8?b?", b"Content-Transfer-Encoding: base64\n", b"filename*=utf-8''%ff",
            b"=\n", b": ", b";"),
    "pdf": (b"<<", b">>", b"[", b"]", b"(", b")", b"/Title 5", b"/Length 999999999", b"/Kids [1 0 R]", b"/Count -1",
            b"1 0 R", b"/Type /Pages", b"endstream", b"Tj", b"BT", b"ET", b"/Filter [/FlateDecode /LZWDecode]", b"/Prev 0",
            b"startxref\n0", b"T*", b"/Encrypt 3 0 R"),
    "docx": (b'<w:gridSpan w:val="60000000"/>', b"<w:p>", b"</w:p>", b"<w:tbl>", b"<w:tr><w:tc>",
             b'<w:pStyle w:val="Heading1"/>', b"<!DOCTYPE x>", b"&lt;", b"w:", b"<w:vMerge/>", b'xmlns:w="x"',
             b"<dc:title>"),
    "pptx": (b"<a:p>", b"</a:p>", b"<p:sp>", b"<p:grpSp>", b'<p:ph type="title"/>', b"<a:tbl><a:tr><a:tc>", b"<!DOCTYPE x>",
             b"<mc:AlternateContent>", b"a:"),
    "xlsx": (b"<row>", b"<c>", b'<c r="XFD1048576">', b't="s"', b't="inlineStr"', b"<v>", b"</v>", b'r="A', b"<f>",
             b"<!DOCTYPE x>", b'ref="A1:XFD1048576"'),
    "odt": (b"<text:p>", b"</text:p>", b"<text:h>", b"<text:list>", b"<text:list-item>", b"<table:table>",
            b"<table:table-row>", b'table:number-columns-repeated="99999999"', b'table:number-rows-repeated="99999999"',
            b"<!DOCTYPE x>", b"<text:note>"),
    "csv": (b'"', b",", b"\n", b'""', b",,,,,,,,", b"\t", b"text"),
    "jsonl": (b"{", b"}", b"[", b"]", b'"', b"\\ud800", b"\\u0000", b"9" * 5000, b"1e999", b"NaN", b"null", b"-", b'"text":',
              b'"id":'),
    **markup_seeds.TOKENS,
}  # fmt: skip


def seeds(kind: str, folder: Path | None, rng: random.Random) -> list[bytes]:
    """Return whole files to damage."""
    made = [_SEEDS[kind](rng) for _ in range(9)]
    if folder is None:
        return made
    files = [f for f in sorted(folder.rglob(f"*.{kind}")) if f.is_file() and 0 < f.stat().st_size < LARGEST_SEED]
    return made + [file.read_bytes() for file in rng.sample(files, min(100, len(files)))]


def _markdown(rng: random.Random) -> bytes:
    parts = [f"{'#' * rng.randint(1, 6)} {' '.join(rng.choices(WORDS, k=3))}\n\n{random_text(rng)}" for _ in range(4)]
    return ("---\ntitle: Octopus\n---\n" + "\n\n".join(parts)).encode()


def _html(rng: random.Random) -> bytes:
    body = "".join(
        f"<h2>{rng.choice(WORDS)}</h2><p>{random_text(rng)}</p><ul><li>{rng.choice(WORDS)}</ul>" for _ in range(4)
    )
    table = "<table><tr><td>left<td>right</table>"
    return f"<!doctype html><html><head><title>A</title></head><body><article>{body}{table}</article></body></html>".encode()


def _epub(rng: random.Random) -> bytes:
    names = [f"c{number}.xhtml" for number in range(rng.randint(1, 4))]
    items = "".join(f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(names))
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(len(names)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", '<container><rootfile full-path="o.opf"/></container>')
        archive.writestr("o.opf", f"<package><title>T</title><manifest>{items}</manifest><spine>{spine}</spine></package>")
        for name in names:
            archive.writestr(name, _html(rng))
    return buffer.getvalue()


def _pdf(rng: random.Random) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, pageCompression=rng.randint(0, 1))
    canvas.setTitle("Octopus")
    for _ in range(rng.randint(1, 4)):
        for number, line in enumerate(random_text(rng).split("\n")):
            canvas.drawString(72, 720 - 14 * number, line[:90])
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def _docx(rng: random.Random) -> bytes:
    import docx

    source = docx.Document()
    source.add_heading("Octopus", rng.randint(0, 3))
    for paragraph in random_text(rng).split("\n\n"):
        source.add_paragraph(paragraph)
    cells = source.add_table(2, 2).rows[0].cells
    cells[0].merge(cells[1]).text = "merged"
    return _saved(source)


def _pptx(rng: random.Random) -> bytes:
    from pptx import Presentation

    deck = Presentation()
    for _ in range(rng.randint(1, 4)):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = rng.choice(WORDS), random_text(rng)
        slide.shapes.add_table(2, 2, 0, 0, 99, 99).table.cell(0, 1).text = rng.choice(WORDS)
        slide.notes_slide.notes_text_frame.text = rng.choice(WORDS)
    return _saved(deck)


def _xlsx(rng: random.Random) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["name", "price", "text"])
    for number in range(rng.randint(1, 9)):
        book.active.append([rng.choice(WORDS), number, random_text(rng)])
    return _saved(book)


def _odt(rng: random.Random) -> bytes:
    import odfdo

    source = odfdo.Document("text")
    source.body.append(odfdo.Header(rng.randint(1, 3), "Octopus"))
    source.body.append(odfdo.List([rng.choice(WORDS) for _ in range(3)]))
    for paragraph in random_text(rng).split("\n\n"):
        source.body.append(odfdo.Paragraph(paragraph))
    return _saved(source)


def _ods(rng: random.Random) -> bytes:
    import odfdo

    source = odfdo.Document("spreadsheet")
    table = odfdo.Table("Octopus")
    prices: list[list[str | int]] = [[rng.choice(WORDS), n] for n in range(rng.randint(1, 9))]
    table.set_values([["name", "price"], *prices])
    source.body.append(table)
    return _saved(source)


def _saved(source: Any) -> bytes:
    buffer = io.BytesIO()
    source.save(buffer)
    return buffer.getvalue()


def _separated(delimiter: str) -> Callable[[random.Random], bytes]:
    def make(rng: random.Random) -> bytes:
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter=delimiter)
        writer.writerow(("id", "title", "text", "kind"))
        for number in range(rng.randint(1, 9)):
            writer.writerow((number, rng.choice(WORDS), random_text(rng), "x"))
        return buffer.getvalue().encode()

    return make


def _rows(rng: random.Random) -> bytes:
    rows = ({"id": n, "text": random_text(rng), "tags": ["a", {"b": 1.5}], "title": "é😀"} for n in range(rng.randint(1, 9)))
    return "".join(json.dumps(row, ensure_ascii=rng.random() < 0.5) + "\n" for row in rows).encode()


_SEEDS: dict[str, Callable[[random.Random], bytes]] = {
    **markup_seeds.SEEDS,
    "txt": lambda rng: random_text(rng).encode(),
    "md": _markdown,
    "html": _html,
    "epub": _epub,
    "eml": markup_seeds.mail,
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
    "odt": _odt,
    "ods": _ods,
    "csv": _separated(","),
    "tsv": _separated("\t"),
    "jsonl": _rows,
    "jsonl.gz": lambda rng: gzip.compress(_rows(rng)),
}


def damage(data: bytes, kind: str, others: list[bytes], rng: random.Random) -> bytes:
    """Return a damaged copy; packed formats are mostly damaged inside, where their own checks do not notice."""
    if kind == "jsonl.gz" and rng.random() < 0.5:
        return gzip.compress(_damage(gzip.decompress(data), "jsonl", others, rng))
    if kind in PACKED and rng.random() < 0.8:
        return _damage_part(data, kind, rng)
    return _damage(data, kind, others, rng)


def _damage_part(data: bytes, kind: str, rng: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice([PACKED[kind], *parts])
    parts[name] = _damage(parts.get(name, b""), kind, [], rng)
    if rng.random() < 0.1:
        del parts[rng.choice(list(parts))]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return buffer.getvalue()


def _damage(data: bytes, kind: str, others: list[bytes], rng: random.Random) -> bytes:
    out = bytearray(data)
    tokens = TOKENS["text"] + TOKENS.get({"tsv": "csv", "jsonl.gz": "jsonl", "ods": "odt"}.get(kind, kind), ())
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        a = rng.randrange(len(out) + 1)
        b = min(len(out), a + int(rng.paretovariate(0.5)))
        match rng.randrange(8):
            case 0:
                out[a:b] = b""
            case 1:
                out[a:a] = out[a:b] * rng.choice((1, 2, 30, 1000)) if b - a < 1000 else out[a:b]
            case 2:
                out[a:a] = rng.choice(tokens)
            case 3:
                out[a:a] = (rng.choice(tokens) * rng.choice((10, 1000, 20_000)))[:1_000_000]
            case 4:
                out[a : a + 1] = bytes([rng.randrange(256)])
            case 5 if out:
                bit = rng.randrange(len(out))
                out[bit] ^= 1 << rng.randrange(8)
            case 6 if others:
                other = rng.choice(others)
                c = rng.randrange(len(other) + 1)
                out[a:b] = other[c : c + rng.randrange(2000)]
            case _:
                out[a : a + 9] = str(rng.choice((0, -1, 2**31, 2**63, 10**30))).encode()
        if len(out) > 4_000_000:
            break
    return bytes(out[: rng.randrange(len(out) + 1)] if rng.random() < 0.05 else out)


def count(texts: list[str]) -> list[int]:
    """Count tokens roughly: the tokenizer is not under test here."""
    return [(len(text) + 3) // 4 for text in texts]


def read(file: Path) -> int:
    """Do what an index run does with a file, without the model; return the number of its documents."""
    documents = 0
    for document in read_documents(file):
        documents += 1
        for text in (document.key, document.title, document.text, *document.fields, *document.fields.values()):
            text.encode()
        assert len(document.title) <= limits.TITLE_CHARACTERS
        for passage in split_passages(document, count, 254):  # type: ignore[arg-type]
            assert document.text[passage.start : passage.end] == passage.text
            passage.heading.encode()
    return documents


def fuzz(kind: str, seconds: float, seed: int, folder: Path | None, work: Path) -> dict[str, object]:
    """Damage and read files until the time is over; print interim results, as the parent may end the process."""
    rng = random.Random(f"{kind} {seed}")
    wholes = seeds(kind, folder, rng)
    counts: Counter[str] = Counter()
    slowest = 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        file = work / f"case-{seed}-{counts['cases']}.{kind}"
        file.write_bytes(damage(rng.choice(wholes), kind, wholes, rng))
        kept = ""
        started = time.monotonic()
        try:
            counts["documents"] += read(file)
        except DocumentError as error:
            counts["refused"] += 1
            line = str(error)
            kept = (
                "crash"
                if "crashed" in line
                else "over-memory"
                if "memory" in line
                else "over-time"
                if "seconds" in line
                else ""
            )
            if "\n" in line or len(line) > 1000:
                kept = "escape"
        except Exception as error:
            kept = "escape"
            print(f"{file}: {error!r}", file=sys.stderr)
        took = time.monotonic() - started
        slowest = max(slowest, took)
        if took > PATIENCE * limits.parse_seconds(file.stat().st_size) + SLACK:
            kept = "hang"
        counts["cases"] += 1
        if kept:
            counts[kept] += 1
            file.rename(work / f"{kept}-{file.name}")
        else:
            file.unlink()
    end_parser()
    peaks = [resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {**counts, "slowest_seconds": round(slowest, 1), "peak": max(peaks)}


def supervise(kind: str, options: argparse.Namespace) -> dict[str, object]:
    """Fuzz one reader in separate processes, restarted when one hangs or dies."""
    work = options.work / kind
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    totals: Counter[str] = Counter()
    slowest, peak = 0.0, 0
    started = time.monotonic()
    seed = options.seed
    while (left := options.seconds - (time.monotonic() - started)) > 1:
        command = [
            sys.executable,
            __file__,
            "--reader",
            kind,
            "--seconds",
            str(left),
            "--seed",
            str(seed),
            "--work",
            str(work),
        ]
        child = subprocess.Popen(
            command + (["--seeds", str(options.seeds)] if options.seeds else []), stdout=subprocess.PIPE
        )
        try:
            printed, _ = child.communicate(timeout=left + 5 * limits.parse_seconds(4_000_000) + SLACK)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            totals["hang"] += 1
        else:
            if child.returncode:
                totals["escape"] += 1  # it died, and its counts are lost
            else:
                figures = json.loads(printed)
                slowest, peak = max(slowest, figures.pop("slowest_seconds")), max(peak, figures.pop("peak"))
                totals.update(figures)
        seed += 1
    seconds = time.monotonic() - started
    return {
        "cases": totals["cases"],
        "cases_a_second": round(totals["cases"] / seconds, 1),
        "documents": totals["documents"],
        "refused": totals["refused"],
        "refused for their time": totals["over-time"],
        "refused for their memory": totals["over-memory"],
        "crashes of the child, refused": totals["crash"],
        "escapes": totals["escape"],
        "hangs": totals["hang"],
        "slowest_seconds": slowest,
        "peak_mb": round(peak / 1e6),
        "peak within 2 GB": peak < MOST_MEMORY,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each reader")
    parser.add_argument("--seeds", type=Path, help="a folder of real files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--readers", nargs="*", default=READERS, choices=READERS)
    parser.add_argument("--work", type=Path, default=Path("runs/fuzz"))
    parser.add_argument("--forget", action="store_true", help="keep no result")
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        print(json.dumps(fuzz(options.reader, options.seconds, options.seed, options.seeds, options.work)))
        return
    results = {kind: supervise(kind, options) for kind in options.readers}
    if options.forget:
        print(json.dumps(results))
    else:
        report("faults/fuzz_readers", {"seconds a reader": options.seconds, "readers": results})
    if any(
        not figures["cases"] or figures["escapes"] or figures["hangs"] or not figures["peak within 2 GB"]
        for figures in results.values()
    ):
        sys.exit(1)


if __name__ == "__main__":
    main()
