"""The cross-encoder beside a dual encoder, against the printed equations in float64, and what a training leaves of it."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_parts import loss_of, model_of, pool_of

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402
from transformers import AutoConfig, BertConfig  # noqa: E402

from oreqa.datasets.pairs import Candidate, Pair, pair_row  # noqa: E402
from oreqa.errors import InputError  # noqa: E402
from oreqa.losses.alignment import AlignmentWeights, Kernel, PairVectors, RoleKernels, alignment_loss  # noqa: E402
from oreqa.losses.retrieval import weighted_softmax  # noqa: E402
from oreqa.models.encoder.folder import read_encoder_folder  # noqa: E402
from oreqa.models.names import model_fingerprint  # noqa: E402
from oreqa.training.backbone import start_encoder  # noqa: E402
from oreqa.training.loop import TensorBatch  # noqa: E402
from oreqa.training.recipes import load_recipe  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.collator import RetrieverCollator  # noqa: E402
from oreqa.training.retriever.loss import PASSAGE_WEIGHT  # noqa: E402
from oreqa.training.retriever.model import CrossAttention, CrossSide, RetrieverModel, start_cross  # noqa: E402
from oreqa.training.retriever.recipe import RetrieverRecipe  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402

pytestmark = pytest.mark.train

SETTINGS = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
DOGS, BIRDS = "The fox jumps. Seven dogs sleep well tonight.", "It rains. A bird sang of it. Who knows?"
PAIRS = [
    Pair("who jumps over all of these dogs", Candidate("The fox jumps.", DOGS, "t", 0)),
    Pair("how many", Candidate("Seven dogs sleep well tonight.", DOGS, "t", 15)),
    Pair("who sang", Candidate("A bird sang of it.", BIRDS, "", 10)),
]


def recipe_for(tiny: Path, **changes: object) -> RetrieverRecipe:
    settings = {"kind": "retriever", "backbone": str(tiny), "data": ["x"], "max_tokens": 64, "dropout": 0.0, **changes}
    return RetrieverRecipe.model_validate({"optimiser": {"learning_rate": 1e-3, "batch": 6}, **settings})


def a_batch(tiny: Path, recipe: RetrieverRecipe, pairs: list[Pair]) -> TensorBatch:
    folder = replace(read_encoder_folder(tiny), context=recipe.context, max_tokens=recipe.max_tokens)
    pool = pool_of(recipe, pairs)
    return RetrieverCollator(folder, pairs, pool.answers)(pool.draw(random.Random(0)))


def a_model(tiny: Path, recipe: RetrieverRecipe, **settings: object) -> RetrieverModel:
    """In evaluation, with random attention that differs between its parts."""
    torch.manual_seed(0)
    model = model_of(start_encoder(tiny, {**SETTINGS, **settings}, 0.0), recipe).eval()
    assert model.cross is not None
    with torch.no_grad():
        for weight in (*model.cross.attention.parameters(), *model.cross.tower.parameters()):
            weight.add_(0.2 * torch.randn_like(weight))
    return model


def slow_cross_attention(layer: CrossAttention, states: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Eq. 2 to 4 of one text ``[N, width]`` refined by another ``[M, width]``, without padding, number by number."""
    w = {name: value.detach().double().numpy() for name, value in layer.named_parameters()}
    query, key, value = others @ w["query.weight"].T, states @ w["key.weight"].T, states @ w["value.weight"].T
    size = query.shape[1] // layer.heads
    heads = []
    for head in range(layer.heads):
        part = slice(head * size, (head + 1) * size)
        rows = []
        for q in query[:, part]:
            scores = [math.exp(float(q @ k) / math.sqrt(size)) for k in key[:, part]]
            rows.append(sum(s * v for s, v in zip(scores, value[:, part], strict=True)) / sum(scores))
        heads.append(np.stack(rows))
    refined = np.concatenate(heads, 1) @ w["output.weight"].T
    inner = refined @ w["inner.weight"].T + w["inner.bias"]
    inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
    x = refined + inner @ w["outer.weight"].T + w["outer.bias"]
    x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + layer.norm.eps)
    return x * w["norm.weight"] + w["norm.bias"]


