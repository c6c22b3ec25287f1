"""Evaluates on tasks with known answers: metrics, significance, the files of a run, and its report.

Each function does what the command with its name does (``oreqa eval reqa`` is ``evaluate_reqa``): it writes the run's files
and returns the content of metrics.json. They are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oreqa.lazy import lazy_names

if TYPE_CHECKING:
    from oreqa.evaluation.answers import evaluate_answers as evaluate_answers
    from oreqa.evaluation.classifier import evaluate_classifier as evaluate_classifier
    from oreqa.evaluation.compare import compare_runs as compare_runs
    from oreqa.evaluation.compare import write_comparison as write_comparison
    from oreqa.evaluation.generator import evaluate_generator as evaluate_generator
    from oreqa.evaluation.marks import MarksReport as MarksReport
    from oreqa.evaluation.marks import measure_marks as measure_marks
    from oreqa.evaluation.marks import write_marks as write_marks
    from oreqa.evaluation.openqa import evaluate_openqa as evaluate_openqa
    from oreqa.evaluation.outcomes import AskedQuestion as AskedQuestion
    from oreqa.evaluation.outcomes import RegressionReport as RegressionReport
    from oreqa.evaluation.regression import regression_test as regression_test
    from oreqa.evaluation.retrieval import evaluate_beir as evaluate_beir
    from oreqa.evaluation.retrieval import evaluate_reqa as evaluate_reqa
    from oreqa.evaluation.runs import load_run as load_run

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
