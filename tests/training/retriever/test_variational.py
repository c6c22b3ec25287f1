"""Dual-VAE and Cross-VAE: who generates what, from what, and what is computed on the way."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from oreqa.losses.variational import gaussian_kl, token_nll, variational_loss  # noqa: E402
from oreqa.training.retriever.variational import (  # noqa: E402
    FIRST_LOG_VARIANCE,
    TextDecoder,
    VariationalDecoders,
    VariationalTerms,
    tokens_nll,
)

WIDTH, EMBEDDING, VOCABULARY = 12, 10, 30
TERMS = ("question_nll", "answer_nll", "question_kl", "answer_kl")
KINDS = pytest.mark.parametrize("kind", ["dual", "cross"])


def decoders(kind: str = "dual", **settings: Any) -> VariationalDecoders:
    torch.manual_seed(5)
    return VariationalDecoders(WIDTH, EMBEDDING, kind, **{"unit_length": True, "decoder_width": 14} | settings)


def batch(rows: int = 4, question_tokens: int = 5, answer_tokens: int = 9) -> dict[str, torch.Tensor]:
    """Vectors, and texts whose lengths differ: in each but a single row, the first is full and the last has one token."""
    generator = torch.Generator().manual_seed(rows)
    inputs = {}
    for side, tokens in (("question", question_tokens), ("answer", answer_tokens)):
        vectors = torch.nn.functional.normalize(torch.randn(rows, WIDTH, generator=generator), dim=-1)
        lengths = torch.linspace(tokens, 1, rows).long()
        inputs[f"{side}s"] = vectors
        inputs[f"{side}_ids"] = torch.randint(VOCABULARY, (rows, tokens), generator=generator)
        inputs[f"{side}_mask"] = (torch.arange(tokens) < lengths[:, None]).long()
    return inputs | {"word_embeddings": torch.randn(VOCABULARY, EMBEDDING, generator=generator)}


def values(terms: VariationalTerms) -> dict[str, torch.Tensor]:
    return {name: getattr(terms, name).detach() for name in TERMS}


def assert_close(terms: VariationalTerms, expected: VariationalTerms) -> None:
    torch.testing.assert_close(values(terms), values(expected), rtol=1e-5, atol=1e-5)


def slow_nll(decoder: TextDecoder, latent: torch.Tensor, ids: list[int], word_embeddings: torch.Tensor) -> float:
    """A text's ``-log p`` token by token, by the equations of a GRU (Cho et al. 2014, as torch numbers its gates)."""
    weights = {name: weight.detach().double() for name, weight in decoder.named_parameters()}
    latent, word_embeddings = latent.double(), word_embeddings.double()
    state = torch.tanh(weights["state.weight"] @ latent + weights["state.bias"])
    read, total = weights["start"], 0.0
    for token in ids:
        inputs = weights["gru.weight_ih_l0"] @ torch.cat([read, latent]) + weights["gru.bias_ih_l0"]
        states = weights["gru.weight_hh_l0"] @ state + weights["gru.bias_hh_l0"]
        (r_in, u_in, n_in), (r_state, u_state, n_state) = inputs.chunk(3), states.chunk(3)
        reset, update = torch.sigmoid(r_in + r_state), torch.sigmoid(u_in + u_state)
        state = (1 - update) * torch.tanh(n_in + reset * n_state) + update * state
        scores = (word_embeddings @ (weights["output.weight"] @ state + weights["output.bias"])).tolist()
        total -= scores[token] - math.log(sum(math.exp(score) for score in scores))
        read = word_embeddings[token]
    return total


