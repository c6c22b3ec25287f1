"""Comparisons of runs as files: comparison.json, and report.html with the Venn diagram of the two systems' errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from oreqa.evaluation.compare import FEW, FEW_QUESTIONS, Comparison
from oreqa.evaluation.figures import VENN_COLOURS, venn_figure
from oreqa.evaluation.report import write_page
from oreqa.evaluation.write import run_folder
from oreqa.files import write_json


def write_comparison(folder: Path, comparisons: Sequence[Comparison]) -> None:
    """Write both files into a folder, comparison.json last: what ``oreqa compare --json`` prints.

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
    return f"""<h2>{b} against {a}: {c.questions:,} questions</h2>{few}
{_errors(c, a, b) if c.errors else ""}<h2>Differences</h2>
<table><thead>{head}</thead><tbody>{metrics}</tbody></table>
<h2>Won</h2>{shown}{_questions(c.won, a, b)}
<h2>Lost</h2>{shown}{_questions(c.lost, a, b)}
"""


def _values(means: Sequence[float]) -> str:
    return "".join(f"<td>{mean:.2f}</td>" for mean in means)


def _errors(c: Comparison, a: str, b: str) -> str:
    """The Venn diagram of the questions that are wrong, and their numbers."""
    errors, share = c.errors, c.error_shares
    rows = [
        ("wrong in both", "both"),
        (f"wrong only in {a}", "only_a"),
        (f"wrong only in {b}", "only_b"),
        ("wrong in neither", "neither"),
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
