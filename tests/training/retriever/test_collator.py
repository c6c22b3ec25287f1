from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from training_parts import pool_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

from oreqa.datasets.pairs import Candidate, Pair, passage_pairs  # noqa: E402
from oreqa.models.encoder.folder import read_encoder_folder  # noqa: E402
from oreqa.models.encoder.inputs import EncoderInputs  # noqa: E402
from oreqa.training.retriever.collator import RetrieverCollator, text_number  # noqa: E402
from oreqa.training.retriever.examples import PairPool  # noqa: E402
from oreqa.training.retriever.recipe import RetrieverRecipe  # noqa: E402

SHORT = "the fox jumps. it sleeps. then it eats a bone."
LONG = " ".join(f"fox {n} jumps over dog {n}." for n in range(12))  # 14 or 15 tokens a sentence


def prepared(tiny: Path, pairs: list[Pair], **changes: object) -> tuple[PairPool, RetrieverCollator]:
    recipe = RetrieverRecipe.model_validate({
        "kind": "retriever", "data": ["d"], "max_tokens": 42, "optimiser": {"learning_rate": 1, "batch": 9}, **changes,
    })  # fmt: skip
    pool = pool_of(recipe, pairs)
    folder = replace(read_encoder_folder(tiny), context=recipe.context, max_tokens=recipe.max_tokens)
    return pool, RetrieverCollator(folder, pairs, pool.answers, recipe.unit)


ANSWERS = {
    "a sentence": (LONG, "fox 3 jumps over dog 3."),
    "part of a sentence": (LONG, "jumps over dog 7"),
    "two sentences": (LONG, "fox 4 jumps over dog 4. fox 5 jumps over dog 5."),
    "across a border": (LONG, "over dog 8. fox 9 jumps"),
    "the end of one": (LONG, "dog 11."),
    "part, in a passage that fits": (SHORT, "sleeps"),
    "two, in a passage that fits": (SHORT, "it sleeps. then it eats a bone."),
    "longer than a run": (LONG, LONG[24:200]),
    "the whole": (LONG, LONG),
}


@pytest.mark.parametrize("title", ["", "t"])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_the_mean_of_its_own_tokens(tiny: Path, name: str, title: str) -> None:
    context, answer = ANSWERS[name]
    positive = Candidate(answer, context, title)
    pairs = [Pair("who", positive), Pair("what", Candidate("fox 10 jumps over dog 10.", LONG, title))]
    pool, collate = prepared(tiny, pairs)
    batch = collate(pool.draw(random.Random(0)))
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    shares = batch["passage_pool"][batch["rows"], batch["outputs"]]  # of every candidate
    assert torch.allclose(shares.sum(1), torch.ones(len(shares)))
    assert (batch["passage_pool"].sum(2)[:, 0] > 0.999).all()
    place = int(batch["positives"][0])
    chosen = shares[place].nonzero()[:, 0]
    ids = batch["passage_input_ids"][batch["rows"][place]][chosen].tolist()
    wanted = tokenizer.encode(answer, add_special_tokens=False).ids
    room = 40 - (2 if title else 0)  # without [CLS] and [SEP], and the title's two tokens
    assert ids == wanted[:room]
    assert shares[place][chosen].tolist() == pytest.approx([1 / len(ids)] * len(ids))


def test_sentences_that_hold_no_token_are_some_tokens_mean(tiny: Path) -> None:
    context = LONG + " \u200b"
    pairs = [Pair("who", Candidate("\u200b", context)), Pair("what", Candidate("fox 2 jumps over dog 2.", context))]
    pool, collate = prepared(tiny, pairs)
    batch = collate(pool.draw(random.Random(0)))
    shares = batch["passage_pool"][batch["rows"], batch["outputs"]]
    assert torch.allclose(shares.sum(1), torch.ones(len(shares)))


def test_a_whole_answer_is_not_cut_into_candidates(tiny: Path) -> None:
    whole, part = Candidate(SHORT, SHORT), Candidate("it sleeps.", SHORT)
    for pairs in ([Pair("who", whole), Pair("where", part)], [Pair("where", part), Pair("who", whole)]):
        pool, collate = prepared(tiny, pairs)
        assert collate(pool.draw(random.Random(0)))["candidate_texts"].shape == (2,)
    pool, collate = prepared(tiny, [Pair("where", part)])
    texts = collate(pool.draw(random.Random(0)))["candidate_texts"].tolist()
    assert texts == [text_number(SHORT[start:end]) for start, end in ((0, 14), (15, 25), (26, 46))]


def test_silver_without_a_score_is_its_weight_likely(tiny: Path) -> None:
    def pair(answer: str, **settings: object) -> Pair:
        return replace(Pair("who", Candidate(answer, answer)), **settings)  # type: ignore[arg-type]

    pairs = [
        pair("a gold", weight=0.5), pair("weighed", weight=0.9, source="silver"), pair("light", weight=0.4, source="silver"),
        pair("scored", weight=0.9, source="silver", score=0.0), pair("both", weight=0.6, source="silver", score=0.8),
    ]  # fmt: skip
    pool, collate = prepared(tiny, pairs, negatives=9)
    examples = pool.draw(random.Random(0))
    rows = [(e.positive.answer, pytest.approx(e.weight), {o.answer for o in e.others}) for e in examples]
    wrong = {"light", "scored"}
    assert rows == [("a gold", 0.5, wrong), ("weighed", 0.81, wrong), ("both", 0.36, wrong)]
    batch = collate(examples)
    for q in range(3):  # what answers a question is no negative of it
        answering = (batch["candidate_texts"][:, None] == batch["answer_texts"][q]).any(-1)
        assert answering.sum() == 3
        assert answering[batch["positives"]].all()


@pytest.mark.parametrize("context", ["late_chunking", "none"])
def test_whole_passages_are_the_only_candidates_of_their_unit(tiny: Path, context: str) -> None:
    pairs = [
        Pair("who", Candidate("it sleeps.", SHORT, "a"), negatives=(Candidate("fox 2 jumps over dog 2.", LONG),)),
        Pair("where", Candidate("then it eats a bone.", SHORT, "a")),
        Pair("what", Candidate("the dog.", "the dog.")),
    ]
    whole = passage_pairs(pairs)
    pool, collate = prepared(tiny, whole, unit="passage", context=context, negatives=1)
    batch = collate(pool.draw(random.Random(0)))
    assert batch["passage_pool"].shape[1] == 1  # one vector of each, the passage's
    texts = batch["candidate_texts"].tolist()
    assert texts == [text_number(text) for text in (SHORT, LONG, "the dog.")]
    assert [texts[number] for number in batch["positives"]] == [texts[0], texts[0], texts[2]]
    answering = (batch["candidate_texts"][None, :, None] == batch["answer_texts"][:, None, :]).any(-1)
    assert answering.tolist() == [[True, False, False], [True, False, False], [False, False, True]]
    folder = replace(read_encoder_folder(tiny), context=context, max_tokens=42)
    row = batch["rows"][1]
    (expected,) = EncoderInputs(folder).passages([("", LONG, [])])
    tokens = batch["passage_input_ids"][row][: int(batch["passage_attention_mask"][row].sum())]
    assert tokens.tolist() == list(expected.tokens.ids)
    assert batch["outputs"].tolist() == [0, 0, 0]
