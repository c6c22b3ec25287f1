"""Fine-tuning of a question encoder and a reader together, the passage encoder fixed (Xiong et al. 2021, section 2.3)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oreqa.answering.combining import Combination, merge_equal_spans
from oreqa.answering.reading import SPANS_TOP_K
from oreqa.datasets.load import answered_questions
from oreqa.datasets.questions import OpenQuestion
from oreqa.errors import InputError, ModelError
from oreqa.index.scoring import best_sentences
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import EncoderFolder, read_encoder_folder
from oreqa.models.encoder.module import DualEncoder
from oreqa.models.fitted import write_fitted
from oreqa.models.folders import FITTED, READER, find_model, model_fingerprint, read_config
from oreqa.models.graph.weights import find_tokenizer
from oreqa.models.reader.inputs import ReaderInputs
from oreqa.models.reader.module import BertReader
from oreqa.models.reader.reader import Reader
from oreqa.progress import Progress, no_progress, show
from oreqa.text.answers import match_pattern, normalize_answer
from oreqa.training.backbone import check_positions, start_bert
from oreqa.training.distributed import in_turn
from oreqa.training.openqa.data import Collection, load_questions, match_questions, open_collection
from oreqa.training.openqa.loss import OpenQALossOfBatch, OpenQAModel, QuestionCollator
from oreqa.training.openqa.recipe import OpenQARecipe
from oreqa.training.retriever.dev import current_encoder
from oreqa.training.retriever.save import save_encoder
from oreqa.training.retriever.start import start_encoder
from oreqa.training.trainer import copy_tokenizer, fit, silence_transformers

LAMBDAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""The weights of the passage's score that are tried: inner products can be of any size."""


