"""Which head and which loss find the spans that people ask about, on the frozen states of the shipped reader.

Run:  python benchmarks/experiments/span_heads.py --data ../shared/data      (a minute on one core; needs the train extra)

A head learns from 320 training passages of squad-train-more and is measured on 120 held-out ones: recall of the spans that
were asked about, at their exact place, among the best spans of a passage that do not overlap.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import Tensor, nn

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Paragraph, readable_title, split_articles
from oreqa.losses.extraction import span_cross_entropy, span_softmax
from oreqa.models.extractor.folder import MAX_ANSWER_TOKENS
from oreqa.models.extractor.inputs import ExtractorInputs
from oreqa.models.extractor.module import SPAN_WIDTH, BertExtractor, banded
from oreqa.models.folders import find_model
from oreqa.models.graph.weights import find_tokenizer
from oreqa.training.extractor_examples import Example, collate, example_windows
from oreqa.training.initial import start_from

sys.path.append(str(Path(__file__).parents[1]))
from common import report

TRAINED, HELD_OUT, BATCH, EPOCHS = 320, 120, 16, 12

Batch = tuple[Tensor, Tensor, Tensor]
"""Hidden states, and the spans that are allowed and that were asked about."""


class Independent(nn.Module):  # type: ignore[misc]
    """Start and end scored each for itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start, self.end = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        return banded(self.start(hidden) + self.end(hidden).transpose(1, 2), MAX_ANSWER_TOKENS)


class Biaffine(nn.Module):  # type: ignore[misc]
    """The head of ``BertExtractor``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start, self.end = (nn.Linear(width, SPAN_WIDTH + 1) for _ in range(2))

    def forward(self, hidden: Tensor) -> Tensor:
        start, end = self.start(hidden), self.end(hidden)
        pairs = start[..., :-1] @ end[..., :-1].transpose(1, 2) / SPAN_WIDTH**0.5
        return banded(pairs + start[..., -1:] + end[..., -1:].transpose(1, 2), MAX_ANSWER_TOKENS)


class Additive(nn.Module):  # type: ignore[misc]
    """w . tanh(A h_i + B h_j)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start, self.end, self.score = (
            nn.Linear(width, SPAN_WIDTH),
            nn.Linear(width, SPAN_WIDTH),
            nn.Linear(SPAN_WIDTH, 1),
        )

    def forward(self, hidden: Tensor) -> Tensor:
        ends = nn.functional.pad(self.end(hidden), (0, 0, 0, MAX_ANSWER_TOKENS - 1)).unfold(1, MAX_ANSWER_TOKENS, 1)
        scores: Tensor = self.score(torch.tanh(self.start(hidden)[:, :, None] + ends.transpose(2, 3)))
        return scores[..., 0]


def marginal(scores: Tensor, allowed: Tensor, asked: Tensor) -> Tensor:
    """Negative log of the summed probability of a window's spans, averaged over windows."""
    choices, right = (scores.masked_fill(~mask, -1e9).flatten(1).logsumexp(-1) for mask in (allowed, asked))
    return (choices - right).mean()


def fifty_negatives(scores: Tensor, allowed: Tensor, asked: Tensor) -> Tensor:
    return span_cross_entropy(scores, allowed, asked, 50)


SETTINGS: dict[str, tuple[type[nn.Module], Callable[[Tensor, Tensor, Tensor], Tensor]]] = {
    "start and end apart, softmax": (Independent, span_softmax),
    "biaffine, softmax": (Biaffine, span_softmax),
    "biaffine, softmax, marginal": (Biaffine, marginal),
    "biaffine, cross-entropy, 50 negatives": (Biaffine, fifty_negatives),
    "additive, softmax": (Additive, span_softmax),
}


def examples(paragraphs: Iterable[Paragraph], count: int, inputs: ExtractorInputs, rng: random.Random) -> list[Example]:
    """The first windows of so many paragraphs of middling length."""
    chosen = [p for p in paragraphs if p.questions and 60 < len(p.text.split()) < 130]
    windows = []
    for paragraph in rng.sample(chosen, count):
        title = readable_title(paragraph.title)
        tokens = inputs.tokenize([title, paragraph.text])
        answers = {(gold.start, gold.start + len(gold.text)) for q in paragraph.questions for gold in q.answers}
        windows += example_windows(inputs, tokens[title], tokens[paragraph.text], answers, MAX_ANSWER_TOKENS)[:1]
    return sorted(windows, key=lambda example: len(example.window.ids))


def states(model: BertExtractor, rows: list[Example]) -> list[Batch]:
    batches = []
    for begin in range(0, len(rows), BATCH):
        batch = collate(rows[begin : begin + BATCH], MAX_ANSWER_TOKENS)
        inputs = [batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")]
        with torch.no_grad():
            batches.append((model.bert(*inputs).last_hidden_state, batch["allowed"], batch["asked"]))
    return batches


def recall(head: nn.Module, batches: list[Batch], k: int) -> float:
    """Percent of the spans that were asked about among the ``k`` best that do not overlap."""
    right = total = 0
    for hidden, allowed, asked in batches:
        with torch.no_grad():
            rows = head(hidden).masked_fill(~allowed, -torch.inf)
        total += int(asked.sum())
        for scores, gold in zip(rows, asked, strict=True):
            for _ in range(k):
                first, distance = divmod(int(scores.argmax()), MAX_ANSWER_TOKENS)
                if scores[first, distance] == -torch.inf:
                    break
                right += int(gold[first, distance])
                for length in range(MAX_ANSWER_TOKENS):
                    scores[max(0, first - length) : first + distance + 1, length] = -torch.inf
    return round(100 * right / total, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    base = find_model("minilm-reader")
    inputs = ExtractorInputs(find_tokenizer(base), 256, 64)
    model = start_from(BertExtractor, base, dropout=0.0).eval()
    train, held_out = split_articles(load_paragraphs(options.data / "extractive" / "squad-train-more.json.gz"))
    rng = random.Random(0)
    learned, measured = (states(model, examples(p, n, inputs, rng)) for p, n in ((train, TRAINED), (held_out, HELD_OUT)))
    figures = {}
    for name, (kind, loss) in SETTINGS.items():
        torch.manual_seed(0)
        head = kind(model.config.hidden_size)
        optimiser = torch.optim.AdamW(head.parameters(), lr=3e-3)
        steps = [batch for epoch in range(EPOCHS) for batch in random.Random(epoch).sample(learned, len(learned))]
        schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1, 0.05, total_iters=len(steps))
        for hidden, allowed, asked in steps:
            optimiser.zero_grad()
            loss(head(hidden), allowed, asked).backward()
            optimiser.step()
            schedule.step()
        figures[name] = {f"exact@{k}": recall(head, measured, k) for k in (5, 10)}
    report("span_heads", figures)


if __name__ == "__main__":
    main()
