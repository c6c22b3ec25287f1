"""Tokenizers as transformers saves them: tokenizer.json, or the vocabulary of BERT's or RoBERTa's from before that file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from oreqa.errors import ModelError
from oreqa.models.names import read_json_file
from oreqa.models.settings import MERGES, WORD_PIECES

_CLASSES = ("Bert", "DistilBert", "Electra", "MPNet", "Roberta")
"""Families of transformers' tokenizers whose vocabularies can be read without tokenizer.json."""


@dataclass(frozen=True, slots=True)
class Template:
    """The ids of the special tokens that a tokenizer puts before, between and after a text or a pair of texts.

    ``segments`` says whether the second text belongs to segment 1; if not, all tokens are in segment 0.
    """

    front: list[int]
    between: list[int]
    tail: list[int]
    segments: bool


def load_tokenizer(path: Path) -> Tokenizer:
    """Load the result of ``find_tokenizer``, without padding and truncation. Raises ModelError if it cannot be read."""
    kinds = {WORD_PIECES: _word_pieces, MERGES: _byte_pairs}
    settings = path.parent / "tokenizer_config.json"
    try:
        if make := kinds.get(path.name):
            config = read_json_file(settings) if settings.is_file() else {}
            _check_class(path, config.get("tokenizer_class"))
            tokenizer = make(path, config)
        else:
            tokenizer = Tokenizer.from_file(str(path))
    except ModelError:
        raise
    except Exception as error:  # tokenizers raises plain Exception
        raise ModelError(f"{path}: it is not a valid tokenizer ({error}); copy or download it again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _check_class(path: Path, name: str | None) -> None:
    if name and str(name).removesuffix("Fast").removesuffix("Tokenizer") not in _CLASSES:
        raise ModelError(f"{path}: it is for a {name}, which oreqa does not have; save the tokenizer as tokenizer.json")


def _word_pieces(path: Path, settings: dict[str, Any]) -> Tokenizer:
    """Build BERT's tokenizer, or MPNet's, which has RoBERTa's special tokens."""
    tokenizer = Tokenizer(models.WordPiece.from_file(str(path), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if tokenizer.token_to_id("[CLS]") is None:
        return _as_roberta(tokenizer, "[UNK]")
    tokenizer.post_processor = processors.BertProcessing(_with_id(tokenizer, "[SEP]"), _with_id(tokenizer, "[CLS]"))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer


def _byte_pairs(path: Path, settings: dict[str, Any]) -> Tokenizer:
    """Build RoBERTa's tokenizer."""
    tokenizer = Tokenizer(models.BPE.from_file(str(path.parent / "vocab.json"), str(path)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=settings.get("add_prefix_space", False))
    return _as_roberta(tokenizer, "<unk>")


def _as_roberta(tokenizer: Tokenizer, unknown: str) -> Tokenizer:
    tokenizer.post_processor = processors.RobertaProcessing(_with_id(tokenizer, "</s>"), _with_id(tokenizer, "<s>"))
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", unknown, "<mask>"])
    return tokenizer


def _with_id(tokenizer: Tokenizer, token: str) -> tuple[str, int]:
    return token, tokenizer.get_vocab()[token]


def read_template(tokenizer: Tokenizer, path: Path, texts: int = 2) -> Template:
    """Return the special tokens around one text or two, from an encoding of two letters; ``path`` is the tokenizer's.

    Raises ModelError for a tokenizer that drops letters.
    """
    encoding = tokenizer.encode(*"ab"[:texts])
    places = [[i for i, text in enumerate(encoding.sequence_ids) if text == number] for number in range(texts)]
    if not all(places):
        raise ModelError(f"{path}: it makes no token of the letters a and b; copy or download it again")
    ids, first, second = encoding.ids, places[0], places[-1]
    return Template(
        front=ids[: first[0]],
        between=ids[first[-1] + 1 : second[0]],
        tail=ids[second[-1] + 1 :],
        segments=encoding.type_ids[second[0]] != encoding.type_ids[first[0]],
    )
