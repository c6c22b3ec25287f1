from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from training_parts import loss_of, model_of, prepared, retriever_recipe

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_training_pairs  # noqa: E402
from oreqa.datasets.pairs import Candidate, Pair  # noqa: E402
from oreqa.training.retriever.loss import RetrievalLoss  # noqa: E402

SUPPORT = Path(__file__).parents[2] / "support"


def test_passages_of_unlike_length_are_encoded_apart(squad_file: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import oreqa.training.retriever.loss as retriever_loss
    from oreqa.training.backbone import start_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    model = start_encoder(tiny, settings, 0.0).eval()
    candidates = [Candidate("the fox jumps", "the fox jumps" + " and sleeps" * more) for more in range(12)]
    recipe = retriever_recipe(squad_file, tiny, max_tokens=64)
    examples, collate = prepared(tiny, recipe, [Pair("who jumps", candidate) for candidate in candidates[::-1]])
    batch = collate(examples)
    lengths = batch["passage_attention_mask"].sum(1).tolist()
    assert lengths == sorted(lengths)
    sizes: list[tuple[int, ...]] = []
    model.register_forward_pre_hook(lambda _, args, given: sizes.append(given["input_ids"].shape), with_kwargs=True)
    loss = loss_of(recipe, model_of(model, recipe), 1)
    whole = float(loss(model, batch).detach())
    assert len(sizes) == 2  # the questions, and all passages at once: they are few
    monkeypatch.setattr(retriever_loss, "FEWEST", 2)
    sizes.clear()
    assert float(loss(model, batch).detach()) == pytest.approx(whole, rel=1e-5)
    parts = sizes[1:]  # behind the questions
    assert len(parts) > 1
    assert sum(rows for rows, _ in parts) == len(lengths)
    assert sum(rows * tokens for rows, tokens in parts) < len(lengths) * max(lengths)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"loss": "soft_labels", "silver": "missing_gold"},
        {"towers": "separate"},
        {"alignment": {"ramp_epochs": 0, "question_question": 3.0, "answer_answer": 2.0}},
        {"alignment": {"ramp_epochs": 0, "detach": False}, "towers": "separate", "loss": "soft_labels", "silver": "none"},
        {"alignment": {"ramp_epochs": 0}, "encoder": "gru", "pooling": "attention", "hops": 2},
    ],
    ids=["softmax", "soft labels", "two encoders", "alignment", "alignment and soft labels", "alignment of a GRU"],
)
def test_gradient_caching_changes_nothing(squad_file: Path, tiny: Path, keys: dict[str, object]) -> None:
    from oreqa.training.backbone import start_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    settings |= {"towers": keys.get("towers", "shared"), "hops": keys.get("hops"), "joining": "averaged"}
    gold = load_training_pairs(squad_file)
    pairs = [replace(pair, score=0.9) for pair in gold]
    pairs += [replace(a, positive=b.positive, source="silver", score=0.3) for a, b in zip(gold, gold[5:], strict=False)]
    gradients = []
    for chunk in (None, 2):
        recipe = retriever_recipe(squad_file, tiny, chunk=chunk, negatives=2, **keys)
        examples, collate = prepared(tiny, recipe, pairs)
        batch = collate(examples[:6])
        torch.manual_seed(0)
        encoder = start_encoder(tiny, settings, 0.0, keys.get("encoder"))
        model = model_of(encoder, recipe).train()
        loss = loss_of(recipe, model, 1)(model, batch)
        loss.backward()
        gradients.append(
            (float(loss.detach()), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})
        )
    (one, whole), (other, cached) = gradients
    assert one == pytest.approx(other, rel=1e-5)
    assert whole.keys() == cached.keys()
    assert all(torch.allclose(whole[name], cached[name], atol=1e-4, rtol=1e-3) for name in whole)


