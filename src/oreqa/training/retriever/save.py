"""Saves a trained dual encoder as a sentence-transformers folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn
from transformers import PreTrainedConfig

from oreqa.files import write_json
from oreqa.models.encoder.folder import (
    PASSAGE_ROUTE,
    QUESTION_ROUTE,
    ROUTER,
    SENTENCE_SETTINGS,
    EncoderFolder,
    encoder_fingerprint,
)
from oreqa.models.encoder.module import DualEncoder, RecurrentModel, Tower
from oreqa.models.fitted import encoder_fitted, write_fitted
from oreqa.models.names import FITTED
from oreqa.training.trainer import copy_tokenizer


def save_encoder(
    model: DualEncoder, origin: EncoderFolder, pooling: str, max_tokens: int, out: Path, new_layers: bool = False
) -> None:
    """Write a trained dual encoder as a sentence-transformers folder.

    The tokenizers and prompts are those of ``origin``, and so are the fitted weights of the retrieval scores, unless its
    layers were replaced by ``new_layers``.
    """
    out.mkdir(parents=True, exist_ok=True)
    if model.questions is None:
        modules = _save_tower(out, "", model.passages, model.config, origin, pooling, max_tokens)
        rows = list(modules.items())
    else:
        towers = {PASSAGE_ROUTE: (model.passages, origin), QUESTION_ROUTE: (model.questions, origin.questions or origin)}
        saved = {
            route: _save_tower(out, f"{route}_", tower, model.config, tower_origin, pooling, max_tokens)
            for route, (tower, tower_origin) in towers.items()
        }
        router = {
            "types": {name: kind for modules in saved.values() for name, kind in modules.items()},
            "structure": {route: list(modules) for route, modules in saved.items()},
            "parameters": {"default_route": PASSAGE_ROUTE, "allow_empty_key": True},
        }
        write_json(out / ROUTER, router)
        rows = [("", f"{_MODULES}.Router")]
    if model.normalise:
        rows.append((f"{len(rows)}_Normalize", f"{_MODULES}.Normalize"))
    sentence_settings: dict[str, Any] = {} if model.normalise else {"similarity_fn_name": "dot"}
    if origin.prompts:
        sentence_settings["prompts"] = {QUESTION_ROUTE: origin.prompts.question, PASSAGE_ROUTE: origin.prompts.passage}
    if sentence_settings:
        write_json(out / SENTENCE_SETTINGS, sentence_settings)
    write_json(
        out / "modules.json",
        [{"idx": i, "name": str(i), "path": name, "type": kind} for i, (name, kind) in enumerate(rows)],
    )
    if not new_layers:
        keep_fusion(model, origin, out)


def keep_fusion(model: DualEncoder, origin: EncoderFolder, out: Path) -> None:
    """Write the fitted weights of the retrieval scores of the model that training began with."""
    # Further training keeps the cosines' scale, so that the weights against BM25 still fit; a calibration does not.
    fusion = encoder_fitted(str(origin.path), encoder_fingerprint(origin)).fusion
    if fusion and model.normalise:
        write_fitted(out / FITTED, fusion=dict(fusion))


_MODULES = "sentence_transformers.models"


def _save_tower(
    out: Path, prefix: str, tower: Tower, config: PreTrainedConfig, origin: EncoderFolder, pooling: str, max_tokens: int
) -> dict[str, str]:
    """Write one encoder's modules into ``out``, in folders that begin with ``prefix``; return their names and classes.

    Without a prefix, the transformer is in ``out`` itself.
    """
    kind = f"{_MODULES}.Transformer"
    if config.oreqa["query_token_type"]:
        kind = "oreqa.models.encoder.module.QuestionTransformer"
    elif isinstance(tower.backbone, RecurrentModel):
        kind = "oreqa.models.encoder.module.RecurrentTransformer"
    names = {f"{prefix}0_Transformer" if prefix else "": kind}
    folder = out / next(iter(names))
    folder.mkdir(exist_ok=True)
    _save_weights(tower.backbone, folder)
    write_json(folder / "config.json", config.to_dict() | {"architectures": [type(tower.backbone).__name__]})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": origin.lower_case})
    copy_tokenizer(origin.transformer, folder)
    if tower.attention is None:
        folder = _new_folder(out, names, f"{prefix}1_Pooling", f"{_MODULES}.Pooling")
        modes = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}
        chosen = {mode: name == pooling for name, mode in modes.items()}
        prompt = {} if origin.pool_prompt else {"include_prompt": False}
        write_json(folder / "config.json", {"word_embedding_dimension": config.hidden_size, **chosen, **prompt})
    else:
        kind = "oreqa.models.encoder.module.AttentionPooling"
        tower.attention.save(str(_new_folder(out, names, f"{prefix}1_AttentionPooling", kind)))
    if (projection := tower.projection) is not None:
        folder = _new_folder(out, names, f"{prefix}2_Dense", f"{_MODULES}.Dense")
        settings = {"in_features": projection.in_features, "out_features": projection.out_features, "bias": True}
        settings["activation_function"] = "torch.nn.modules.linear.Identity"
        write_json(folder / "config.json", settings)
        _save_weights(projection, folder, "linear.")
    return names


def _new_folder(out: Path, names: dict[str, str], name: str, kind: str) -> Path:
    names[name] = kind
    (out / name).mkdir(exist_ok=True)
    return out / name


def _save_weights(module: nn.Module, folder: Path, prefix: str = "") -> None:
    state = {f"{prefix}{name}": value.detach().contiguous() for name, value in module.state_dict().items()}
    save_file(state, folder / "model.safetensors")
