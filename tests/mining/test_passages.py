from __future__ import annotations

from oreqa.mining.passages import bm25_passages


def test_passages_of_equal_scores_come_in_their_order() -> None:
    passages = ["a red fox"] * 200 + ["a red fox and a fox"] + ["blue"]
    shared, lone, none = bm25_passages(["red fox", "blue", "sky"], passages, 7)
    assert sorted(shared.tolist())[:6] == [0, 1, 2, 3, 4, 5]
    assert [place for place in shared.tolist() if place < 200] == sorted(place for place in shared.tolist() if place < 200)
    assert lone.tolist() == [201]
    assert none.tolist() == []
