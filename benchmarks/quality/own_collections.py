"""Fetch the collections that benchmarks/quality/questions asks about.

Run:  python benchmarks/quality/own_collections.py --work runs/own
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from support.own_collections import COLLECTIONS, lay_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    for name in COLLECTIONS:
        files = list(lay_out(name, options.work).iterdir())
        print(f"{name}: {len(files)} files, {sum(file.stat().st_size for file in files) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
