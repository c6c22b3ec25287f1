"""Named entities of spaCy, where it is installed: the answer candidates of ProQA (Xiong et al. 2021, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from oreqa.errors import InputError, ModelError

DEFAULT_PIPELINE = "en_core_web_sm"

LONGEST_TEXT = 100_000
"""Characters of a passage that are searched: spaCy takes about 100 kB of memory for 1,000 characters."""


class Entities:
    """A loaded spaCy pipeline that finds named entities, dates and numbers."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    @property
    def fingerprint(self) -> str:
        """The pipeline's name and version."""
        return " ".join(str(self._pipeline.meta.get(key, "")) for key in ("lang", "name", "version", "spacy_version"))

    @classmethod
    def load(cls, name: str = DEFAULT_PIPELINE) -> Entities:
        """Load a spaCy pipeline by name or folder. Raises ModelError if spaCy or the pipeline is not installed, InputError
        for a pipeline without entities."""
        try:
            import spacy
        except ImportError:
            raise ModelError("entities need spaCy: pip install spacy, and a pipeline such as en_core_web_sm") from None
        try:
            pipeline = spacy.load(name, exclude=["tagger", "parser", "lemmatizer", "attribute_ruler", "senter"])
        except (OSError, ValueError) as error:
            raise ModelError(f"spaCy has no pipeline {name!r}: python -m spacy download {name}") from error
        if "ner" not in pipeline.pipe_names:
            raise InputError(f"the spaCy pipeline {name!r} finds no entities; use one such as {DEFAULT_PIPELINE}")
        return cls(pipeline)

    def find(self, texts: Iterable[str]) -> Iterator[list[tuple[int, int]]]:
        """Yield the character ranges of each text's entities, in the order of the text."""
        for document in self._pipeline.pipe((text[:LONGEST_TEXT] for text in texts), batch_size=64):
            yield [(entity.start_char, entity.end_char) for entity in document.ents]
