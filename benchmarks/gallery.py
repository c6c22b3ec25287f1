"""Draw the pictures of docs/gallery.md by running its commands on the real files that the page names.

Run:  OREQA_PRECISION=f32 python benchmarks/gallery.py --data ../shared/data --work runs/gallery

apt-get and pip fetch Mutt's manual and Django's documentation.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

from support.terminal import draw

ROOT = Path(__file__).parent.parent
COLUMNS = 84
FETCH = {
    "mutt": "apt-get download mutt && dpkg -x mutt_*.deb package && mv package/usr/share/doc/mutt/html mutt-manual"
    " && rm mutt-manual/manual.html",  # the same chapters as one page
    "django-5.2.8": "pip download --quiet --no-deps --no-binary=:all: django==5.2.8 && tar -xzf django-5.2.8.tar.gz",
}
USES = {
    "manual": (
        "oreqa index mutt-manual",
        'oreqa ask "How do I delete all messages in a thread?" -k 1',
        'oreqa ask "How do I move to the next unread message?" -k 1',
        'oreqa ask "How do I save a copy of sent mail?" -k 1',
    ),
    "policies": (
        "oreqa index django-5.2.8/docs/internals --index policies",
        'oreqa ask "How long do long-term support releases get security fixes?" --index policies -k 1',
        'oreqa ask "How many people are on the steering council?" --index policies -k 1',
        'oreqa ask "Can I get paid leave?" --index policies | head -8',
    ),
    "research": (
        "oreqa eval reqa --data dev-v1.1.json.gz --mode sparse --out sparse",
        "oreqa eval reqa --data dev-v1.1.json.gz --mode hybrid --out hybrid",
        "oreqa compare sparse hybrid | head -12",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="holds SQuAD 1.1's dev set")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for name, command in FETCH.items():
        if not list(options.work.glob(f"{name}*/")):
            subprocess.run(command, shell=True, cwd=options.work, check=True)
    if not (options.work / "dev-v1.1.json.gz").exists():
        shutil.copy(options.data / "squad" / "squad-v1.1-dev.json.gz", options.work / "dev-v1.1.json.gz")
    for name, commands in USES.items():
        draw(commands, options.work, ROOT / "docs" / "images" / f"gallery-{name}.svg", COLUMNS)


if __name__ == "__main__":
    main()
