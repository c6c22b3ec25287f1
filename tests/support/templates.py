"""Tokenizers of other kinds than BERT's, over single letters."""

from __future__ import annotations

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

LETTERS = "abcdefghijklmnopqrstuvwxyz."


def byte_level(folder: Path) -> Path:
    """RoBERTa's kind: two separators, one segment, blanks that belong to the next word."""
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = {piece: i for i, piece in enumerate([*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    tokenizer = Tokenizer(models.BPE(pieces, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    return _saved(tokenizer, specials, folder)


def metaspace(folder: Path, front: str, between: str, tail: str) -> Path:
    """SentencePiece's kind, whose words are all between two blanks, with special tokens as they are given."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*specials, "▁", *LETTERS, "中", "文", "é"]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], 3))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        f"{front} $A {tail}".split(), f"{front} $A {between} $B:1 {tail}".split(), [("<s>", 0), ("</s>", 2)]
    )
    return _saved(tokenizer, specials, folder)


def _saved(tokenizer: Tokenizer, specials: list[str], folder: Path) -> Path:
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in specials])
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"