@pytest.mark.parametrize(("width", "heads"), [(24, 12), (32, 8), (35, 7), (7, 7)])
@pytest.mark.parametrize("lengths", [[(3, 5)], [(1, 1)], [(4, 2), (6, 1), (1, 7)]], ids=["one", "one token", "padded"])
def test_cross_attention_equals_the_printed_equations(width: int, heads: int, lengths: list[tuple[int, int]]) -> None:
    torch.manual_seed(1)
    config = BertConfig(hidden_size=width, intermediate_size=2 * width, num_attention_heads=1, hidden_dropout_prob=0.0)
    layer = CrossAttention(config).eval()
    assert layer.heads == heads
    with torch.no_grad():
        for weight in layer.parameters():
            weight.normal_(0, 0.5)
    n, m = (max(pair[side] for pair in lengths) for side in (0, 1))
    states, others = torch.randn(len(lengths), n, width), torch.randn(len(lengths), m, width)
    is_token = torch.tensor([[place < length for place in range(n)] for length, _ in lengths])
    refined = layer(states, is_token, others).detach()
    for row, (own, other) in enumerate(lengths):
        expected = slow_cross_attention(layer, states[row, :own].double().numpy(), others[row, :other].double().numpy())
        np.testing.assert_allclose(refined[row, :other], expected, atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"hops": 2, "joining": "concatenated"}], ids=["mean", "attention"])
@pytest.mark.parametrize("context", ["late_chunking", "none", "cross_segment"])
def test_a_pair_is_encoded_as_if_it_were_alone(tiny: Path, context: str, settings: dict[str, object]) -> None:
    """Padding, the other pairs of a batch, and the other sentences of a passage's row change nothing."""
    recipe = recipe_for(tiny, context=context, alignment={})
    model = a_model(tiny, recipe, **settings)
    assert model.cross is not None
    loss = loss_of(recipe, model, 1)
    together = a_batch(tiny, recipe, PAIRS)
    (call,) = loss.calls(together)["pairs"]
    vectors = model(**call)
    assert vectors.shape == (3, 2, 64 if settings else 32)
    assert len({round(float(value), 4) for value in vectors.detach()[..., 0].flatten()}) == 6
    for number, pair in enumerate(PAIRS):
        (alone,) = loss.calls(a_batch(tiny, recipe, [pair]))["pairs"]
        torch.testing.assert_close(model(**alone)[0], vectors[number], atol=1e-5, rtol=0)

    # by hand, of one pair: its tokens' states, refined by each other's, and pooled
    tower, attention = model.cross.tower, model.cross.attention
    question, passage = ({key: value[:1] for key, value in alone[side].items()} for side in ("questions", "passages"))
    kept = []
    for inputs, output in ((question, 0), (passage, int(alone["outputs"][0]))):
        states = tower.states(inputs["input_ids"], inputs["attention_mask"], inputs["token_type_ids"])
        kept.append(states[:, inputs["pool"][0, output] > 0])
    ones = [torch.ones(1, 1, states.shape[1]) / states.shape[1] for states in kept]
    question_vector = tower.pooled(attention(kept[0], ones[0][0] > 0, kept[1]), ones[1])
    answer_vector = tower.pooled(attention(kept[1], ones[1][0] > 0, kept[0]), ones[0])
    expected = torch.nn.functional.normalize(torch.cat([question_vector, answer_vector], 1), dim=-1)[0]
    torch.testing.assert_close(vectors[2], expected, atol=1e-5, rtol=0)


INNER_5, GAUSSIAN_3 = (RoleKernels.alike(kernel) for kernel in (Kernel("inner", 1.0, 5.0), Kernel("gaussian", 3.0, 20.0)))


