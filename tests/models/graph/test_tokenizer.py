from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from templates import byte_level, metaspace
from tokenizers import ByteLevelBPETokenizer, Tokenizer, models, pre_tokenizers

from oreqa.errors import ModelError
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.graph.tokenizer import load_tokenizer, read_template
from oreqa.models.names import find_tokenizer
from oreqa.models.reader.inputs import ReaderInputs

TEXTS = [
    "the quick brown fox",
    "The QUICK naïve e\u0301lan,  it's 12% <mask> [MASK]",
    "",
    " blanks\n\tfirst",
    "中文 é😀 İ ﬁ",
]
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "na",
    "##ive",
    "##i",
    "##ve",
    "el",
    "##an",
    "it",
    "s",
    "'",
    ",",
    "%",
    "1",
    "##2",
    "12",
    "blanks",
    "first",
    "中",
    "文",
    "e",
]


def test_templates(tiny: Path, tmp_path: Path) -> None:
    bert = tiny / "tokenizer.json"
    assert _template(bert) == ([2], [3], [3], True)
    assert _template(byte_level(tmp_path)) == ([0], [2, 2], [2], False)
    assert _template(metaspace(tmp_path, "", "</s>", "</s>")) == ([], [2], [2], True)
    assert _template(metaspace(tmp_path, "", "", "")) == ([], [], [], True)
    one = read_template(load_tokenizer(bert), bert, texts=1)
    assert (one.front, one.between, one.tail) == ([2], [], [3])


def _template(path: Path) -> tuple[list[int], list[int], list[int], bool]:
    template = read_template(load_tokenizer(path), path)
    return template.front, template.between, template.tail, template.segments


def test_a_tokenizer_that_drops_letters_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"x": 0, "?": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("a", "removed")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match="no token of the letters a and b"):
        ReaderInputs(tmp_path / "tokenizer.json", 64)


@pytest.mark.train
@pytest.mark.parametrize(
    "settings", [{}, {"do_lower_case": False}, {"strip_accents": False, "tokenize_chinese_chars": False}]
)
@pytest.mark.parametrize("model_type", ["bert", "electra", "mpnet"])
def test_a_vocabulary_of_word_pieces(model_type: str, settings: dict[str, bool], tmp_path: Path) -> None:
    special = (
        ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
        if model_type == "mpnet"
        else ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    )
    (tmp_path / "vocab.txt").write_text("\n".join([*special, *WORDS]))
    _same_as_transformers(tmp_path, model_type, settings)


@pytest.mark.train
@pytest.mark.parametrize("settings", [{}, {"add_prefix_space": True}])
def test_a_vocabulary_of_byte_pairs(settings: dict[str, bool], tmp_path: Path) -> None:
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS * 3, vocab_size=320, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    trained.save_model(str(tmp_path))
    _same_as_transformers(tmp_path, "roberta", settings)


def _same_as_transformers(folder: Path, model_type: str, settings: dict[str, bool]) -> None:
    pytest.importorskip("torch")
    from transformers import AutoTokenizer

    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    theirs = AutoTokenizer.from_pretrained(folder)
    path = find_tokenizer(folder)
    assert path.suffix == ".txt"
    ours = load_tokenizer(path)
    for text in TEXTS:
        assert ours.encode(text).ids == theirs(text)["input_ids"], text
        assert ours.encode("the fox", text).ids == theirs(["the fox"], [text])["input_ids"][0], text


def test_a_vocabulary_counts_for_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "vocab.txt").write_text("a\nb")
    before = cached_fingerprint(tmp_path)
    (tmp_path / "vocab.txt").write_text("b\na")
    os.utime(tmp_path / "vocab.txt", (1, 1))
    changed = cached_fingerprint(tmp_path)
    assert changed != before
    (tmp_path / "tokenizer.json").write_text("{}")  # which is read in its place
    with_tokenizer = cached_fingerprint(tmp_path)
    (tmp_path / "vocab.txt").write_text("c")
    assert changed != with_tokenizer == cached_fingerprint(tmp_path)


def test_a_vocabulary_without_special_tokens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\nb")
    with pytest.raises(ModelError, match=r"vocab.txt: it is not a valid tokenizer \('</s>'\); copy or download it again"):
        load_tokenizer(tmp_path / "vocab.txt")


def test_a_vocabulary_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na")
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(json.dumps({"tokenizer_class": "BertTokenizerFast"}))
    assert load_tokenizer(tmp_path / "vocab.txt").encode("a").tokens == ["[CLS]", "a", "[SEP]"]
    settings.write_text(json.dumps({"tokenizer_class": "BertJapaneseTokenizer"}))
    with pytest.raises(ModelError, match=r"vocab.txt: it is for a BertJapaneseTokenizer, which oreqa does not have"):
        load_tokenizer(tmp_path / "vocab.txt")
