"""Compares two runs on the same questions: significance of differences, questions that each fails, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.evaluation.figures import VENN_COLOURS, venn_figure
from oreqa.evaluation.frame import run_folder
from oreqa.evaluation.metrics import Difference, paired_difference
from oreqa.evaluation.report import write_page
from oreqa.evaluation.runs import Run
from oreqa.files import write_json
from oreqa.visible import counted

FEW = 50
"""With fewer questions, differences are hardly more than chance."""

FEW_QUESTIONS = f"Fewer than {FEW} questions: only a large difference can be told from chance."


@dataclass(frozen=True, slots=True)
class Comparison:
    """``b`` against ``a``: differences by metric, questions by which run fails them, and the questions won and lost.

    ``means`` are both runs' values of each metric, in percent, on their common ``questions``: a run with more questions has
    other values in its metrics.json.

    A question fails if no gold is on top (``p@1`` of 0, or ``em`` if a run has it). ``errors`` are the numbers of
    questions that ``both`` fail, ``only_a``, ``only_b`` or ``neither``; ``error_shares`` are the same in percent of all.
    Both are empty for runs with graded scores only, such as those of generators; their questions are won and lost by
    gain.

    ``won`` and ``lost`` are the ten questions with the largest gain and loss in the metric ``won_by``, with each run's
    value.
    """

    a: str
    b: str
    questions: int
    means: Mapping[str, tuple[float, float]]
    differences: Mapping[str, Difference]
    errors: Mapping[str, int]
    error_shares: Mapping[str, float]
    won_by: str
    won: tuple[Mapping[str, Any], ...]
    lost: tuple[Mapping[str, Any], ...]


_DRAWN_BY = ("held_out", "min_questions", "seed")
"""Settings that determine which questions a run asks, besides their number."""


def compare_runs(a: Run, b: Run, seed: int = 0) -> Comparison:
    """Compare runs on their common questions.

    Raises InputError if there are none, if their data differ, or if they number their questions differently: reqa
    numbers the questions it asks.
    """
    if a.summary.get("data_sha256") != b.summary.get("data_sha256"):
        raise InputError(f"{a.name} and {b.name} were made on different data: compare runs of one data file")
    ids = [key for key in a.questions if key in b.questions]
    if not ids:
        raise InputError(f"{a.name} and {b.name} have no question in common")
    if a.summary.get("task") == b.summary.get("task") == "reqa" and not _same_questions(a, b, ids):
        raise InputError(
            f"{a.name} and {b.name} asked different questions: make both with the same "
            "--held-out, --min-questions, --draw and --seed"
        )
    first, second = a.questions[ids[0]], b.questions[ids[0]]
    metrics = [name for name, value in first.items() if name in second and _is_metric(name, value, a, b)]
    if not metrics:
        tasks = [run.summary.get("task") for run in (a, b)]
        raise InputError(f"{a.name} and {b.name} have no metric in common: they are runs of {tasks[0]} and {tasks[1]}")
    values = {name: [[run.questions[i][name] for i in ids] for run in (a, b)] for name in metrics}
    means = {name: (_percent(a_values), _percent(b_values)) for name, (a_values, b_values) in values.items()}
    differences = {name: paired_difference(a_values, b_values, seed) for name, (a_values, b_values) in values.items()}
    right = next((name for name in ("em", "p@1") if name in metrics), None)
    fails_a, fails_b = ({i for i in ids if right and not run.questions[i][right]} for run in (a, b))
    errors = {
        "both": len(fails_a & fails_b),
        "only_a": len(fails_a - fails_b),
        "only_b": len(fails_b - fails_a),
        "neither": len(ids) - len(fails_a | fails_b),
    }
    errors = errors if right else {}  # a graded score, such as that of a question's wording, is neither wrong nor right
    key = next((name for name in ("f1", "mrr", "rouge_l") if name in metrics), "")
    gains = {i: b.questions[i][key] - a.questions[i][key] for i in ids} if key else {}
    by_gain = sorted(gains, key=gains.__getitem__)

    def row(i: str) -> dict[str, Any]:
        question = a.questions[i].get("question", "")
        return {"id": i, "question": question, "a": a.questions[i].get(key), "b": b.questions[i].get(key)}

    # Without right and wrong, a question is won by any gain.
    turned_right = fails_a - fails_b if right else {i for i in gains if gains[i] > 0}
    turned_wrong = fails_b - fails_a if right else {i for i in gains if gains[i] < 0}
    won = tuple(row(i) for i in reversed(by_gain) if i in turned_right)[:10]
    lost = tuple(row(i) for i in by_gain if i in turned_wrong)[:10]
    shares = {who: round(100 * count / len(ids), 2) for who, count in errors.items()}
    return Comparison(a.name, b.name, len(ids), means, differences, errors, shares, key, won, lost)


def _percent(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values)


def _same_questions(a: Run, b: Run, ids: Sequence[str]) -> bool:
    """Return whether equal ids are equal questions; for a run stored without their texts, by how they were drawn."""
    texts = [(a.questions[i].get("question"), b.questions[i].get("question")) for i in ids]
    if all(None not in pair for pair in texts):
        return all(a_text == b_text for a_text, b_text in texts)
    drawn = [[run.summary.get("settings", {}).get(name) for name in _DRAWN_BY] for run in (a, b)]
    return drawn[0] == drawn[1] and a.summary.get("questions") == b.summary.get("questions")


def _is_metric(name: str, value: object, a: Run, b: Run) -> bool:
    """Return whether a field of a question's row is a metric whose mean both runs have."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and name in a.summary and name in b.summary