@KINDS
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("unit_length", [True, False])
def test_the_terms_equal_those_computed_token_by_token(kind: str, rows: int, unit_length: bool) -> None:
    model, inputs = decoders(kind, unit_length=unit_length).eval(), batch(rows)
    terms = model(**inputs)
    spread = math.sqrt(WIDTH) if unit_length else 1.0
    for side, other in (("question", "answer"), ("answer", "question")):
        decoder, head = getattr(model, f"{side}_decoder"), getattr(model, f"{side}_log_variance")
        vectors = inputs[f"{side if kind == 'dual' else other}s"]
        for row in range(rows):
            ids = inputs[f"{side}_ids"][row][inputs[f"{side}_mask"][row].bool()].tolist()
            wanted = slow_nll(decoder, spread * vectors[row], ids, inputs["word_embeddings"])
            assert getattr(terms, f"{side}_nll")[row].item() == pytest.approx(wanted, rel=1e-5)
        kl = gaussian_kl(spread * inputs[f"{side}s"], head(inputs[f"{side}s"]))
        torch.testing.assert_close(getattr(terms, f"{side}_kl"), kl)


@KINDS
def test_each_text_is_generated_from_the_right_vector(kind: str) -> None:
    model, inputs = decoders(kind), batch()
    vectors = [inputs[name].requires_grad_() for name in ("questions", "answers")]
    terms = model(**inputs)
    for number, side in enumerate(("question", "answer")):
        gradients = torch.autograd.grad(getattr(terms, f"{side}_nll").sum(), vectors, retain_graph=True, allow_unused=True)
        source = number if kind == "dual" else 1 - number
        assert gradients[source].abs().sum() > 0
        assert gradients[1 - source] is None
        kl_gradients = torch.autograd.grad(getattr(terms, f"{side}_kl").sum(), vectors, retain_graph=True, allow_unused=True)
        assert kl_gradients[number].abs().sum() > 0
        assert kl_gradients[1 - number] is None


@KINDS
def test_each_likelihood_is_that_of_its_own_side(kind: str) -> None:
    model, inputs = decoders(kind).eval(), batch()
    before = values(model(**inputs))
    after = values(model(**inputs | {"answer_ids": (inputs["answer_ids"] + 1) % VOCABULARY}))
    assert {name for name in TERMS if not torch.equal(before[name], after[name])} == {"answer_nll"}


@pytest.mark.parametrize("training", [True, False])
def test_padding_does_not_change_the_losses(training: bool) -> None:
    model, inputs = decoders().train(training), batch()
    wider = dict(inputs)
    for side in ("question", "answer"):
        ids, mask = inputs[f"{side}_ids"], inputs[f"{side}_mask"]
        wider[f"{side}_ids"] = torch.cat([torch.where(mask.bool(), ids, 7), torch.full((4, 6), 3)], 1)
        wider[f"{side}_mask"] = torch.cat([mask, torch.zeros(4, 6, dtype=torch.long)], 1)
    torch.manual_seed(1)
    terms = model(**inputs)
    torch.manual_seed(1)
    assert_close(terms, model(**wider))


def test_a_text_may_stand_anywhere_in_its_row() -> None:
    model, inputs = decoders().eval(), batch()
    shifted = dict(inputs)
    for side in ("question", "answer"):
        ids, mask = inputs[f"{side}_ids"], inputs[f"{side}_mask"]
        shifted[f"{side}_ids"] = torch.cat([torch.full((4, 2), 3), ids], 1)
        shifted[f"{side}_mask"] = torch.cat([torch.zeros(4, 2, dtype=torch.long), mask], 1)
    assert_close(model(**inputs), model(**shifted))


def test_texts_are_cut() -> None:
    inputs = batch()
    short = inputs | {
        f"{side}_{name}": inputs[f"{side}_{name}"][:, :3] for side in ("question", "answer") for name in ("ids", "mask")
    }
    cut, whole = decoders(max_target_tokens=3).eval(), decoders().eval()
    assert_close(cut(**inputs), whole(**short))
    assert (whole(**inputs).answer_nll[0] > cut(**inputs).answer_nll[0]).item()


