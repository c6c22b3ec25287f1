"""No token of a question may see a later one: leaks train models that know what they shall predict."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from oreqa.models.generator.inputs import read_generator_folder  # noqa: E402
from oreqa.models.generator.module import BertGenerator, prefix_mask  # noqa: E402
from oreqa.models.graph.torch import load_module  # noqa: E402
from oreqa.models.weights import load_weights  # noqa: E402

PREFIXES, LENGTHS, TOKENS = torch.tensor([9, 5, 3]), torch.tensor([16, 12, 9]), 16


def load(folder: Path, attention: str) -> BertGenerator:
    module = load_module(BertGenerator, read_generator_folder(folder), load_weights(folder), "cpu", None)
    module.set_attn_implementation(attention)
    return module


def logits(module: BertGenerator, ids: torch.Tensor) -> torch.Tensor:
    """The logits after every token, ``[N, T, V]``."""
    places = torch.arange(TOKENS)
    types = ((places >= PREFIXES[:, None]) & (places < LENGTHS[:, None])).long()
    with torch.no_grad():
        every = module(ids, PREFIXES, LENGTHS, types, torch.ones_like(ids, dtype=torch.bool))
    return every.reshape(*ids.shape, -1)


def random_ids() -> torch.Tensor:
    return torch.randint(4, 70, (3, TOKENS), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_token_sees_the_prefix_and_what_is_before_it(tiny_generator: Path, attention: str) -> None:
    module = load(tiny_generator, attention)
    ids = random_ids()
    before = logits(module, ids)
    for row in range(3):
        prefix, length = int(PREFIXES[row]), int(LENGTHS[row])
        for place in range(TOKENS):
            changed = ids.clone()
            changed[row, place] = (changed[row, place] + 1) % 70
            difference = (logits(module, changed) - before).abs().amax(dim=-1)
            others = [other for other in range(3) if other != row]
            assert float(difference[others].max()) == 0.0
            if place >= length:  # padding: nothing of the text sees it
                assert float(difference[row, :length].max()) < 1e-6
            elif place >= prefix:  # a token of the question: nothing before it sees it, all from it on do
                assert float(difference[row, :place].max()) < 1e-6
                assert float(difference[row, place:length].min()) > 1e-4
            else:  # a token of the prefix: everything sees it
                assert float(difference[row, :length].min()) > 1e-4


def test_eager_and_fused_attention_agree(tiny_generator: Path) -> None:
    ids = random_ids()
    eager, fused = (logits(load(tiny_generator, attention), ids) for attention in ("eager", "sdpa"))
    for row, length in enumerate(LENGTHS):
        assert torch.allclose(eager[row, :length], fused[row, :length], atol=1e-4)


def test_the_mask_is_added_to_the_scores_so_it_must_be_a_float(tiny_generator: Path) -> None:
    module = load(tiny_generator, "eager")
    mask = prefix_mask(PREFIXES, LENGTHS, TOKENS)
    assert mask.dtype == torch.float32
    ids = random_ids()
    changed = ids.clone()
    changed[0, -1] += 1

    def leak(mask: torch.Tensor) -> float:
        with torch.no_grad():
            first, second = (module.bert(i, mask, use_cache=False).last_hidden_state for i in (ids, changed))
        return float((first - second)[0, : TOKENS - 1].abs().max())

    assert leak(mask) < 1e-6
    assert leak(mask == 0) > 1e-4  # what a mask of truth values would do


def test_the_mask_equals_its_definition() -> None:
    mask = prefix_mask(PREFIXES, LENGTHS, TOKENS)
    assert mask.shape == (3, 1, TOKENS, TOKENS)
    for row in range(3):
        for i in range(TOKENS):
            for j in range(TOKENS):
                sees = j < PREFIXES[row] or (j <= i and j < LENGTHS[row])
                assert float(mask[row, 0, i, j]) == (0.0 if sees else torch.finfo(torch.float32).min)