@silence_transformers()
def train_openqa(recipe: OpenQARecipe, out: Path, progress: Progress = no_progress) -> dict[str, Any]:
    """Fine-tune into ``out/retriever``, whose encoder of passages is the one to begin with, and ``out/reader``, whose
    fitted.json has lambda; returns what run.json holds.

    Resumes from the last checkpoint if there is one. Raises InputError for data that cannot be learned from, ModelError for
    models that cannot be fine-tuned.
    """
    torch.manual_seed(recipe.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder, reader_path = read_encoder_folder(find_model(recipe.retriever)), find_model(recipe.reader)
    check_positions(reader_path, max_tokens=recipe.max_tokens)
    model = OpenQAModel(_start_encoder(recipe, folder), _start_reader(recipe, reader_path))
    work = recipe.work or out / "work"
    dev = answered_questions(recipe.data_root / recipe.dev, held_out=True)
    if not dev:
        raise InputError(f"{recipe.data_root / recipe.dev}: it holds no question with an answer to choose lambda with")
    asked = load_questions(recipe)
    texts = {question.text.casefold() for question in asked}
    dev = [question for question in dev if question.text.casefold() not in texts]
    if not dev:
        raise InputError(f"{recipe.data_root / recipe.dev}: data holds all of its questions; name other ones as dev")
    with in_turn():
        collection = open_collection(recipe, folder, work, device, progress)
        with show(progress, "matching questions", len(asked)) as advance:
            vectors = Encoder(folder.path, device=device).encode([question.text for question in asked])
            rows = match_questions(recipe, collection, vectors, asked, work / "matches.jsonl", advance)
    matched = [row for row in rows if len(row.matches)]
    if not matched:
        raise InputError("no question has an answer in a passage that is retrieved for it; set match_depth higher")
    rng = random.Random(recipe.seed)
    numbers = [number for _ in range(recipe.epochs) for number in rng.sample(range(len(matched)), len(matched))]
    settings = model.reader.config.oreqa
    inputs = ReaderInputs(
        find_tokenizer(reader_path), recipe.max_tokens, recipe.overlap, settings["titles"], settings["closing"]
    )
    lambda_record: dict[str, Any] = {}

    def save(path: Path) -> None:
        save_encoder(model.encoder, folder, folder.pooling, folder.max_tokens, path / "retriever")
        # The retriever is the dense one that was trained: its passages are ranked by it alone.
        by_passage = {"passage_cosine": 1.0}
        fusion = {"sentence": {**by_passage, "sentence_cosine": 1.0}, "passage": by_passage}
        write_fitted(path / "retriever" / FITTED, fusion=fusion)
        model.reader.save_pretrained(path / "reader")
        copy_tokenizer(find_tokenizer(reader_path).parent, path / "reader")
        with show(progress, "choosing lambda", len(dev)) as advance:
            lambda_record.update(_fit_lambda(recipe, folder, model.encoder, collection, dev, path, device))
            advance(len(dev))

    record = fit(
        model,
        numbers,
        QuestionCollator(folder, matched),
        OpenQALossOfBatch(recipe, model, collection, matched, inputs),
        optimiser=recipe.optimiser,
        seed=recipe.seed,
        out=out,
        progress=progress,
        save=save,
    )
    unread, unretrieved = model.skipped.tolist()
    counts = {
        "questions": len(asked),
        "dev_questions": len(dev),
        "unmatched": len(asked) - len(matched),
        "passages": len(collection.texts),
    }
    return {**counts, "skipped": {"unread": unread, "unretrieved": unretrieved}, **lambda_record, **record}


def _start_encoder(recipe: OpenQARecipe, folder: EncoderFolder) -> DualEncoder:
    """Two encoders that begin as the folder's two, or as its one; that of the passages stays as it is."""
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
    encoder = start_encoder(folder.path, settings, recipe.dropout)
    encoder.passages.requires_grad_(False)
    if recipe.freeze_embeddings:
        encoder.towers[-1].bert.embeddings.requires_grad_(False)
    return encoder


def _start_reader(recipe: OpenQARecipe, path: Path) -> BertReader:
    settings = read_config(path).get("oreqa") or {}
    settings = {
        "kind": READER,
        "shared": recipe.is_shared,
        "max_tokens": recipe.max_tokens,
        "overlap": recipe.overlap,
        "answer_tokens": recipe.answer_tokens,
        "titles": bool(settings.get("titles", True)),
        "closing": bool(settings.get("closing", True)),
    }
    rate = recipe.dropout if recipe.attention_dropout is None else recipe.attention_dropout
    reader: BertReader = start_bert(
        BertReader,
        path,
        dropout=recipe.dropout,
        attention_probs_dropout_prob=rate,
        freeze_embeddings=recipe.freeze_embeddings,
        head=True,
        oreqa=settings,
    )
    if recipe.loss != "shared_rerank":
        reader.qa_classifier.requires_grad_(False)
    return reader


def _fit_lambda(
    recipe: OpenQARecipe,
    folder: EncoderFolder,
    encoder: DualEncoder,
    collection: Collection,
    dev: list[OpenQuestion],
    out: Path,
    device: str,
) -> dict[str, Any]:
    """The lambda of the most exact matches on dev, the smallest of several, written beside the reader."""
    vectors = current_encoder(folder, encoder).encode([question.text for question in dev])
    places, retrieval = [], []
    for vector in vectors:
        scores = collection.vectors @ vector
        nearest = best_sentences(scores, recipe.passages)
        places.append(nearest.tolist())
        retrieval.append(scores[nearest].tolist())
    reader = Reader(out / "reader", device=device)
    texts = [[collection.texts[place] for place in of_question] for of_question in places]
    spans = reader.read([question.text for question in dev], texts, k=SPANS_TOP_K)
    reranks = recipe.loss == "shared_rerank"  # then the reader's logits of passages take the place of the retriever's scores
    combinations = [
        Combination(selection=value * reranks, retrieval=value * (not reranks), aggregate=False) for value in LAMBDAS
    ]
    matches = []
    for combination in combinations:
        ranked = [merge_equal_spans(*of_question, combination) for of_question in zip(spans, retrieval, strict=True)]
        right = (_is_right(question, best[0].span.text) for question, best in zip(dev, ranked, strict=True) if best)
        matches.append(sum(right))
    best = int(np.argmax(matches))
    chosen = combinations[best]
    weights = {"selection": chosen.selection, "retrieval": chosen.retrieval, "aggregate": chosen.aggregate}
    write_fitted(out / "reader" / FITTED, encoder=model_fingerprint(out / "retriever"), combination=weights)
    em = [[value, round(100 * count / len(dev), 2)] for value, count in zip(LAMBDAS, matches, strict=True)]
    return {"lambda": LAMBDAS[best], "dev_em": em}


def _is_right(question: OpenQuestion, answer: str) -> bool:
    if question.pattern is not None:
        return match_pattern(answer, question.pattern)
    return normalize_answer(answer) in {normalize_answer(gold) for gold in question.answers}