@pytest.mark.parametrize("risen", [0, 1, 4, 9])
@pytest.mark.parametrize(
    ("weights", "settings", "dual_kernels", "cross_kernels"),
    [
        ([1.0, 1.0, 1.0], {"scale": 5.0}, INNER_5, INNER_5),
        ([1.0, 0.25, 0.5], {}, RoleKernels.alike(Kernel("inner", 1.0, 20.0)), RoleKernels.alike(Kernel("inner", 1.0, 20.0))),
        ([1.0, 1.0, 1.0], {"kernel": "gaussian", "width": 3.0}, GAUSSIAN_3, GAUSSIAN_3),
        (
            [1.0, 1.0, 1.0],
            {"scale": 5.0, "cross_scale": [5, 6, 7, 8.5]},
            INNER_5,
            RoleKernels(*(Kernel("inner", 1.0, scale) for scale in (5.0, 6.0, 7.0, 8.5))),
        ),
        (
            [1.0, 1.0, 1.0],
            {"kernel": "gaussian", "width": "median", "cross_width": 3},
            RoleKernels.alike(Kernel("gaussian", None, 20.0)),
            GAUSSIAN_3,
        ),
        (
            [1.0, 1.0, 1.0],
            {"kernel": "gaussian", "width": 3.0, "cross_width": [1, 2, 4, 5]},
            GAUSSIAN_3,
            RoleKernels(*(Kernel("gaussian", width, 20.0) for width in (1.0, 2.0, 4.0, 5.0))),
        ),
    ],
    ids=["gold", "silver", "gaussian", "scales", "median", "widths"],
)
def test_the_loss_is_the_three_parts(
    tiny: Path,
    risen: int,
    weights: list[float],
    settings: dict[str, object],
    dual_kernels: RoleKernels,
    cross_kernels: RoleKernels,
) -> None:
    shares = {"dual_share": 0.3, "cross_share": 0.2, "share": 0.7, "ramp_epochs": 2}
    terms = {"answer_question": 0.5, "question_answer": 0.25, "question_question": 3.0, "answer_answer": 2.0}
    recipe = recipe_for(tiny, scale=20.0, epochs=2, alignment={**shares, **terms, **settings})
    model, batch = a_model(tiny, recipe), a_batch(tiny, recipe, PAIRS)
    batch["weights"] = torch.tensor(weights)
    model.batches += risen
    loss = loss_of(recipe, model, epoch_batches=2)
    vectors = {side: torch.cat([model(**call) for call in calls]) for side, calls in loss.calls(batch).items()}
    value = float(loss.from_vectors(vectors, batch).detach())

    plain = recipe_for(tiny, scale=20.0)
    dual_loss = float(loss_of(plain, model, 1).from_vectors(vectors, batch).detach())
    rows = batch["rows"][batch["positives"]], batch["outputs"][batch["positives"]]
    answers = vectors["passages"][rows] + PASSAGE_WEIGHT * vectors["passages"][rows[0], 0]
    cross = PairVectors(vectors["pairs"][:, 0], vectors["pairs"][:, 1])
    no_other = torch.zeros(3, 3, dtype=torch.bool)
    cross_loss = weighted_softmax(cross.questions, cross.answers, torch.arange(3), batch["weights"], no_other, recipe.scale)
    alphas = AlignmentWeights(*(value * min(1.0, risen / 4) for value in terms.values()))
    dual = PairVectors(vectors["questions"][:, 0], answers)
    geometry = alignment_loss(dual, cross, alphas, dual_kernels, cross_kernels, anchor_weights=batch["weights"])
    expected = 0.3 * dual_loss + 0.2 * float(cross_loss.detach()) + 0.7 * float(geometry.detach())
    assert value == pytest.approx(expected, rel=1e-5)
    assert (float(geometry.detach()) == 0) == (risen == 0)


def test_the_alignment_rises_with_every_batch_of_training(tiny: Path) -> None:
    recipe = recipe_for(tiny, alignment={})
    model, batch = a_model(tiny, recipe), a_batch(tiny, recipe, PAIRS)
    loss = loss_of(recipe, model, epoch_batches=4)
    for training, batches in ((False, 0), (True, 1), (True, 2), (False, 2)):
        loss(model.train(training), batch)
        assert int(model.batches) == batches


