"""Tasks with known answers, measured: metrics, significance, the files of a run, and its report.

Each function does what the command of its name does (``oreqa eval reqa`` is ``evaluate_reqa``): it writes the run's files
and returns what metrics.json holds. They are imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.evaluation.answers import evaluate_answers
    from oreqa.evaluation.classifier import evaluate_classifier
    from oreqa.evaluation.compare import compare_runs
    from oreqa.evaluation.compare_report import write_comparison
    from oreqa.evaluation.generator import evaluate_generator
    from oreqa.evaluation.openqa import evaluate_openqa
    from oreqa.evaluation.recall import evaluate_recall
    from oreqa.evaluation.retrieval import evaluate_beir, evaluate_reqa
    from oreqa.evaluation.runs import load_run

__all__ = [
    "compare_runs",
    "evaluate_answers",
    "evaluate_beir",
    "evaluate_classifier",
    "evaluate_generator",
    "evaluate_openqa",
    "evaluate_recall",
    "evaluate_reqa",
    "load_run",
    "write_comparison",
]

_HOMES = {
    "compare_runs": "compare",
    "evaluate_answers": "answers",
    "evaluate_beir": "retrieval",
    "evaluate_classifier": "classifier",
    "evaluate_generator": "generator",
    "evaluate_openqa": "openqa",
    "evaluate_recall": "recall",
    "evaluate_reqa": "retrieval",
    "load_run": "runs",
    "write_comparison": "compare_report",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"oreqa.evaluation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'oreqa.evaluation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
