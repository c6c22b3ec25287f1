"""Fine-tuning of a question encoder and a reader together, with a fixed passage encoder (Xiong et al. 2021, section 2.3)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oreqa.answering.combining import Combination, merge_equal_spans
from oreqa.answering.reading import SPANS_TOP_K
from oreqa.datasets.load import answered_questions
from oreqa.datasets.questions import OpenQuestion, is_exact
from oreqa.errors import InputError, ModelError
from oreqa.index.best import best_sentences
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.module import DualEncoder
from oreqa.models.fitted import write_fitted
from oreqa.models.graph.torch import TorchSession, silence_transformers
from oreqa.models.names import FITTED, READER, find_model, find_tokenizer, model_fingerprint, read_config
from oreqa.models.reader.inputs import ReaderInputs, read_reader_folder
from oreqa.models.reader.module import ReaderModel
from oreqa.models.reader.reader import Reader
from oreqa.progress import Progress, no_progress, show
from oreqa.training.backbone import (
    check_positions,
    embeddings_of,
    kept_separators,
    start_encoder,
    start_headed,
    trainable_encoder,
)
from oreqa.training.distributed import in_turn
from oreqa.training.loop import EarlyStopping
from oreqa.training.losses import OPENQA_LOSSES
from oreqa.training.openqa.data import Collection, MatchedQuestion, load_questions, match_questions, open_collection
from oreqa.training.openqa.loss import OpenQALossOfBatch, OpenQAModel, QuestionCollator
from oreqa.training.openqa.recipe import OpenQARecipe
from oreqa.training.retriever.dev import current_encoder
from oreqa.training.retriever.save import save_encoder
from oreqa.training.trainer import copy_tokenizer, dev_folder, evaluated, fit

LAMBDAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""The weights tried for the passage's score: inner products can have any scale."""