@pytest.mark.parametrize("detach", [True, False])
def test_the_alignment_trains_the_cross_encoder_unless_it_is_detached(tiny: Path, detach: bool) -> None:
    # a share of the cross-encoder's own loss is asked for where it would learn from nothing else
    shares = {"dual_share": 0, "cross_share": 1e-20 if detach else 0, "share": 1, "ramp_epochs": 0}
    recipe = recipe_for(tiny, alignment={**shares, "detach": detach})
    model = a_model(tiny, recipe)
    assert model.cross is not None
    loss_of(recipe, model, 1)(model, a_batch(tiny, recipe, PAIRS)).backward()
    largest = {
        name: max(float(weight.grad.abs().max()) for weight in part.parameters() if weight.grad is not None)
        for name, part in (("cross", model.cross), ("dual", model.encoder))
    }
    assert largest["dual"] > 1e-4
    assert (largest["cross"] > 1e-4) == (not detach)
    assert (largest["cross"] < 1e-12) == detach


def test_the_cross_encoder_begins_as_the_encoder_of_passages(tiny: Path) -> None:
    encoder = start_encoder(tiny, {**SETTINGS, "hops": 2, "joining": "concatenated"}, 0.0)
    encoder.passages.backbone.embeddings.requires_grad_(False)
    tower = start_cross(encoder).tower
    passages = dict(encoder.passages.named_parameters())
    assert dict(tower.named_parameters()).keys() == passages.keys()
    for name, weight in tower.named_parameters():
        assert torch.equal(weight, passages[name])
        assert weight is not passages[name]
        assert weight.requires_grad == passages[name].requires_grad == ("embeddings" not in name)


def test_answers_of_one_text_are_no_negatives_of_the_cross_encoder(tiny: Path) -> None:
    pairs = [*PAIRS, Pair("who leaps", PAIRS[0].positive)]
    recipe = recipe_for(tiny, alignment={"dual_share": 1e-12, "share": 0, "cross_share": 1})
    model, batch = a_model(tiny, recipe), a_batch(tiny, recipe, pairs)
    loss = loss_of(recipe, model, 1)
    vectors = {side: torch.cat([model(**call) for call in calls]) for side, calls in loss.calls(batch).items()}
    batch["answer_texts"][0] = batch["answer_texts"][3] = batch["candidate_texts"][batch["positives"][0]]
    questions, answers = vectors["pairs"].unbind(1)
    scores = recipe.scale * questions @ answers.T
    scores[0, 3] = scores[3, 0] = -1e9
    expected = float((scores.logsumexp(1) - scores.diagonal()).mean().detach())
    assert float(loss.from_vectors(vectors, batch).detach()) == pytest.approx(expected, rel=1e-5)


def pair_file(path: Path) -> Path:
    letters = "abcdefghijklmnopqrst"
    pairs = [Pair(f"which {a} is it", Candidate(f"It is {a} {a}.", f"It is {a} {a}. So it goes.", "", 0)) for a in letters]
    path.write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in pairs))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["backbone", "lstm"])
