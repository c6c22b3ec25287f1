"""The manuals that the pairs of questions in benchmarks/quality/follow_ups are about."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from support.debian import fetch

MANUALS_OF_PAIRS = {
    "mpd": tuple(f"usr/share/doc/mpd/html/{name}.html" for name in ("user", "plugins", "protocol", "mpd.conf.5", "mpd.1")),
    "tig": ("usr/share/doc/tig/manual.html", "usr/share/doc/tig/tig.1.html", "usr/share/doc/tig/tigrc.5.html"),
    "newsboat": ("usr/share/doc/newsboat/newsboat.html", "usr/share/doc/newsboat/faq.html"),
    "calcurse": ("usr/share/doc/calcurse/manual.html",),
    "lftp": ("usr/share/man/man1/lftp.1.gz",),
}
"""The packages of Debian 12, and the files that are read from each."""


def lay_out_pairs_manual(package: str, work: Path) -> Path:
    """Return the folder with a package's manual."""
    folder = work / "manuals" / package
    if not folder.is_dir():
        unpacked, draft = fetch(package, work), folder.with_name(f"{package}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name in MANUALS_OF_PAIRS[package]:
            data = (unpacked / name).read_bytes()
            copy = draft / Path(name).name.removesuffix(".gz")
            copy.write_bytes(gzip.decompress(data) if name.endswith(".gz") else data)
        draft.rename(folder)
    return folder