@silence_transformers()
def train_openqa(recipe: OpenQARecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Fine-tune into ``out/retriever``, which keeps the passage encoder, and ``out/reader``, whose fitted.json has lambda.

    Returns the content of run.json. Resumes from the last checkpoint if there is one. Raises InputError for unusable data,
    ModelError for models that cannot be fine-tuned.
    """
    torch.manual_seed(recipe.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder, reader_path = trainable_encoder(find_model(recipe.retriever)), find_model(recipe.reader)
    check_positions(reader_path, max_tokens=recipe.max_tokens)
    encoder = start_question_encoder(folder, recipe.dropout, freeze_embeddings=recipe.freeze_embeddings)
    model = OpenQAModel(encoder, start_reader(recipe, reader_path))
    questions, dev = _questions([recipe.data_root / part for part in recipe.data], recipe.data_root / recipe.dev)
    collection, matched = _match(recipe, folder, questions, recipe.work or out / "work", device, progress)
    rng = random.Random(recipe.seed)
    numbers = [number for _ in range(recipe.epochs) for number in rng.sample(range(len(matched)), len(matched))]
    settings, tokenizer = model.reader.config.oreqa, find_tokenizer(reader_path)
    frame = {key: settings.get(key) for key in ("titles", "closing", "separators")}
    inputs = ReaderInputs(tokenizer, recipe.max_tokens, recipe.overlap, **frame)
    dev_set = DevSet(dev, collection, folder, recipe.passages, reranks=recipe.loss == "shared_rerank")
    lambda_record: dict[str, Any] = {}

    def save(path: Path) -> None:
        _save_retriever(model.encoder, folder, path / "retriever")
        model.reader.save_pretrained(path / "reader")
        copy_tokenizer(tokenizer.parent, path / "reader")
        with show(progress, "choosing lambda", len(dev)) as advance:
            em = dev_set.em_by_lambda(model.encoder, Reader(path / "reader", device=device))
            lambda_record.update(write_lambda(em, dev_set.reranks, path))
            advance(len(dev))

    def measure() -> float:
        with evaluated(model, recipe.optimiser.precision) as where:
            reader_folder = read_reader_folder(dev_folder(model.reader, tokenizer, out))
            return max(dev_set.em_by_lambda(model.encoder, Reader.of(reader_folder, TorchSession(model.reader, str(where)))))

    record = fit(
        model,
        numbers,
        QuestionCollator(folder, matched),
        OpenQALossOfBatch(
            model,
            OPENQA_LOSSES[recipe.loss].of(recipe),
            collection,
            matched,
            inputs,
            early_depth=recipe.early_depth,
            passages=recipe.passages,
            scale=recipe.scale,
        ),
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
        save=save,
        early_stopping=EarlyStopping(recipe.dev_metric, measure, recipe.patience) if recipe.dev_metric else None,
    )
    unread, unretrieved = model.skipped.tolist()
    counts = {
        "questions": len(questions),
        "dev_questions": len(dev),
        "unmatched": len(questions) - len(matched),
        "passages": len(collection.texts),
    }
    return {**counts, "skipped": {"unread": unread, "unretrieved": unretrieved}, **lambda_record, **record}


def _match(
    recipe: OpenQARecipe,
    folder: EncoderFolder,
    questions: Sequence[OpenQuestion],
    work: Path,
    device: str,
    progress: Progress,
) -> tuple[Collection, list[MatchedQuestion]]:
    """Return the passages, and the questions that have an answer in those retrieved for them."""
    corpus = recipe.data_root / recipe.corpus if recipe.corpus else None
    with in_turn():
        collection = open_collection(recipe.index, corpus, folder, recipe.passages, work, device, progress)
        with show(progress, "matching questions", len(questions)) as advance:
            vectors = Encoder(folder.path, device=device).encode([question.text for question in questions])
            rows = match_questions(collection, vectors, questions, recipe.match_depth, work / "matches.jsonl", advance)
    matched = [row for row in rows if len(row.matches)]
    if not matched:
        raise InputError("no question has an answer in a passage that is retrieved for it; set match_depth higher")
    return collection, matched


def _save_retriever(encoder: DualEncoder, folder: EncoderFolder, out: Path) -> None:
    """Save the encoder with fusion weights that make it rank passages only, as it was trained to."""
    save_encoder(encoder, folder, folder.pooling, folder.max_tokens, out)
    by_passage = {"passage_cosine": 1.0}
    write_fitted(out / FITTED, fusion={"sentence": {**by_passage, "sentence_cosine": 1.0}, "passage": by_passage})


def _questions(data: Sequence[Path], dev_file: Path) -> tuple[list[OpenQuestion], list[OpenQuestion]]:
    """Return the training questions, and those of dev that are not among them."""
    questions, dev = load_questions(data), answered_questions(dev_file, held_out=True)
    if not dev:
        raise InputError(f"{dev_file}: it holds no question with an answer to choose lambda with")
    texts = {question.text.casefold() for question in questions}
    dev = [question for question in dev if question.text.casefold() not in texts]
    if not dev:
        raise InputError(f"{dev_file}: data holds all of its questions; name other ones as dev")
    return questions, dev


def start_question_encoder(folder: EncoderFolder, dropout: float, *, freeze_embeddings: bool) -> DualEncoder:
    """Return two encoders that start from the folder's two, or from its one; that of the passages is frozen."""
    questions = folder.questions or folder
    for tower in (folder, questions):
        if len(tower.dense) > 1 or any(layer.activation != "identity" for layer in tower.dense):
            raise ModelError(f"{folder.path}: only an encoder with one linear layer on top, or none, is fine-tuned")
    for name in ("pooling", "normalise", "context", "max_tokens"):
        if getattr(folder, name) != getattr(questions, name):
            raise ModelError(f"{folder.path}: its encoders of questions and of passages differ in {name}")
    settings = {
        "kind": "encoder",
        "context": folder.context,
        "query_token_type": questions.query_token_type,
        "projection": folder.width if folder.dense else None,
        "towers": "separate",
    }
    if not folder.normalise:
        settings["similarity"] = "dot"
    if folder.attention:
        settings |= {"hops": folder.attention.hops, "joining": folder.attention.joining}
    encoder = start_encoder(folder.path, settings, dropout)
    encoder.passages.requires_grad_(False)
    if freeze_embeddings:
        for module in embeddings_of(encoder.towers[-1].backbone):
            module.requires_grad_(False)
    return encoder


def start_reader(recipe: OpenQARecipe, path: Path) -> ReaderModel:
    """Return a reader that starts from the folder's, with the recipe's settings."""
    settings = read_config(path).get("oreqa") or {}
    settings = {
        "kind": READER,
        "shared": recipe.is_shared,
        "max_tokens": recipe.max_tokens,
        "overlap": recipe.overlap,
        "answer_tokens": recipe.answer_tokens,
        "titles": bool(settings.get("titles", True)),
        "closing": bool(settings.get("closing", True)),
        **kept_separators(path),
    }
    reader: ReaderModel = start_headed(
        ReaderModel,
        path,
        dropout=recipe.dropout,
        attention_dropout=recipe.attention_dropout,
        freeze_embeddings=recipe.freeze_embeddings,
        head=True,
        oreqa=settings,
    )
    if recipe.loss != "shared_rerank":
        reader.qa_classifier.requires_grad_(False)
    return reader


@dataclass(frozen=True, slots=True)
class DevSet:
    """Questions, the passages searched for them, and how many of these are read.

    ``reranks`` says that the reader's passage logits replace the retriever's scores.
    """

    questions: Sequence[OpenQuestion]
    collection: Collection
    folder: EncoderFolder
    passages: int
    reranks: bool

    def em_by_lambda(self, encoder: DualEncoder, reader: Reader) -> list[float]:
        """Return the share of exact matches, in percent, with each of ``LAMBDAS``."""
        texts = [question.text for question in self.questions]
        places, retrieval = [], []
        for vector in current_encoder(self.folder, encoder).encode(texts):
            scores = self.collection.vectors @ vector
            nearest = best_sentences(scores, self.passages)
            places.append(nearest.tolist())
            retrieval.append(scores[nearest].tolist())
        passages = [[self.collection.texts[place] for place in row] for row in places]
        spans = reader.read(texts, passages, k=SPANS_TOP_K)
        em = []
        for weight in LAMBDAS:
            combination = lambda_combination(weight, self.reranks)
            ranked = [merge_equal_spans(*pair, combination) for pair in zip(spans, retrieval, strict=True)]
            rows = zip(self.questions, ranked, strict=True)
            right = sum(is_exact(best[0].span.text, question) for question, best in rows if best)
            em.append(round(100 * right / len(texts), 2))
        return em


def lambda_combination(weight: float, reranks: bool) -> Combination:
    """Return the weights of spans against their passages, scored by the retriever or by the reader's selection."""
    return Combination(selection=weight * reranks, retrieval=weight * (not reranks), aggregate=False)


def write_lambda(em: Sequence[float], reranks: bool, out: Path) -> dict[str, Any]:
    """Write the lambda with the most exact matches, the smallest of ties, beside the reader; return its part of run.json."""
    best = int(np.argmax(em))
    chosen = lambda_combination(LAMBDAS[best], reranks)
    weights = {"selection": chosen.selection, "retrieval": chosen.retrieval, "aggregate": chosen.aggregate}
    write_fitted(out / "reader" / FITTED, encoder=model_fingerprint(out / "retriever"), combination=weights)
    return {"lambda": LAMBDAS[best], "dev_em": [list(row) for row in zip(LAMBDAS, em, strict=True)]}
