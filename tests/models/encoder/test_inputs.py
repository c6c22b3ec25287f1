"""Sentences' tokens, whatever the tokenizer makes of blanks, characters of several bytes and combining marks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_models import make_model
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from oreqa.models.encoder.folder import SENTENCE_SETTINGS, read_encoder_folder
from oreqa.models.encoder.inputs import EncoderInputs

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = ["▁", "▁the", "▁fox", "▁r", "an", ".", "▁a", "▁dog", "!", ":", "e", "é", "ö", "o", "▁Ein", "Ä", "短", "い", "文", "。", "😀", "fi",
          *"abcdfghijklmnpqrstuvwxyzE"]  # fmt: skip


def metaspace(scheme: str, split_first: bool) -> Tokenizer:
    """A tokenizer as XLM-R's: a Unigram model over words that begin with a mark of their blank."""
    scores = [(piece, -float(len(PIECES)) / (1 + len(piece))) for piece in PIECES]
    tokenizer = Tokenizer(models.Unigram([*((token, 0.0) for token in SPECIAL), *scores], 3))
    tokenizer.normalizer = normalizers.NFKC()
    marks = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), marks]) if split_first else marks
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def byte_level(trim: bool) -> Tokenizer:
    """A tokenizer as RoBERTa's and ModernBERT's: bytes, of which a blank's belongs to the word behind it."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("Ġ", "f"), ("Ġf", "o"), ("Ġfo", "x")]
    pieces = [*SPECIAL, *alphabet, *("".join(pair) for pair in merges)]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=trim)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


TOKENIZERS = {
    "xlm-r": lambda: metaspace("always", True),
    "xlm-r of one part": lambda: metaspace("always", False),
    "first word alone": lambda: metaspace("first", False),
    "bytes": lambda: byte_level(trim=False),
    "trimmed bytes": lambda: byte_level(trim=True),
}

TEXTS = [
    ["the fox ran.", "a dog!"],
    ["the  fox.", "  a dog!", "e\u0301 o\u0308."],
    ["Ein Äffchen。", "短い文。", "😀 fox."],
    ["ﬁx the fox.", "a dog."],
    ["the fox ran.\u00a0", "\u2003a dog!"],
]


def inputs_of(folder: Path, tokenizer: Tokenizer, prompt: str = "") -> EncoderInputs:
    make_model(folder)
    tokenizer.add_special_tokens(SPECIAL)
    template = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)])
    if isinstance(tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel):
        trimmed = processors.ByteLevel(trim_offsets=True)
        template = processors.Sequence([trimmed, template] if tokenizer.pre_tokenizer.trim_offsets else [template])
    tokenizer.post_processor = template
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / SENTENCE_SETTINGS).write_text(json.dumps({"prompts": {"document": prompt}}))
    return EncoderInputs(read_encoder_folder(folder))


def shown(inputs: EncoderInputs, ids: list[int]) -> str:
    """The text of tokens without its blanks: normalised, as the model sees it."""
    return "".join(inputs.tokenizer.decode(ids).split()).replace("\ufffd", "")


@pytest.mark.parametrize("prompt", ["", "a dog: "])
@pytest.mark.parametrize("head", ["", "the fox"])
@pytest.mark.parametrize("sentences", TEXTS, ids=["plain", "blanks", "unicode", "ligature", "odd blanks"])
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_each_sentence_has_its_own_tokens(tmp_path: Path, kind: str, sentences: list[str], head: str, prompt: str) -> None:
    inputs = inputs_of(tmp_path / "m", TOKENIZERS[kind](), prompt)
    text, spans = "", []
    for sentence in sentences:
        spans.append((len(text), len(text) + len(sentence)))
        text += f"{sentence} "
    (part,) = inputs.passages([(head, text, spans)])
    whole = f"{prompt}{head}. {text}" if head else prompt + text
    assert list(part.tokens.ids) == inputs.tokenizer.encode(whole).ids  # as sentence-transformers has it
    for sentence, (start, end) in zip(sentences, part.tokens.ranges[1:], strict=True):
        normalised = inputs.tokenizer.normalizer.normalize_str(sentence) if inputs.tokenizer.normalizer else sentence
        assert shown(inputs, part.tokens.ids[start:end]) == "".join(normalised.split())
    edges = [edge for token_range in part.tokens.ranges[1:] for edge in token_range]
    assert edges == sorted(edges)


def test_a_long_passage_is_cut_between_sentences_behind_its_prompt_and_title(tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path / "m", metaspace("always", True), "a dog: ")
    sentence = "the fox ran. " * 5  # 25 tokens
    text = sentence * 4
    spans = [(number * len(sentence), (number + 1) * len(sentence)) for number in range(4)]
    parts = inputs.passages([("Ein fox", text, spans)])
    assert [part.first for part in parts] == [0, 2]
    for part in parts:
        assert inputs.tokenizer.decode(part.tokens.ids).startswith("a dog: Ein fox. the fox ran.")
        assert len(part.tokens.ids) <= inputs.folder.max_tokens
        for start, end in part.tokens.ranges[1:]:
            assert shown(inputs, part.tokens.ids[start:end]) == "".join(sentence.split())
