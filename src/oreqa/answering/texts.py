"""Asks questions of texts that are not indexed: one call that leaves no folder behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import overload

from oreqa.answer import Answer
from oreqa.answering.answerer import Answerer
from oreqa.arguments import count, is_list, kind_of, question_list
from oreqa.core import Document
from oreqa.corpus.readers import has_text
from oreqa.defaults import Quality
from oreqa.errors import InputError
from oreqa.index.in_memory import index_documents

TextsToAsk = str | Document | Iterable[str | Document]
"""A text or a Document, or a list of them."""


@overload
def ask(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
    questions: str, texts: TextsToAsk, k: int = 3, *, threshold: float | None = None, quality: Quality | None = None
) -> list[Answer]: ...


@overload
def ask(
    questions: Iterable[str],
    texts: TextsToAsk,
    k: int = 3,
    *,
    threshold: float | None = None,
    quality: Quality | None = None,
) -> list[list[Answer]]: ...


def ask(
    questions: str | Iterable[str],
    texts: TextsToAsk,
    k: int = 3,
    *,
    threshold: float | None = None,
    quality: Quality | None = None,
) -> list[Answer] | list[list[Answer]]:
    """Return up to ``k`` answers to a question from ``texts``, best first, like ``Answerer.ask``; no index is kept.

    A list of questions returns a list of lists. An answer's ``passage.document_key`` is the position of its text in the
    list, from "0", or the key of its ``Document``. ``threshold`` and ``quality`` are those of ``Answerer``. Every call loads
    the models and encodes all texts: ask all questions at once, or index texts that you will ask again with
    ``index_documents``.

    Raises InputError for no texts, a text without a word, other types, or two Documents with the same key.

    Examples:
        >>> texts = ["Bees dance to tell each other where flowers are.", "An octopus has three hearts."]
        >>> (answer,) = ask("How many hearts does an octopus have?", texts, k=1)
        >>> answer.text, texts[int(answer.passage.document_key)]
        ('three', 'An octopus has three hearts.')
    """
    question_texts = question_list(questions)
    documents, k = _documents(texts), count(k, "the number of answers")
    if not question_texts:
        return []
    with tempfile.TemporaryDirectory(prefix="oreqa-", ignore_cleanup_errors=True) as folder:
        index_documents(Path(folder) / "index", documents)
        with Answerer.load(Path(folder) / "index", quality=quality) as answerer:
            return answerer.ask(questions if isinstance(questions, str) else question_texts, k, threshold=threshold)


def _documents(texts: TextsToAsk) -> list[Document]:
    """Return the texts as Documents, strings keyed by position. Raises InputError naming the first that is invalid."""
    if isinstance(texts, str | Document):
        texts = [texts]
    if not is_list(texts):
        raise InputError(f"texts are a string, a Document or a list of these, not {kind_of(texts)}")
    documents = [_document(text, number) for number, text in enumerate(texts)]
    if not documents:
        raise InputError("there are no texts to answer from: the list is empty")
    keys: dict[str, int] = {}
    for number, document in enumerate(documents):
        if (first := keys.setdefault(document.key, number)) != number:
            raise InputError(f"texts[{first}] and texts[{number}] have the same key, {document.key!r}; keys must differ")
    return documents


def _document(text: object, number: int) -> Document:
    if not isinstance(text, str | Document):
        raise InputError(f"texts[{number}] is {kind_of(text)}, not a string or a Document")
    document = Document(str(number), "", text) if isinstance(text, str) else text
    if isinstance(document.text, str) and not has_text(document.text):
        raise InputError(f"texts[{number}] holds no text")
    return document
