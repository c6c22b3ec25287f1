"""A run as one self-contained HTML page: metrics, published figures, a curve, and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.evaluation.figures import rank_curve
from oreqa.evaluation.metrics import MEANING
from oreqa.evaluation.runs import QuestionResult
from oreqa.files import write_text
from oreqa.visible import counted

_PUBLISHED_QUESTIONS = 10539
"""Questions of both tasks; a run on fewer, drawn or held out, is a different task."""

# ReQA SQuAD dev, 10,250 candidates: ENDX (Table 2), R@N in percent.
_REQA_SQUAD = (
    ("BM25 (ENDX paper)", {"mrr": 52.96, "r@1": 45.81, "r@5": 61.31}),
    ("InferSent", {"mrr": 36.90, "r@1": 27.91, "r@5": 46.92}),
    ("USE-QA", {"mrr": 61.23, "r@1": 53.16, "r@5": 69.93}),
    ("Dual-VAEs", {"mrr": 61.48, "r@1": 55.01, "r@5": 68.49}),
    ("Cross-VAEs", {"mrr": 62.29, "r@1": 55.60, "r@5": 70.05}),
    ("Dual-BERT", {"mrr": 71.06, "r@1": 61.24, "r@5": 83.09}),
    ("ENDX-BERT", {"mrr": 73.43, "r@1": 63.94, "r@5": 85.18}),
)
# MultiReQA SQuAD dev, 10,642 candidates: cross-attention supervised augmentation (arXiv 2009.13815, Tables 3 and 4).
_MULTIREQA_SQUAD = (
    ("BM25 (augmentation paper)", {"mrr@100": 70.5, "p@1": 62.8}),
    ("USE-QA", {"mrr@100": 62.1, "p@1": 51.0}),
    ("USE-QA fine-tuned", {"mrr@100": 75.9, "p@1": 66.8}),
    ("Dual encoder", {"mrr@100": 72.8, "p@1": 62.8, "p@5": 85.4, "p@10": 91.0}),
    ("Dual encoder, augmented", {"mrr@100": 73.7, "p@1": 63.8, "p@5": 86.1, "p@10": 91.6}),
)
# SHA-256, computed by provenance.data_hash, of SQuAD's dev-v1.1.json with the candidates' boundaries.
_TASKS = {
    "8124914ec97487b88624f2a5ebc60523609cac3b4946a5038adf44f1e94457fa": _REQA_SQUAD,  # both files gzipped
    "fc1eaf1eceb8aae9f53cfcf54de1b697bf482ae53e942dca8dcb4468a93bb878": _REQA_SQUAD,  # both unpacked
    "e4697b12e0c6fec694ed9c0fb370e8edce7ac50c1da4695b47632c5cee6e596c": _MULTIREQA_SQUAD,
    "7102333918242a2ba75a2a10886eac53a89eae4409aa12f6104298c22136f46c": _MULTIREQA_SQUAD,
}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2733; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #dde3ea; text-align: right; vertical-align: top }
th:first-child, td:first-child, .text { text-align: left }
td.text { word-break: break-word }
mark { background: #fdeaa8; padding: 0 .15em }
tr.ours td { font-weight: 600; background: #eef6ee }
.dim { color: #667 }
figure { margin: 1rem 0 }
svg, img { max-width: 100%; height: auto }
"""