def test_the_exported_folder_has_the_dual_encoder_alone(tiny: Path, tmp_path: Path, encoder: str) -> None:
    data = pair_file(tmp_path / "pairs.jsonl")
    settings = {"data": [str(data)], "encoder": encoder, "pooling": "attention", "hops": 2}
    files = {}
    for keep in (False, True):
        recipe = recipe_for(tiny, **settings, alignment={"keep_cross": keep})
        out = tmp_path / str(keep)
        train_recorded(train_retriever, recipe, out)
        files[keep] = {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    del files[False]["run.json"], files[True]["run.json"]
    cross = {name for name in files[True] if name.startswith("cross")}
    assert cross == {"cross/config.json", "cross/model.safetensors"}
    assert {name: content for name, content in files[True].items() if name not in cross} == files[False]
    folder = tmp_path / "True" / "cross"
    loaded = CrossSide(AutoConfig.from_pretrained(folder), normalise=True).eval()
    loaded.load_state_dict(load_file(folder / "model.safetensors"))
    inputs = a_batch(tiny, recipe, PAIRS)
    (call,) = loss_of(recipe, RetrieverModel(start_encoder(tiny, SETTINGS, 0.0), loaded), 1).calls(inputs)["pairs"]
    assert torch.isfinite(loaded(**call)).all()
    for name in ("True", "False"):
        (tmp_path / name / "run.json").unlink()  # which tells the two trainings apart
    whole, without = (model_fingerprint(tmp_path / name) for name in ("True", "False"))
    assert whole == without  # an index stays one of the same model


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (["alignment.share=0.5", "pooling=cls", "context=none"], "alignment. needs the tokens of an answer"),
        (["alignment.share=0.5", "unit=passage"], "alignment. needs the tokens of an answer"),
        (["alignment.share=0.5", "variational.kind=dual"], "are rivals: leave one of them out"),
        (["variational.kind=dual", "chunk=8"], "chunk encodes a batch in parts"),
        (["variational.kl_weight=1"], "variational.kind: it is missing"),
        (["alignment.kernel=cosine"], "alignment.kernel=cosine: it must be 'inner' or 'gaussian'"),
        (["alignment.detached=true"], "there is no key alignment.detached; did you mean detach"),
        (["batch=4"], "there is no key batch; did you mean optimiser.batch"),
        (["alignment.hops=1"], "there is no key alignment.hops; did you mean hops"),
        (["alignment.width=3"], "width = 3.0 would be ignored: it needs kernel=gaussian"),
        (["alignment.width=0"], "alignment.width=0: it must be greater than 0"),
        (["alignment.cross_width=2"], "cross_width = 2.0 would be ignored: it needs kernel=gaussian"),
        (["alignment.cross_scale=[1, 2]"], "it must be one number, or a list of four"),
        (["alignment.share=0", "alignment.cross_scale=2"], "cross_scale = 2.0 would be ignored: it needs share above 0"),
        (
            ["alignment.cross_share=0"],
            "cross_share = 0 leaves the cross-encoder as it begins: set it above 0, or detach=false",
        ),
        (["alignment.cross_share=0", "alignment.share=0", "alignment.detach=false"], "cross_share = 0 leaves"),
        (["alignment.share=0", "alignment.ramp_epochs=1"], "ramp_epochs = 1.0 would be ignored: it needs share above 0"),
        ([f"alignment.{a}_{b}=0" for a in ("question", "answer") for b in ("question", "answer")], "all four terms are 0"),
        (["alignment.ramp_epochs=2", "epochs=1"], "ramp_epochs = 2 is more than the 1 epochs of the run"),
        (["variational.kind=dual", "variational.ramp_epochs=9", "epochs=8"], "ramp_epochs = 9 is more than the 8 epochs"),
        (["variational.kind=dual", "variational.kl_weight=0", "variational.ramp_epochs=1"], "it needs kl_weight above 0"),
        (["alignment.share=0.5", "optimiser.batch=1", "negatives=2", "context=none"], "batch = 1 has no neighbours"),
        (["alignment.dual_share=0", "alignment.share=0"], "dual_share and share are 0: the dual encoder would not learn"),
        (
            ["variational.kind=dual", "variational.kl_weight=0", "variational.reconstruction_weight=0"],
            "are 0: leave .variational. out",
        ),
        (["optimiser.batch=1", "context=none"], "optimiser.batch = 1 has no answer to tell the right one from"),
        (["hops=3"], "hops = 3 would be ignored: it needs pooling=attention"),
    ],
)
def test_keys_that_do_not_fit_are_named(tmp_path: Path, keys: list[str], reason: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text('kind = "retriever"\ndata = ["x"]\n[optimiser]\nlearning_rate = 1e-4\nbatch = 8\n')
    with pytest.raises(InputError, match=reason):
        load_recipe(RetrieverRecipe, path, keys)
