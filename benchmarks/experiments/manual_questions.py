"""Questions about the options, settings and commands of manuals, for training: those that `oreqa mine definitions` makes.

Run:  python benchmarks/experiments/manual_questions.py --work runs/manuals      (writes runs/manuals/manuals.json)

Fetches manuals from the Debian archive whose licences let anyone use and change them, and none that the questions
of benchmarks/quality ask about. Manual pages become HTML by mandoc, as websites show them.
"""

from __future__ import annotations

import argparse
import gzip
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from oreqa.core import Passage
from oreqa.corpus.readers import read_documents
from oreqa.corpus.splitter import split_passages
from oreqa.defaults import BASE_ENCODER
from oreqa.generation.definitions import definition_drafts
from oreqa.generation.drafts import Draft
from oreqa.generation.output import write_questions
from oreqa.models.encoder.encoder import Encoder

sys.path.append(str(Path(__file__).parents[1]))
from support.debian import fetch

PAGES = (
    "bind9-dnsutils", "bmake", "buildah", "curl", "fd-find", "fzf", "hyperfine", "jq",
    "libarchive-tools", "lighttpd", "mandoc", "mksh", "mosquitto", "netcat-openbsd", "nnn", "nsd", "ntpsec", "openbgpd",
    "openntpd", "opensmtpd", "openssh-client", "openssh-server", "pcre2-utils", "podman", "rclone", "redis-server",
    "ripgrep", "signify-openbsd", "skopeo", "sudo", "tcpdump", "tmux", "unbound", "zsh-common",
)  # fmt: skip
"""Packages with manual pages. Licences: Apache-2.0, BSD, curl's, EPL-2.0, ISC, MIT, MPL-2.0, zsh's."""

HTML = {
    "apache2-doc": "usr/share/doc/apache2-doc/manual/en",
    "bind9-doc": "usr/share/doc/bind9-doc",
    "nodejs-doc": "usr/share/doc/nodejs",
    "ntpsec-doc": "usr/share/doc/ntpsec-doc",
    "zsh-doc": "usr/share/doc/zsh-doc",
}
"""Packages with manuals in HTML, and where these lie."""

OF_PASSAGE, OF_PACKAGE = 8, 600
"""Questions that are kept of one passage, and of one package, at most."""


def pages(package: str, work: Path) -> list[Path]:
    """The manual pages of a package as HTML, made by mandoc."""
    mandoc, made = fetch("mandoc", work) / "usr/bin/mandoc", []
    for page in sorted((fetch(package, work) / "usr/share/man").glob("man?/*.gz")):
        out = work / "html" / package / f"{page.stem}.html"
        if not page.is_symlink() and not out.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run([mandoc, "-T", "html"], input=gzip.decompress(page.read_bytes()), capture_output=True)
            out.write_bytes(done.stdout)
        if out.exists():
            made.append(out)
    return made


def passages_of(files: list[Path], encoder: Encoder) -> Iterator[Passage]:
    """The passages of files, each text once."""
    seen: set[str] = set()
    for file in files:
        for document in read_documents(file):
            for passage in split_passages(document, encoder.count_tokens, 256):
                if passage.text not in seen:
                    seen.add(passage.text)
                    yield passage


def thinned(drafts: list[Draft], rng: random.Random) -> list[Draft]:
    """At most so many questions of a passage, and of all; in the order of the passages."""
    rng.shuffle(drafts)
    count: dict[int, int] = {}
    kept = []
    for draft in drafts:
        count[draft.passage] = count.get(draft.passage, 0) + 1
        if count[draft.passage] <= OF_PASSAGE:
            kept.append(draft)
    return sorted(kept[:OF_PACKAGE], key=lambda draft: (draft.passage, draft.start))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    encoder, rng = Encoder.load(BASE_ENCODER), random.Random(0)
    collections = {name: pages(name, work) for name in PAGES}
    collections |= {name: sorted((fetch(name, work) / place).rglob("*.html")) for name, place in HTML.items()}
    passages: list[Passage] = []
    drafts: list[Draft] = []
    for name, files in collections.items():
        own = list(passages_of(files, encoder))
        of_package = thinned(definition_drafts(own, rng), rng)
        drafts += [Draft(d.passage + len(passages), d.answer, d.start, d.style, d.question) for d in of_package]
        passages += own
        print(f"{name}: {len(files)} files, {len(own)} passages, {len(of_package)} questions", flush=True)
    out = work / "manuals.json"
    out.unlink(missing_ok=True)
    write_questions(out, passages, drafts)
    print(f"{len(drafts)} questions")


if __name__ == "__main__":
    main()
