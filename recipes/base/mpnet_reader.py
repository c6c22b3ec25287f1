"""Train a reader on all-mpnet-base-v2 by recipes/base/reader.toml, and store it as a small difference from its base.

Run:  python recipes/base/mpnet_reader.py --data ../shared/data --work runs/base
      (on a GPU; some days on two cores; resumes when interrupted)

All weights above the embeddings are trained. The difference is stored as the nearest factors of rank 64, in eight bits:
11 MB. The mpnet-reader that ships was trained further, as its card says.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oreqa.models.pack.packing import pack_model
from oreqa.training import train_model

RANK, LICENCE = 64, "CC BY-SA 4.0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/base"))
    options = parser.parse_args()
    trained = options.work / "reader"
    if not (trained / "run.json").is_file():
        train_model("reader", Path(__file__).parent / "reader.toml", trained, f"data_root={options.data}")
    pack_model(trained, "reader", "all-mpnet-base-v2", options.work / "mpnet-reader", LICENCE, rank=RANK)


if __name__ == "__main__":
    main()
