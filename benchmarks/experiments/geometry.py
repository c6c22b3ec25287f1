"""How encoders place the questions that share an answer: similarity matrices, t-SNE, and the answers' separation.

Run:  python benchmarks/experiments/geometry.py --data ../shared/data/squad/squad-v1.1-dev.json.gz \\
          --model base=all-minilm-l6-v2 --model tuned=runs/retriever --out runs/geometry      (needs the train extra)

A model that was trained with alignment.keep_cross also has a panel of its cross-encoder.
Answers are drawn from the sentences that at least --min-questions questions ask about, and encoded as in an index, inside
their passages; at most --questions questions of each are shown. In SQuAD dev, most sentences with many questions are about
one event, Super Bowl 50, which makes them hard to tell apart.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.reqa import ReqaTask, build_reqa, load_boundaries, questions_of_candidates
from oreqa.errors import InputError, OreqaError
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.names import CROSS, find_model

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.pair_vectors import Answer, Embed, cross_vectors, encoder_vectors, load_cross, named_model
from support.separation import write_geometry


def embedders(models: Sequence[tuple[str, str]]) -> dict[str, Embed]:
    """Return what makes the vectors of each panel, by name: a model, and the cross-encoder that was saved with it."""
    embed: dict[str, Embed] = {}
    for name, place in models:
        folder = find_model(place)
        if (folder / CROSS).is_dir():
            embed[f"{name}, cross"] = partial(cross_vectors, read_encoder_folder(folder), load_cross(folder))
        embed[name] = partial(encoder_vectors, Encoder(folder, precision="f32"))
    return embed


def draw_answers(
    task: ReqaTask, count: int, min_questions: int, max_questions: int, seed: int
) -> list[tuple[Answer, list[str]]]:
    """Draw random answers with at least ``min_questions`` questions, in text order, and at most ``max_questions`` of these.

    No question has two of the answers. Raises InputError if there are not enough answers.
    """
    asked = questions_of_candidates(task)
    shuffled = [candidate for candidate, numbers in asked.items() if len(numbers) >= min_questions]
    generator = random.Random(seed)
    generator.shuffle(shuffled)
    drawn: list[int] = []
    taken: set[int] = set()
    for candidate in shuffled:
        if len(drawn) < count and taken.isdisjoint(asked[candidate]):
            drawn.append(candidate)
            taken.update(asked[candidate])
    if len(drawn) < count:
        raise InputError(f"only {len(drawn)} answers have {min_questions} questions of their own: ask for fewer")
    places = [Answer(passage, number) for passage in task.passages for number in range(len(passage.sentences))]
    groups = []
    for candidate in sorted(drawn):
        numbers = asked[candidate]
        chosen = sorted(generator.sample(numbers, min(max_questions, len(numbers))))
        groups.append((places[candidate], [task.questions[number] for number in chosen]))
    return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="SQuAD or MRQA file")
    parser.add_argument("--sentences", type=Path, help="sentence boundaries, as for oreqa eval reqa")
    parser.add_argument(
        "--model", type=named_model, action="append", required=True, metavar="NAME=DIR", help="a model, and its panel's name"
    )
    parser.add_argument("--answers", type=int, default=6, help="answers to draw (%(default)s)")
    parser.add_argument("--min-questions", type=int, default=5, help="questions that each has at least (%(default)s)")
    parser.add_argument("--questions", type=int, default=8, help="questions of each that are shown at most (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the drawing and of t-SNE (%(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pictures and report.html")
    parser.add_argument("--name", help="of the file in results/geometry; default: N-answers")
    options = parser.parse_args()
    if len({name for name, _ in options.model}) < len(options.model):
        parser.error("--model: two have the same name")
    if options.answers < 2 or options.questions < 2 or options.min_questions < 2:
        parser.error("--answers, --questions and --min-questions are at least 2: fewer have nothing to be compared with")
    try:
        draw(options)
    except OreqaError as error:
        parser.error(str(error))


def draw(options: argparse.Namespace) -> None:
    """Write the report and the raw figures, and print how far the answers are apart."""
    task = build_reqa(load_paragraphs(options.data), load_boundaries(options.sentences) if options.sentences else None)
    groups = draw_answers(task, options.answers, options.min_questions, options.questions, options.seed)
    answers, questions = [answer for answer, _ in groups], [texts for _, texts in groups]
    vectors = {name: embed(questions, answers) for name, embed in embedders(options.model).items()}
    summary = write_geometry(
        options.out,
        [(answer.text, texts) for answer, texts in groups],
        {
            name: (of_questions.astype(float), of_answers.astype(float))
            for name, (of_questions, of_answers) in vectors.items()
        },
        options.seed,
    )
    sizes = {"answers": len(answers), "questions": sum(map(len, questions)), "seed": options.seed}
    report(f"geometry/{options.name or f'{len(answers)}-answers'}", {**sizes, "models": summary["models"]})
    for name, measures in summary["models"].items():
        pairs = {kind: measures[kind]["separation"] for kind in ("question_question", "question_answer")}
        print(f"{name}: separation " + ", ".join(f"{kind.replace('_', '-')} {value:.2f}" for kind, value in pairs.items()))


if __name__ == "__main__":
    main()
