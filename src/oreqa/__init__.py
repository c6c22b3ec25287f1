"""oreqa: answers questions from your documents, with the sentence and the passage that prove it.

>>> import oreqa
>>> report = oreqa.index_files("kb", "docs")
>>> answerer = oreqa.Answerer.load("kb")
>>> print(answerer.ask("How many hearts does an octopus have?")[0].text)
three
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oreqa.lazy import lazy_names

if TYPE_CHECKING:
    from oreqa import adaptation as adaptation
    from oreqa import evaluation as evaluation
    from oreqa import fitting as fitting
    from oreqa import generation as generation
    from oreqa import mining as mining
    from oreqa import training as training
    from oreqa.answer import Answer as Answer
    from oreqa.answering import Answerer as Answerer
    from oreqa.answering import Explanation as Explanation
    from oreqa.answering import Guarantee as Guarantee
    from oreqa.answering import Reply as Reply
    from oreqa.answering.combining import Combination as Combination
    from oreqa.answering.texts import ask as ask
    from oreqa.core import Document as Document
    from oreqa.core import Hit as Hit
    from oreqa.core import Passage as Passage
    from oreqa.core import Place as Place
    from oreqa.core import Section as Section
    from oreqa.core import Sentence as Sentence
    from oreqa.core import Span as Span
    from oreqa.corpus.readers import Fields as Fields
    from oreqa.datasets.pairs import Candidate as Candidate
    from oreqa.errors import DocumentError as DocumentError
    from oreqa.errors import IndexStateError as IndexStateError
    from oreqa.errors import InputError as InputError
    from oreqa.errors import ModelError as ModelError
    from oreqa.errors import OreqaError as OreqaError
    from oreqa.index.copying import copy_index as copy_index
    from oreqa.index.coverage import Report as Report
    from oreqa.index.in_memory import index_documents as index_documents
    from oreqa.index.ingest import index_files as index_files
    from oreqa.index.merging import MergeReport as MergeReport
    from oreqa.index.merging import merge_indexes as merge_indexes
    from oreqa.index.removal import remove_documents as remove_documents
    from oreqa.index.search import Index as Index
    from oreqa.index.store import Settings as Settings
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder as CrossEncoder
    from oreqa.models.cross_encoder.cross_encoder import RankedDocument as RankedDocument
    from oreqa.models.encoder.encoder import Encoder as Encoder
    from oreqa.models.extractor.extractor import Extractor as Extractor
    from oreqa.models.fitted import Calibration as Calibration
    from oreqa.models.generator.decoding import BeamSearch as BeamSearch
    from oreqa.models.generator.decoding import Greedy as Greedy
    from oreqa.models.generator.decoding import Nucleus as Nucleus
    from oreqa.models.generator.generator import GeneratedQuestion as GeneratedQuestion
    from oreqa.models.generator.generator import QuestionGenerator as QuestionGenerator
    from oreqa.models.generator.inputs import MarkedAnswer as MarkedAnswer
    from oreqa.models.reader.reader import Reader as Reader

    __version__: str

_get, __dir__, __all__ = lazy_names(__name__, __file__, ["__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("oreqa")
    return _get(name)
