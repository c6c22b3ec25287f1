"""Files of many formats from packages of the Debian archive, with what other programs read in them."""

from __future__ import annotations

import ast
import gzip
import io
import re
import subprocess
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError
from support.debian import fetch, fetch_source
from support.pages import Page

MAX_FILES = 60
"""Files of a collection, spread evenly over its file names."""

Reference = Callable[[bytes, Path], str]


def run(command: list[str], data: bytes) -> str:
    """Return what a program prints. Raises if it fails."""
    done = subprocess.run(command, input=data, capture_output=True, check=True, timeout=60)
    return done.stdout.decode("utf-8", "replace")


def by_man(data: bytes, file: Path) -> str:
    """Return a manual page as man shows it, without its first and last line, on lines long enough not to break words."""
    command = ["env", "MANWIDTH=400", "LC_ALL=C.UTF-8", "man", "-Tutf8", "-l", "-"]
    shown = re.sub(r"\x1b\[[\d;]*m|.\x08", "", run(command, data))
    return re.sub(r"‐\n\s*", "", "\n".join(shown.strip().split("\n")[1:-1])).replace("‐", "-")


def by_pandoc(kind: str) -> Reference:
    """Return a file as pandoc reads it."""
    return lambda data, file: run(["pandoc", "-f", kind, "-t", "plain", "--wrap=none"], data)


def by_info(data: bytes, file: Path) -> str:
    """Return the nodes of a file, without their first lines and menus."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "file.info"
        copy.write_bytes(data)
        shown = run(["info", "--subnodes", "-f", str(copy), "-o", "-"], b"")
    shown = re.sub(r"^(?:File: |Next: |Up: |Prev: ).*$", "", shown, flags=re.MULTILINE)
    return re.sub(r"^\* Menu:\n(?:(?!\n\n\n|^File: |\f).|\n(?!\n\n))*", "", shown, flags=re.MULTILINE)


def by_html(data: bytes, file: Path) -> str:
    """Return the page that asciidoc made of a file, which is beside it, as w3m shows it."""
    page = run(["w3m", "-dump", "-cols", "400", "-T", "text/html"], file.with_suffix(".html").read_bytes())
    return page.rpartition("Last updated")[0] or page


def by_tokens(data: bytes, file: Path) -> str:
    """Return the names, strings and numbers of JSON."""
    return " ".join(re.findall(r'"(?:[^"\\]|\\.)*"|[-\w.+]+', data.decode()))


def by_python(data: bytes, file: Path) -> str:
    """Return the docstrings and comments of Python code."""
    tree = ast.parse(data)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
    comments = [token.string for token in tokenize.tokenize(io.BytesIO(data).readline) if token.type == tokenize.COMMENT]
    return "\n".join([*texts, *comments])


def by_comments(data: bytes, file: Path) -> str:
    """Return the comments of C code, ignoring comment marks inside strings."""
    return "\n".join(re.findall(r"/\*.*?\*/|//[^\n]*", data.decode("utf-8", "replace"), re.DOTALL))


_SPHINX, _SYMPY = "usr/share/doc/sphinx-doc/html/_sources/**/*.rst.txt", "usr/share/doc/python-sympy-doc/examples/**/*.ipynb"
_GTK = "usr/share/help/*/gtk-doc-manual/index.docbook"

COLLECTIONS: dict[str, tuple[str, str, str, Reference]] = {
    "man (Git)": ("git-man", "usr/share/man/man1/*.gz", ".1", by_man),
    "mdoc (OpenSSH, tmux)": ("openssh-client tmux", "usr/share/man/man*/*.gz", ".1", by_man),
    "Info (coreutils)": ("coreutils", "usr/share/info/*.info.gz", ".info", by_info),
    "reStructuredText (Sphinx)": ("sphinx-doc", _SPHINX, ".rst", by_pandoc("rst")),
    "AsciiDoc (Git)": ("git-doc", "usr/share/doc/git-doc/git*.txt", ".adoc", by_html),
    "DocBook (Publican)": ("publican", "usr/share/doc/publican/examples/en-US/*.xml", ".docbook", by_pandoc("docbook")),
    "DocBook (GTK-Doc)": ("gtk-doc-tools", _GTK, ".docbook", by_pandoc("docbook")),
    "LaTeX (GLPK)": ("source:glpk", "doc/*.tex", ".tex", by_pandoc("latex")),
    "Org (Emacs packages)": (
        "elpa-magit elpa-which-key elpa-helm-org elpa-ivy", "usr/share/**/*.org*", ".org", by_pandoc("org"),
    ),
    "notebooks (SymPy)": ("python-sympy-doc", _SYMPY, ".ipynb", by_pandoc("ipynb")),
    "RTF (tests of UnRTF)": ("source:unrtf", "tests/*.rtf", ".rtf", by_pandoc("rtf")),
    "JSON (ISO codes)": ("iso-codes", "usr/share/iso-codes/json/iso_*.json", ".json", by_tokens),
    "Python (Sphinx)": ("python3-sphinx", "usr/lib/python3/dist-packages/sphinx/**/*.py", ".py", by_python),
    "C (zlib, SQLite)": ("zlib1g-dev libsqlite3-dev", "usr/include/**/*.h", ".h", by_comments),
}  # fmt: skip
"""Collection -> its packages, its files as a pattern, the extension that they are read with, and the reference."""


def file_pages(work: Path) -> Iterator[Page]:
    """Yield a page for each file with words that both can read."""
    for name, (packages, pattern, suffix, reference) in COLLECTIONS.items():
        files: list[Path] = []
        for package in packages.split():
            _, is_source, source = package.rpartition("source:")
            folder = fetch_source(source, work) if is_source else fetch(package, work)
            files += sorted(file for file in folder.glob(pattern if not is_source else f"*/{pattern}") if file.is_file())
        step = max(1, len(files) // MAX_FILES)
        for file in files[::step][:MAX_FILES]:
            yield from _page(name, file, suffix, reference)


_FORMULA = re.compile(
    rb"(?<!\\)\$\$.*?\$\$|(?<![\\$])\$[^$]*\$|\\\[.*?\\\]|\\begin\{(equation|eqnarray|align|array|comment)\*?\}.*?\\end\{\1\*?\}",
    re.DOTALL,
)
"""What is removed from LaTeX for both: formulas, which pandoc leaves in TeX and oreqa turns into characters; comments."""


def _page(collection: str, file: Path, suffix: str, reference: Reference) -> Iterator[Page]:
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    if suffix == ".tex":
        data = _FORMULA.sub(b"x", data)
    if collection.startswith("AsciiDoc") and (b"include::" in data or not file.with_suffix(".html").exists()):
        return  # what it includes is not part of the package
    try:
        text = reference(data, file)
    except (subprocess.SubprocessError, SyntaxError, UnicodeDecodeError):
        return
    if not re.search(r"\w", text):
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"file{suffix}"
        copy.write_bytes(data)
        try:
            documents = list(read_documents(copy))
        except DocumentError as error:
            print(f"{collection}: {file.name}: {error}")
            documents = []
    yield Page(collection, file.name, text, "\n".join(map(_all_text, documents)), {}, False)


def _all_text(document: Document) -> str:
    """Return a document's text with its title and headings, each once."""
    headings = dict.fromkeys(heading for section in document.sections for heading in section.heading.split(" > "))
    return "\n".join([document.title, *headings, *document.fields.values(), document.text])