@pytest.mark.parametrize("keys", [{}, {"alignment": {"ramp_epochs": 0}}], ids=["alone", "alignment"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gradient_caching_replays_its_dropout(squad_file: Path, tiny: Path, device: str, keys: dict[str, object]) -> None:
    from oreqa.training.backbone import start_encoder

    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    pairs, recipe = load_training_pairs(squad_file), retriever_recipe(squad_file, tiny, chunk=2, **keys)
    examples, collate = prepared(tiny, recipe, pairs)
    batch = {name: value.to(device) for name, value in collate(examples[:6]).items()}

    def slowly(loss: RetrievalLoss, model: torch.nn.Module) -> torch.Tensor:
        """Chunk after chunk, so that dropout is the same, with all that they leave behind kept."""
        calls = loss.calls(batch, 2)
        assert all(len(chunks) > 1 for chunks in calls.values())
        return loss.from_vectors({side: torch.cat([model(**chunk) for chunk in calls[side]]) for side in calls}, batch)

    results = []
    for run in (slowly, lambda loss, model: loss(model, batch)):
        torch.manual_seed(3)
        model = model_of(start_encoder(tiny, settings, 0.3), recipe).train().to(device)
        torch.manual_seed(7)
        loss = run(loss_of(recipe, model, 1), model)
        loss.backward()
        gradients = {n: p.grad.cpu() for n, p in model.named_parameters() if p.grad is not None}
        results.append((float(loss.detach()), gradients, torch.rand(1, device=device).item()))
    (loss, whole, after), (loss_of_chunks, cached, after_chunks) = results
    assert loss == pytest.approx(loss_of_chunks, rel=1e-5)
    assert after == after_chunks  # replaying draws nothing more
    assert whole.keys() == cached.keys()
    assert all(torch.allclose(whole[name], cached[name], atol=1e-4, rtol=1e-3) for name in whole)


def test_a_batch_that_fits_into_a_chunk_is_encoded_once(squad_file: Path, tiny: Path) -> None:
    from oreqa.training.backbone import start_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    pairs = load_training_pairs(squad_file)[:6]
    counts = {}
    for chunk in (None, 6, 5):  # the questions are six
        recipe = retriever_recipe(squad_file, tiny, chunk=chunk)
        examples, collate = prepared(tiny, recipe, pairs)
        model = start_encoder(tiny, settings, 0.0).train()
        encoded: list[int] = []
        model.register_forward_pre_hook(lambda _, a, given, e=encoded: e.append(len(given["input_ids"])), with_kwargs=True)
        loss_of(recipe, model_of(model, recipe), 1)(model, collate(examples))
        counts[chunk] = sum(encoded)
    assert counts[6] == counts[None]
    assert counts[5] == 2 * counts[None]


GLOO = """
import sys, torch, json, random
from pathlib import Path
from dataclasses import replace
from oreqa.training.backbone import start_encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.datasets.load import load_training_pairs
from oreqa.training.retriever.recipe import RetrieverRecipe
from oreqa.training.retriever.collator import RetrieverCollator
from oreqa.training.retriever.examples import by_passage
from training_parts import loss_of, model_of, pool_of
squad, tiny, out, chunk, towers, aligned, count = sys.argv[1:]
torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
recipe = RetrieverRecipe.model_validate({"kind": "retriever", "backbone": tiny, "data": [squad], "max_tokens": 48,
    "dropout": 0.0, "chunk": int(chunk) or None, "towers": towers,
    "alignment": {"ramp_epochs": 0} if aligned == "True" else None, "optimiser": {"learning_rate": 1e-3, "batch": 3}})
pairs = load_training_pairs(Path(squad))
pool = pool_of(recipe, pairs)
collate = RetrieverCollator(replace(read_encoder_folder(Path(tiny)), max_tokens=48), pairs, pool.answers)
examples = [e for rows in by_passage(pool.draw(random.Random(0)), 3, random.Random(0)) for e in rows][: int(count)]
size = -(-len(examples) // world)
part = examples[rank * size : (rank + 1) * size]
torch.manual_seed(0)
settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None, "towers": towers}
trained = model_of(start_encoder(Path(tiny), settings, 0.0), recipe).train()
model = torch.nn.parallel.DistributedDataParallel(trained, broadcast_buffers=False)
# each process' loss is the mean over its questions; gradients become the mean over the processes
loss = loss_of(recipe, trained, 1)(model, collate(part)) * len(part) * world / len(examples)
loss.backward()
total = loss.detach().clone()
torch.distributed.all_reduce(total)
norm = sum(float(p.grad.pow(2).sum()) for p in model.parameters() if p.grad is not None)
if rank == 0:
    Path(out).write_text(json.dumps([float(total) / world, norm]))
torch.distributed.destroy_process_group()
"""


@pytest.mark.system
@pytest.mark.parametrize(
    ("chunk", "towers", "aligned", "count"),
    [(2, "shared", False, 6), (0, "separate", False, 5), (0, "separate", True, 6), (0, "shared", True, 5)],
)
def test_two_processes_equal_one(
    squad_file: Path, tiny: Path, tmp_path: Path, chunk: int, towers: str, aligned: bool, count: int
) -> None:
    """Of five questions one process has three, and the other two: a blank takes the place of the third."""
    import subprocess
    import sys

    script = tmp_path / "gloo.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n{GLOO}")
    found = []
    for processes in (1, 2):
        out = tmp_path / f"{processes}.json"
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        arguments = [script, squad_file, tiny, out, str(chunk), towers, str(aligned), str(count)]
        subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=200)
        found.append(json.loads(out.read_text()))
    (loss, norm), (loss_of_two, norm_of_two) = found
    assert loss == pytest.approx(loss_of_two, rel=1e-5)
    assert norm == pytest.approx(norm_of_two, rel=1e-3)
