"""Static embeddings: one vector per token, independent of its context. A text's vector is the mean of its tokens'.

Encoding needs no network and costs little more than tokenisation. Supports folders of model2vec (Tulkens and van Dongen
2024) and of sentence-transformers' StaticEmbedding. Computed in numpy, on any device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from oreqa.arrays import Floats
from oreqa.errors import ModelError
from oreqa.models.graph.session import Batch, Outputs
from oreqa.models.names import load_tensors
from oreqa.models.settings import MODEL2VEC

_UNLIMITED = 1 << 30
"""The longest input, in tokens, of sentence-transformers' static encoders."""

_TABLES = ("embedding.weight", "embeddings")
"""Names of the table, in sentence-transformers and in model2vec."""


def static_tokens(config: Mapping[str, Any]) -> int:
    """Return the longest text, in tokens; model2vec truncates longer ones."""
    longest = config.get("max_length", 512) if config.get("model_type") == MODEL2VEC else None
    return _UNLIMITED if longest is None else int(longest)


def table_width(path: Path) -> int:
    """Return the dimensions of the vectors in a .safetensors file. Raises ModelError if it has no table of them."""
    try:
        with safe_open(path, framework="numpy") as tensors:
            name = next(name for name in _TABLES if name in tensors.keys())  # noqa: SIM118 (it is no mapping)
            _rows, width = tensors.get_slice(name).get_shape()
    except (OSError, SafetensorError, StopIteration, ValueError) as error:
        raise ModelError(
            f"{path}: it has no table of vectors ({' or '.join(_TABLES)}); copy or download it again"
        ) from error
    return int(width)


def load_table(path: Path) -> Floats:
    """Return the vectors of all tokens, ``[vocabulary, dim]``. Raises ModelError if there are none.

    model2vec may store fewer vectors than tokens, with a vector number (``mapping``) and a weight for each token.
    """
    table_width(path)
    tensors = load_tensors(path)
    table = next(tensors[name] for name in _TABLES if name in tensors).astype(np.float32)
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    try:
        table = table if mapping is None else table[mapping]
        return table if weights is None else np.asarray(table * weights[:, None], np.float32)
    except (IndexError, ValueError) as error:
        raise ModelError(f"{path}: its mapping or weights do not fit its vectors; copy or download it again") from error


def normalised(vectors: Floats) -> Floats:
    """Normalise vectors ``[..., dim]`` to unit length; zero vectors stay zero."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return np.asarray(vectors / lengths, np.float32)


class StaticSession:
    """Averages token vectors: one output, ``[batch, outputs, dim]``, like the sessions of Transformers."""

    def __init__(self, path: Path, normalise: bool) -> None:
        self._path, self._table, self._normalise = path, load_table(path), normalise

    def run(self, batches: Iterator[Batch]) -> Outputs:
        """Implement ``Session.run``."""
        for batch in batches:
            ids, _mask, _types, pool = batch.arrays
            vectors: NDArray[np.float32] = pool @ self._states(ids)
            yield batch, [normalised(vectors) if self._normalise else vectors]

    def _states(self, ids: NDArray[np.int64]) -> Floats:
        try:
            states: Floats = self._table[ids]
        except IndexError:
            raise ModelError(f"{self._path}: its tokenizer has more tokens than it has vectors; copy it again") from None
        return states
