"""Clusters of similar passages, by their vectors at the time (Xiong et al. 2021, section 2.2)."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.files import write_bytes
from oreqa.index.clusters import k_means
from oreqa.training.distributed import from_first_process, process_number
from oreqa.training.retriever_examples import Source


@dataclass(frozen=True, slots=True)
class PassageClusters:
    """The clusters of a run's ``passages``, made anew every ``interval`` rounds from what ``encode`` gives at that time.

    ``encode`` returns vectors ``[passages, D]``. Clusters are kept in ``folder``, where a run that resumes in the middle of
    a round reads them: its model has changed since they were made.
    """

    passages: Sequence[Source]
    encode: Callable[[Sequence[Source]], NDArray[np.float32]]
    number: int
    points: int
    interval: int
    seed: int
    folder: Path

    def of_round(self, number: int) -> Mapping[Source, int]:
        """The cluster of each passage in a round."""
        return dict(zip(self.passages, self._assignments(number // self.interval).tolist(), strict=True))

    def _assignments(self, clustering: int) -> NDArray[np.int32]:
        """Each passage's cluster, ``[passages]``, in the clustering of that number; the same in all processes."""
        file, writes = self.folder / f"clusters-{clustering}.npy", process_number()[0] == 0
        stored: NDArray[np.int32] | None = from_first_process(np.load(file) if writes and file.is_file() else None)
        if stored is not None:
            return stored
        # All processes encode all passages: none has to wait for what another one sends.
        numbers = from_first_process(k_means(self.encode(self.passages), self.number, self.points, self.seed + clustering))
        if writes:
            content = io.BytesIO()
            np.save(content, numbers)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_bytes(file, content.getvalue())
        return numbers