def test_texts_without_tokens_cost_nothing() -> None:
    model, inputs = decoders(), batch()
    inputs["question_mask"] = torch.zeros_like(inputs["question_mask"])
    inputs["answer_mask"][1] = 0
    terms = model(**inputs)
    terms.reconstruction.sum().backward()
    assert terms.question_nll.tolist() == [0] * 4
    assert terms.answer_nll[1] == 0
    assert terms.answer_nll[0] > 0
    # Processes that train together wait for the gradient of every weight, of zero too.
    assert all(weight.grad is not None for weight in model.question_decoder.parameters())


@KINDS
def test_gradients_reach_the_vectors_and_every_weight_but_the_embeddings(kind: str) -> None:
    model, inputs = decoders(kind), batch()
    for name in ("questions", "answers", "word_embeddings"):
        inputs[name].requires_grad_()
    terms = model(**inputs)
    variational_loss(terms.reconstruction, terms.kl, torch.ones(4), 1.0, 0.1).backward()
    for name, weight in [*model.named_parameters(), *((name, inputs[name]) for name in ("questions", "answers"))]:
        assert weight.grad.abs().sum() > 0, name
    assert inputs["word_embeddings"].grad is None


def test_the_embeddings_are_not_saved_with_the_decoders() -> None:
    model = decoders()
    assert all(VOCABULARY not in weight.shape for weight in model.state_dict().values())
    assert len(model.state_dict()) == len(list(model.parameters()))


def test_pairs_of_no_weight_train_nothing() -> None:
    model, inputs = decoders(), batch()
    inputs["questions"].requires_grad_()
    terms = model(**inputs)
    variational_loss(terms.reconstruction, terms.kl, torch.tensor([1.0, 0.5, 0.0, 1.0]), 1.0, 1.0).backward()
    assert (inputs["questions"].grad.abs().sum(1) > 0).tolist() == [True, True, False, True]


@pytest.mark.parametrize("word_dropout", [0.0, 0.5])
def test_what_is_drawn_follows_the_seed(word_dropout: float) -> None:
    model, inputs = decoders(word_dropout=word_dropout), batch()
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(values(model(**inputs)))
    torch.testing.assert_close(draws[0], draws[1], rtol=0, atol=0)
    assert (draws[0]["question_nll"] != draws[2]["question_nll"]).all()
    assert torch.equal(draws[0]["question_kl"], draws[2]["question_kl"])  # of the distribution, not of the draw


def test_evaluation_draws_nothing() -> None:
    model, inputs = decoders(word_dropout=0.9).eval(), batch()
    state = torch.get_rng_state()
    assert_close(model(**inputs), model(**inputs))
    assert torch.equal(state, torch.get_rng_state())


@KINDS
def test_latent_vectors_are_drawn_with_the_mean_and_the_variance_of_their_text(kind: str) -> None:
    model, inputs = decoders(kind, max_target_tokens=1), batch(2)
    rows = {name: value[:1].expand(20_000, -1) for name, value in inputs.items() if name != "word_embeddings"}
    drawn = {}
    for side in ("question", "answer"):
        state = getattr(model, f"{side}_decoder").state
        state.register_forward_pre_hook(lambda module, arguments, side=side: drawn.update({side: arguments[0]}))
    with torch.no_grad():
        model(**rows, word_embeddings=inputs["word_embeddings"])
    for side, other in (("question", "answer"), ("answer", "question")):
        source = side if kind == "dual" else other
        vector = inputs[f"{source}s"][0]
        log_variance = getattr(model, f"{source}_log_variance")(vector)
        assert drawn[side].mean(0).tolist() == pytest.approx((math.sqrt(WIDTH) * vector).tolist(), abs=0.03)
        assert drawn[side].var(0).log().tolist() == pytest.approx(log_variance.tolist(), abs=0.06)


def test_the_first_variances_are_small_and_stretched_means_as_long_as_draws_of_the_prior() -> None:
    model, inputs = decoders(), batch()
    log_variances = model.question_log_variance(inputs["questions"])
    assert float(log_variances.detach().mean()) == pytest.approx(FIRST_LOG_VARIANCE, abs=0.2)
    assert (model.spread * inputs["questions"]).square().sum(1).tolist() == pytest.approx([WIDTH] * 4)


