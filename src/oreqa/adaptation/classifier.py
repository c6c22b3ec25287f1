"""The classifier of an adaptation: trained from one that ranks sentences of any text, on questions about this index."""

from __future__ import annotations

import json
from pathlib import Path

from oreqa.adaptation.work import CLASSIFIER_RECIPE, CLASSIFIER_TRAINED, PAIRS
from oreqa.files import write_text
from oreqa.models.cross_encoder.folder import read_cross_encoder_folder
from oreqa.models.fitted import write_fitted
from oreqa.models.folders import CLASSIFIER, FITTED, find_model
from oreqa.progress import Progress

_RECIPE = """kind = "classifier"
backbone = {backbone}
data_root = {work}
data = ["{pairs}"]
loss = "cross_entropy"
marking = "{folder.marking}"
max_tokens = {folder.max_tokens}
freeze_embeddings = true
dropout = 0.0
seed = {seed}

[optimiser]
learning_rate = 1e-4
batch = 64
checkpoint_steps = 10
"""


def train_classifier(work: Path, base: str, seed: int, progress: Progress) -> Path:
    """Train the classifier ``base`` on the pairs of an adaptation, unless that is done, and return its folder.

    Its weight against the retriever's score stays: its probabilities are of the same kind.
    """
    from oreqa.training import train_model

    folder, out = read_cross_encoder_folder(find_model(base), CLASSIFIER), work / CLASSIFIER_TRAINED
    if not (out / "run.json").is_file():
        backbone, place = (json.dumps(str(path), ensure_ascii=False) for path in (base, work))
        recipe = _RECIPE.format(backbone=backbone, work=place, pairs=PAIRS, folder=folder, seed=seed)
        write_text(work / CLASSIFIER_RECIPE, recipe)
        train_model("classifier", work / CLASSIFIER_RECIPE, out, (), progress)
    if folder.fitted.rerank_weight is not None:
        write_fitted(out / FITTED, rerank_weight=folder.fitted.rerank_weight)
    return out
