"""Questions generated per second, compared with transformers' generate() on the same model and answers, in one run.

Run:  python benchmarks/speed/generate.py --data ../shared/data --generator runs/generator      (needs the train extra)

Answers are spans found by rule in SQuAD dev's paragraphs, whose own questions are not used. transformers decodes
passage by passage, as its users call it, and in batches of 32; both greedily, with the prefix mask that the model was
trained with. Our time includes tokenisation, theirs starts from token ids.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import BertLMHeadModel, LogitsProcessor, LogitsProcessorList

from oreqa.datasets.paragraphs import readable_title
from oreqa.generation.rules import rule_spans
from oreqa.models.generator.decoding import allowed_repeats, repeating_tokens
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import MarkedAnswer, mark_answer
from oreqa.models.graph.precision import heads_precision
from oreqa.text.sentences import split_sentences

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad

BATCH = 32


class PrefixGenerator(BertLMHeadModel):  # type: ignore[misc]
    """A trained generator for transformers' generate(): the prefix sees all of itself, and positions skip padding."""

    def prepare_inputs_for_generation(
        self,
        input_ids: torch.Tensor,
        next_sequence_length: int | None = None,
        past_key_values: Any = None,
        attention_mask: torch.Tensor | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        """Return a step's inputs: all of the prefixes, padded on the left, or the token after the cached ones."""
        ids = input_ids if next_sequence_length is None else input_ids[:, -next_sequence_length:]
        cached = past_key_values.get_seq_length() if past_key_values is not None else 0
        if attention_mask is None:
            attention_mask = torch.ones(len(ids), cached + ids.shape[1], dtype=torch.long)
        padding = attention_mask[:, None, None] == 0
        mask = torch.zeros(padding.shape).masked_fill(padding, torch.finfo(torch.float32).min)
        return {
            "input_ids": ids,
            "attention_mask": mask.expand(-1, 1, ids.shape[1], -1),
            "token_type_ids": torch.full_like(ids, int(cached > 0)),
            "position_ids": (attention_mask.cumsum(1) - 1).clamp(min=0)[:, cached:],
            "past_key_values": past_key_values,
            "use_cache": True,
            "logits_to_keep": 1,
        }


def _ours(generator: QuestionGenerator, answers: Sequence[MarkedAnswer], style: str) -> list[str]:
    return [question.text for (question,) in generator.generate(answers, style)]


def _texts(
    generator: QuestionGenerator, decode: Callable[[], Sequence[Sequence[int]]], answers: Sequence[MarkedAnswer]
) -> list[str]:
    """Return the output of ``decode`` as text."""
    return [generator.inputs.text(list(ids), answer) for ids, answer in zip(decode(), answers, strict=True)]


class AllowedRepeats(LogitsProcessor):  # type: ignore[misc]
    """Our rule for repeated tokens; transformers' rule would also forbid the pairs of the prefix."""

    def __init__(self, prefixes: Sequence[Sequence[int]], length: int) -> None:
        self._allowed = [allowed_repeats(prefix) for prefix in prefixes]
        self._length = length

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        for row, ids, allowed in zip(scores, input_ids[:, self._length :].tolist(), self._allowed, strict=True):
            row[list(repeating_tokens(ids, allowed))] = -torch.inf
        return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--generator", type=Path, required=True, help="folder of a trained generator")
    parser.add_argument("--style", default="textbook")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    answers = _answers(options.data, options.questions)
    precisions = dict.fromkeys((heads_precision("auto"), "f32"))
    generators = {name: QuestionGenerator(options.generator, precision=name) for name in precisions}
    exact = generators["f32"]
    prefixes = [p for p in exact.inputs.prefixes(answers, [options.style] * len(answers)) if p]
    theirs = PrefixGenerator.from_pretrained(options.generator).eval()
    limit, end = exact.folder.question_tokens, exact.inputs.ending(exact.folder.path).end

    ways: dict[str, Callable[[], list[str]]] = {}
    for precision, generator in generators.items():
        ways[f"oreqa {precision}"] = partial(_ours, generator, answers, options.style)
    for size in (1, BATCH):
        decode = partial(_transformers, theirs, prefixes, size, limit, end)
        ways[f"transformers in batches of {size}"] = partial(_texts, exact, decode, answers)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    texts = {}
    for name, generate in ways.items():
        texts[name] = generate()  # the first call compiles
    for _ in range(options.rounds):
        for name, generate in ways.items():
            started = time.perf_counter()
            generate()
            seconds[name].append(time.perf_counter() - started)
    expected = texts["oreqa f32"]
    alone = seconds["transformers in batches of 1"]
    rows = {
        name: {
            "questions_per_second": round(len(answers) / statistics.median(own), 2),
            "times_transformers_one_by_one": round(statistics.median(b / a for a, b in zip(own, alone, strict=True)), 2),
            "same_questions": round(statistics.mean(a == b for a, b in zip(texts[name], expected, strict=True)), 3),
        }
        for name, own in seconds.items()
    }
    result = {
        "answers": len(answers),
        "prefix_tokens": round(statistics.mean(map(len, prefixes)), 1),
        "rounds": options.rounds,
        "torch_threads": torch.get_num_threads(),
        "transformers": transformers.__version__,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
        "rows": rows,
    }
    report("generator/speed", result)


def _answers(data: Path, count: int) -> list[MarkedAnswer]:
    """Return answers found by rule, evenly spread over the paragraphs."""
    every = []
    for paragraph in squad(data):
        sentences = split_sentences(paragraph.text)
        title, spans = readable_title(paragraph.title), rule_spans(paragraph.text)[:5]
        every += [mark_answer(title, paragraph.text, span.start, span.end, sentences) for span in spans]
    return every[:: max(1, len(every) // count)][:count]


def _transformers(model: PrefixGenerator, prefixes: Sequence[list[int]], size: int, limit: int, end: int) -> list[list[int]]:
    """Return the token ids of the questions, without the end token."""
    order = sorted(range(len(prefixes)), key=lambda number: len(prefixes[number]))
    questions: list[list[int]] = [[] for _ in prefixes]
    for begin in range(0, len(order), size):
        numbers = order[begin : begin + size]
        length = max(len(prefixes[number]) for number in numbers)
        ids, mask = torch.zeros((2, len(numbers), length), dtype=torch.long)
        for row, number in enumerate(numbers):
            prefix = prefixes[number]
            ids[row, length - len(prefix) :], mask[row, length - len(prefix) :] = torch.tensor(prefix), 1
        written = model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=limit,
            do_sample=False,
            num_beams=1,
            eos_token_id=end,
            pad_token_id=0,
            use_cache=True,
            logits_processor=LogitsProcessorList([AllowedRepeats([prefixes[number] for number in numbers], length)]),
        )
        for number, row in zip(numbers, written[:, length:].tolist(), strict=True):
            questions[number] = row[: row.index(end)] if end in row else row[: limit - 1]
    return questions


if __name__ == "__main__":
    main()