def test_words_are_blanked_as_often_as_asked_and_never_the_first_input() -> None:
    torch.manual_seed(0)
    decoder = TextDecoder(2, 3, 4, 0.25)
    seen = []
    decoder.gru.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
    decoder(torch.zeros(300, 2), torch.ones(300, 21, dtype=torch.long), torch.ones(2, 3))
    blank = (seen[0][..., :3] == 0).all(-1)
    assert not blank[:, 0].any()
    assert float(blank[:, 1:].float().mean()) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("at_once", [1, 4, 7, 100])
@pytest.mark.parametrize("tokens", [0, 1, 7])
def test_chunks_of_logits_give_what_all_at_once_give(at_once: int, tokens: int) -> None:
    torch.manual_seed(0)
    word_embeddings, targets = torch.randn(VOCABULARY, EMBEDDING), torch.randint(VOCABULARY, (tokens,))
    states = torch.randn(tokens, EMBEDDING, requires_grad=True)
    whole = token_nll(states @ word_embeddings.T, targets)
    chunked = tokens_nll(states, targets, word_embeddings, at_once)
    torch.testing.assert_close(chunked, whole)
    factors = torch.rand(tokens)
    gradients = [torch.autograd.grad((factors * nll).sum(), states)[0] for nll in (chunked, whole)]
    torch.testing.assert_close(*gradients)
    with torch.no_grad():
        assert not tokens_nll(states, targets, word_embeddings, at_once).requires_grad


class Largest(TorchDispatchMode):  # type: ignore[misc]
    """Notes the size of the largest tensor that is made."""

    elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for value in out if isinstance(out, tuple | list) else [out]:
            if isinstance(value, torch.Tensor):
                self.elements = max(self.elements, value.numel())
        return out


def test_no_tensor_holds_the_logits_of_more_tokens_than_asked() -> None:
    model, vocabulary = decoders(tokens_at_once=16), 5000
    inputs = batch(16) | {"word_embeddings": torch.randn(vocabulary, EMBEDDING)}
    with Largest() as largest:
        model(**inputs).reconstruction.sum().backward()
    assert largest.elements == 16 * vocabulary


def test_mixed_precision_keeps_the_losses_in_f32() -> None:
    model, inputs = decoders().eval(), batch()
    plain = model(**inputs)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = model(**inputs)
    mixed.reconstruction.sum().backward()
    for name in TERMS:
        assert getattr(mixed, name).dtype == torch.float32
        torch.testing.assert_close(getattr(mixed, name), getattr(plain, name), rtol=0.03, atol=0.1)


@pytest.mark.slow
@KINDS
def test_it_learns_to_generate_the_texts_from_the_vectors(kind: str) -> None:
    inputs = batch(8)
    for side in ("question", "answer"):
        inputs[f"{side}_mask"].fill_(1)
    model = decoders(kind, decoder_width=32)
    vectors = [inputs[name].requires_grad_() for name in ("questions", "answers")]
    optimiser = torch.optim.Adam([*model.parameters(), *vectors], lr=0.01)
    weights = torch.ones(8)
    before = model.eval()(**inputs).reconstruction.mean().item()
    model.train()
    for _ in range(300):
        terms = model(**inputs)
        optimiser.zero_grad()
        variational_loss(terms.reconstruction, terms.kl, weights, 1.0, 0.01).backward()
        optimiser.step()
    model.eval()
    after = model(**inputs).reconstruction.mean().item()
    assert after < 0.1 * before
    # It reads the vectors: with those of other pairs the texts are improbable.
    others = {name: inputs[name].roll(1, 0) for name in ("questions", "answers")}
    assert model(**inputs | others).reconstruction.mean().item() > 5 * after