def write_report(
    path: Path,
    summary: Mapping[str, Any],
    results: Sequence[QuestionResult],
    published: Sequence[tuple[str, Mapping[str, float]]] = (),
    figure: tuple[str, str] | None = None,
    examples: tuple[str, str] | None = None,
) -> None:
    """Write the page. ``published`` rows, of the same task, are shown below ours.

    ``figure`` is a title and an SVG, replacing the curve of ranks; ``examples`` are a title and HTML, replacing the
    failing questions.
    """
    shown = [name for name in MEANING if name in summary]
    metrics = "".join(
        f"<tr><td><b>{name}</b></td><td>{summary[name]:.2f}</td><td class='text dim'>{escape(MEANING[name])}</td></tr>"
        for name in shown
    )
    settings = "".join(
        f"<tr><td>{escape(str(k))}</td><td class=text>{escape(_shown(v))}</td></tr>"
        for k, v in {
            "model": summary["model"],
            "data (SHA-256)": summary["data_sha256"],
            **summary["settings"],
            "seconds": summary["seconds"],
            **summary["versions"],
        }.items()
    )
    title = run_title(summary)
    heading, svg = figure or ("How deep the first gold lies", rank_curve([result.ranks[0] for result in results]))
    example_heading, example_html = examples or ("Questions that fail", _failures(results))
    body = f"""<table><thead><tr><th>metric</th><th>percent</th><th></th></tr></thead><tbody>{metrics}</tbody></table>
{_comparison(summary, published) if published else ""}
<h2>{escape(heading)}</h2><figure>{svg}</figure>
<h2>{escape(example_heading)}</h2>{example_html}
<h2>Made with</h2><table>{settings}</table>"""
    write_page(path, title, body)


def _shown(value: Any) -> str:
    """Format a setting for people."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(part)}" for key, part in value.items()) or "–"
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    return str(value)


def run_title(summary: Mapping[str, Any]) -> str:
    """Return a run in one line: its task, its mode, its numbers of questions and candidates."""
    counts = [counted(summary[name], name.removesuffix("s")) for name in ("questions", "candidates") if name in summary]
    return f"{summary['task']} {summary['mode']}: {', '.join(counts)}"


def write_page(path: Path, title: str, body: str) -> None:
    """Write a page that needs no other file. ``body`` is HTML below the heading; the title is escaped here."""
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1>
{body}
</body></html>
"""
    write_text(path, page)


def _comparison(summary: Mapping[str, Any], published: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return our figures above published ones, for the metrics that any of them reports."""
    shown = [name for name in MEANING if name in summary and any(name in figures for _, figures in published)]
    rows = [_row(f"oreqa {summary['mode']}", summary, shown, "ours")]
    rows += [_row(name, figures, shown, "") for name, figures in published]
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    return f"""<h2>Beside published figures for the same candidates</h2>
<table><thead><tr><th>percent</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>"""


def _row(name: str, figures: Mapping[str, Any], shown: Sequence[str], kind: str) -> str:
    cells = "".join(f"<td>{figures[n]:.2f}</td>" if n in figures else "<td>–</td>" for n in shown)
    return f'<tr class="{kind}"><td>{escape(name)}</td>{cells}</tr>'


def _failures(results: Sequence[QuestionResult]) -> str:
    """Return 20 questions that were answered wrong, or whose first gold is not on top, evenly spread over all those."""
    failed = [result for result in results if not result.metrics.get("right", result.ranks[0] <= 1)]
    if not failed:
        return "<p>None.</p>"
    rows = []
    for result in failed[:: max(1, len(failed) // 20)][:20]:
        first = result.texts[0] if result.texts else "nothing"
        if result.answers or "refused" in result.metrics:
            answer = result.answers[0][0] if result.answers else "refused"
            first = f"{answer} (right: {'; '.join(filter(None, result.gold)) or 'no answer'})"
        rank = "not found" if np.isinf(result.ranks[0]) else f"{result.ranks[0]:g}"
        rows.append(f"<tr><td>{escape(result.question)}</td><td>{rank}</td><td class=text>{escape(first)}</td></tr>")
    head = "<tr><th>question</th><th>rank of gold</th><th class=text>found first</th></tr>"
    return f"<p class=dim>{len(failed):,} of {len(results):,}; a sample.</p><table>{head}{''.join(rows)}</table>"


def published_rows(data_sha256: str, questions: int) -> tuple[tuple[str, dict[str, float]], ...]:
    """Return published rows for the data with this hash and all of its questions; none for a task that no paper reports."""
    return _TASKS.get(data_sha256, ()) if questions == _PUBLISHED_QUESTIONS else ()
