"""The collections of quality/questions: documents of Debian packages, fetched and laid out in folders.

Each collection becomes the folder `WORK/collections/NAME`. Its files are copied unchanged, except that gzipped files
are unpacked and files without an extension get .txt.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from oreqa.corpus.readers import is_supported
from support.debian import fetch

_GIT = (
    "git", "git-add", "git-archive", "git-bisect", "git-blame", "git-branch", "git-bundle", "git-checkout",
    "git-cherry-pick", "git-clean", "git-clone", "git-commit", "git-config", "git-describe", "git-diff", "git-fetch",
    "git-format-patch", "git-gc", "git-grep", "git-init", "git-log", "git-maintenance", "git-merge", "git-mv",
    "git-notes", "git-pull", "git-push", "git-rebase", "git-reflog", "git-remote", "git-reset", "git-restore",
    "git-revert", "git-rm", "git-send-email", "git-sparse-checkout", "git-stash", "git-status", "git-submodule",
    "git-switch", "git-tag", "git-worktree", "gitattributes", "gitcredentials", "giteveryday", "gitfaq", "gitglossary",
    "githooks", "gitignore", "gitrevisions", "gittutorial", "gitworkflows",
)  # fmt: skip

_DATASETS = "usr/lib/python3/dist-packages/statsmodels/datasets"

COLLECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "git": {"git-doc": tuple(f"usr/share/doc/git-doc/{name}.html" for name in _GIT)},
    "pdf": {
        "gnuplot-doc": ("usr/share/doc/gnuplot/gnuplot.pdf",),
        "r-doc-pdf": ("usr/share/R/doc/manual/R-data.pdf",),
    },
    "prose": {
        "golang-1.19-src": ("usr/share/go-1.19/src/testdata/Isaac.Newton-Opticks.txt",),
        "jargon-text": ("usr/share/doc/jargon-text/jargon.txt.gz",),
        "nethack-common": ("usr/share/doc/nethack-common/Guidebook.txt.gz",),
    },
    "tables": {
        "python3-plotly": tuple(f"usr/share/python3-plotly/datasets/{name}.csv.gz" for name in ("election", "gapminder")),
        "python3-vega-datasets": ("usr/lib/python3/dist-packages/vega_datasets/_data/airports.csv",),
        "python3-statsmodels": tuple(
            f"{_DATASETS}/{name}/{name}.csv" for name in ("committee", "cpunish", "longley", "nile", "statecrime")
        ),
    },
    "securing": {"harden-doc": ("usr/share/doc/harden-doc/html/en-US/*.html",)},
}
"""Collection -> package -> patterns of the files that are used."""

_MISC = ("airport", "birthtoken", "countries", "currency", "inter.phone", "languages", "na.postalcodes")
_DAYS = ("birthday", "computer", "discordian", "lotr", "newzealand", "southafrica", "usholiday")
_CHARTS = ("grib2_center", "gt_ellips", "s57agencies", "s57attributes", "s57objectclasses", "stateplane")
_SERVER = "usr/share/doc/lighttpd"

LISTS: dict[str, dict[str, tuple[str, ...]]] = {
    "ports": {"netbase": tuple(f"etc/{name}" for name in ("ethertypes", "protocols", "rpc", "services"))},
    "codes": {"miscfiles": tuple(f"usr/share/misc/{name}.gz" for name in _MISC)},
    "days": {"calendar": tuple(f"usr/share/calendar/calendar.{name}" for name in _DAYS)},
    "charts": {"gdal-data": tuple(f"usr/share/gdal/{name}.csv" for name in _CHARTS)},
    "editors": {
        "nano": ("usr/share/doc/nano/nano.html",),
        "vim-runtime": tuple(f"usr/share/vim/vim90/doc/{name}.txt" for name in ("index", "options")),
    },
    "mailer": {
        "lighttpd-doc": (f"{_SERVER}/*.txt", f"{_SERVER}/*.txt.gz"),
        "mutt": ("usr/share/doc/mutt/html/reference.html",),
    },
}
"""The same for the questions about lists of similar lines, lists-tuning.jsonl and lists-reporting.jsonl."""

_CRAWL = "usr/share/crawl/docs"

FRESH: dict[str, dict[str, tuple[str, ...]]] = {
    "converter": {"writer2latex-manual": ("usr/share/doc/writer2latex/manual/user-manual.odt",)},
    "dungeon": {
        "crawl-common": tuple(
            f"{_CRAWL}/{name}.txt"
            for name in ("crawl_manual", "macros_guide", "options_guide", "quickstart", "ssh_guide", "tiles_help")
        ),
    },
    "mail": {"exim4-doc-html": ("usr/share/doc/exim4-doc-html/spec_html/ch-*.html",)},
    "power": {"nut-doc": tuple(f"usr/share/doc/nut-doc/pdf/{name}.pdf" for name in ("FAQ", "user-manual"))},
    "reference": {"debian-reference-en": ("usr/share/debian-reference/*.en.html",)},
    "registry": {"ieee-data": ("usr/share/ieee-data/mam.csv",)},
}
"""The same for fresh.jsonl."""

_ICINGA = (
    "02-installation", "03-monitoring-basics", "06-distributed-monitoring", "07-agent-based-monitoring",
    "08-advanced-topics", "11-cli-commands", "12-icinga2-api", "14-features", "15-troubleshooting",
)  # fmt: skip

HOWTO: dict[str, dict[str, tuple[str, ...]]] = {
    "capture": {"wireshark-doc": ("usr/share/doc/wireshark/wsug_html_chunked/*.html",)},
    "installer": {"installation-guide-amd64": ("usr/share/doc/installation-guide-amd64/en/install.en.txt.gz",)},
    "logs": {"rsyslog-doc": ("usr/share/doc/rsyslog-doc/html/t*/[!i]*.html",)},  # not the two index.html
    "monitoring": {"icinga2-doc": tuple(f"usr/share/doc/icinga2/markdown/{name}.md.gz" for name in _ICINGA)},
    "packages": {"aptitude-doc-en": ("usr/share/doc/aptitude/html/en/*.html",)},
}
"""The same for howto-tuning.jsonl and howto-reporting.jsonl."""

_VEGA = "usr/lib/python3/dist-packages/vega_datasets/_data"
_READR, _READXL = (f"usr/lib/R/site-library/{name}/extdata" for name in ("readr", "readxl"))

COMPUTED: dict[str, dict[str, tuple[str, ...]]] = {
    "client": {"node-undici": ("usr/share/doc/node-undici/README.md.gz",)},
    "sheets": {
        "python3-vega-datasets": tuple(
            f"{_VEGA}/{name}.csv" for name in ("iowa-electricity", "seattle-weather", "us-employment")
        ),
        "r-cran-readr": tuple(f"{_READR}/{name}.csv" for name in ("chickens", "mini-gapminder-*", "mtcars")),
        "r-cran-readxl": tuple(f"{_READXL}/{name}.xlsx" for name in ("datasets", "deaths")),
        "sqlite3-doc": tuple(f"usr/share/doc/sqlite3/{name}.html" for name in ("chronology", "cves")),
        "zstd": ("usr/share/doc/zstd/README.md.gz",),
    },
}
"""The same for computed-tuning.jsonl and computed-reporting.jsonl, which also ask about the collection ``tables``."""

_LLVM = (
    "BuildingADistribution", "CMake", "CodingStandards", "CommandGuide/FileCheck", "CommandGuide/lit", "CommandGuide/llc",
    "CommandGuide/llvm-ar", "CommandGuide/opt", "CoverageMappingFormat", "DeveloperPolicy", "GettingStarted",
    "GettingStartedVS", "HowToCrossCompileLLVM", "HowToReleaseLLVM", "LibFuzzer", "Passes", "Phabricator",
    "ProgrammersManual", "SupportPolicy", "TestingGuide",
)  # fmt: skip

VERSIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "versions": {
        package: tuple(f"usr/share/doc/{package}/html/{name}.html" for name in _LLVM)
        for package in ("llvm-14-doc", "llvm-16-doc")
    },
}
"""The same for versions.jsonl, with a folder per package."""

SEVERAL: dict[str, dict[str, tuple[str, ...]]] = {
    "board": {"gnugo": ("usr/share/doc/gnugo/html/gnugo_[0-9]*.html",)},
    "routing": {"bird2-doc": ("usr/share/doc/bird2/bird-[1-7].html",)},
    "tunnel": {"stunnel4": ("usr/share/doc/stunnel4/stunnel.html",)},
}
"""The same for several-tuning.jsonl and several-reporting.jsonl."""

EVERY = COLLECTIONS | LISTS | FRESH | HOWTO | COMPUTED | VERSIONS | SEVERAL


def lay_out(name: str, work: Path) -> Path:
    """Return the folder of a collection, fetched if it is missing."""
    folder = work / "collections" / name
    if folder.is_dir():
        return folder
    draft = folder.with_name(f"{name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for package, patterns in EVERY[name].items():
        unpacked, place = fetch(package, work), draft / package if name in VERSIONS else draft
        place.mkdir(exist_ok=True)
        for pattern in patterns:
            files = sorted(unpacked.glob(pattern))
            if not files:
                raise FileNotFoundError(f"{package} holds no {pattern}: another version of it wants other questions")
            for file in files:
                _copy(file, place)
    draft.rename(folder)
    return folder


def _copy(file: Path, folder: Path) -> None:
    packed = file.suffix == ".gz"
    name = file.stem if packed else file.name
    copy = folder / (name if is_supported(Path(name)) else f"{name}.txt")
    if not packed:
        shutil.copyfile(file, copy)
        return
    with gzip.open(file, "rb") as content:
        copy.write_bytes(content.read())