def write_comparison(folder: Path, comparisons: Sequence[Comparison]) -> None:
    """Write both files into a folder, comparison.json last, as ``oreqa compare --json`` prints it.

    Raises InputError if it holds a run, a model or an index, or is a file.
    """
    folder = run_folder(folder)
    title = "; ".join(f"{c.b} against {c.a}" for c in comparisons)
    write_page(folder / "report.html", title, "".join(_section(comparison) for comparison in comparisons))
    write_json(folder / "comparison.json", [asdict(comparison) for comparison in comparisons])


def _section(c: Comparison) -> str:
    a, b = (f'<b style="color:{colour}">{escape(name)}</b>' for colour, name in zip(VENN_COLOURS, (c.a, c.b), strict=True))
    head = f"<tr><th>metric</th><th>{a}</th><th>{b}</th><th>difference</th><th>95% interval</th><th>p</th></tr>"
    metrics = "".join(
        f"<tr><td>{escape(name)}</td>{_values(c.means[name])}<td>{100 * d.mean:+.2f}</td>"
        f"<td>{100 * d.low:+.2f} .. {100 * d.high:+.2f}</td><td>{d.p:.4f}</td></tr>"
        for name, d in c.differences.items()
    )
    few = f"<p class=dim>{FEW_QUESTIONS}</p>" if c.questions < FEW else ""
    shown = f"<p class=dim>Each run's {escape(c.won_by)} of the question, from 0 to 1.</p>" if c.won_by else ""
    return f"""<h2>{b} against {a}: {counted(c.questions, "question")}</h2>{few}
{_errors(c, a, b) if c.errors else ""}<h2>Differences</h2>
<table><thead>{head}</thead><tbody>{metrics}</tbody></table>
<h2>Won</h2>{shown}{_questions(c.won, a, b)}
<h2>Lost</h2>{shown}{_questions(c.lost, a, b)}
"""


def _values(means: Sequence[float]) -> str:
    return "".join(f"<td>{mean:.2f}</td>" for mean in means)


def _errors(c: Comparison, a: str, b: str) -> str:
    """Return the Venn diagram of wrong questions, and their numbers."""
    errors, share = c.errors, c.error_shares
    rows = [
        ("both wrong", "both"),
        (f"{a} alone wrong", "only_a"),
        (f"{b} alone wrong", "only_b"),
        ("both right", "neither"),
    ]
    counts = "".join(f"<tr><td>{text}</td><td>{errors[key]:,}</td><td>{share[key]:.1f}%</td></tr>" for text, key in rows)
    return f"""<figure>{venn_figure(errors["only_a"], errors["only_b"], errors["both"], c.questions)}
<figcaption class=dim>Questions that {a} and {b} fail, in percent of all questions. Areas are true to the numbers.
</figcaption></figure>
<table><thead><tr><th>errors</th><th>questions</th><th>of all</th></tr></thead><tbody>{counts}</tbody></table>
"""


def _questions(rows: Sequence[Mapping[str, Any]], a: str, b: str) -> str:
    if not rows:
        return "<p>None.</p>"
    cells = "".join(
        f"<tr><td class=text>{escape(str(row['question']))}</td><td>{row['a']:.2f}</td><td>{row['b']:.2f}</td></tr>"
        for row in rows
    )
    return f"<table><thead><tr><th>question</th><th>{a}</th><th>{b}</th></tr></thead><tbody>{cells}</tbody></table>"
