"""Draw the plot at the top of each page of results from the raw figures under results/.

    python benchmarks/plots.py

The same figures give the same bytes. Published figures that are in no file of results/ are given here, with sources.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"

# Each colour on a light page, and its replacement on a dark one.
INK, DARK_INK = "#24292f", "#e6e8eb"
FAINT, DARK_FAINT = "#d0d7de", "#4a5058"
OURS, DARK_OURS = "#2e7d32", "#66bb6a"
OTHER, DARK_OTHER = "#8c959f", "#7d8590"
SECOND, DARK_SECOND = "#1565c0", "#64a5f0"
THIRD, DARK_THIRD = "#c77700", "#ffb74d"
DARK = {INK: DARK_INK, FAINT: DARK_FAINT, OURS: DARK_OURS, OTHER: DARK_OTHER, SECOND: DARK_SECOND, THIRD: DARK_THIRD}

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "oreqa",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.left": False,
    "legend.frameon": False,
}


def read(name: str) -> Any:
    return json.loads((ROOT / "results" / name).read_text(encoding="utf-8"))


def bars(axes: Axes, labels: Sequence[str], values: Sequence[float], colours: Sequence[str], form: str) -> None:
    """Draw horizontal bars from top to bottom, each with its value at its end."""
    places = range(len(labels))
    drawn = axes.barh(places, values, color=colours, height=0.62)
    axes.bar_label(drawn, labels=[form.format(value) for value in values], padding=4, color=INK)
    axes.set_yticks(places, labels)
    axes.invert_yaxis()


def bars_with_errors(
    axes: Axes, labels: Sequence[str], values: Sequence[float], errors: Sequence[float], colours: Sequence[str]
) -> None:
    """Draw horizontal bars from top to bottom, each with its error, and its value behind that."""
    places = range(len(labels))
    axes.barh(places, values, xerr=errors, color=colours, ecolor=INK, capsize=4, height=0.62)
    for place, value, error in zip(places, values, errors, strict=True):
        axes.text(value + error + 1, place, f"{value:.1f}", va="center")
    axes.set_yticks(places, labels)
    axes.invert_yaxis()


def retrieval(axes: Axes) -> None:
    """Draw MRR on ReQA SQuAD dev; the published rows are those of Wang et al., as in the page's table."""
    published = {
        "BM25, published": 52.96,
        "USE-QA, published": 61.23,
        "Dual-BERT, published": 71.06,
        "ENDX-BERT, published": 73.43,
    }
    measured = {
        f"oreqa, {mode}": read(f"fusion/reqa-squad-{mode}/metrics.json")["mrr"] for mode in ("dense", "sparse", "hybrid")
    }
    rows = {**published, **measured}
    colours = [OTHER] * len(published) + [OURS] * len(measured)
    bars(axes, list(rows), list(rows.values()), colours, "{:.1f}")
    axes.set(xlabel="MRR on ReQA SQuAD dev, 10,250 candidate sentences", xlim=(0, 100))


def reranking(axes: Axes) -> None:
    """Draw hybrid search with the packaged encoder before and after re-ranking, by the weight that ships (on SQuAD 0.3)."""
    before, runs = read("retriever/general.json")["packaged"], "augmentation/{}-reranked/metrics.json"
    places = {
        "ReQA SQuAD dev": ("squad dev", "reqa-squad"),
        "NQ, held-out articles": ("nq held out", "nq"),
        "SelQA test": ("selqa test", "selqa"),
        "MedQuAD test": ("medquad test", "medquad"),
    }
    scores = {
        "hybrid search": [before[place]["hybrid"]["after"] for place, _ in places.values()],
        "re-ranked": [read(runs.format(name))["mrr"] for _, name in places.values()],
    }
    paired_bars(axes, list(places), scores, "{:.1f}")
    axes.set(xlabel="MRR of the answer's sentence", xlim=(0, 110))


def silver_pairs(axes: Axes) -> None:
    """Draw what each use of the classifier gains in a dual encoder, compared with training on the gold pairs alone."""
    one_seed = {"SQuAD": "squad-reqa", "NQ": "nq-nq", "MedQuAD": "medquad-test-medquad-classifier"}
    three_seeds = {"SQuAD": "squad-reqa-3-seeds", "NQ": "nq-nq-3-seeds"}
    uses = {
        "hard negatives\n(no classifier)": "dense, + mined negatives",
        "soft labels": "dense, + soft labels",
        "silver pairs": "dense, + silver, w = p^2",
    }
    styles = {"SQuAD": (OURS, "o"), "NQ": (SECOND, "s"), "MedQuAD": (THIRD, "D")}
    for offset, name in enumerate(one_seed):
        single = read(f"silver/{one_seed[name]}.json")["runs"]
        several = read(f"silver/{three_seeds[name]}.json")["runs"] if name in three_seeds else {}
        gains = [(several if key in several else single)[key]["mrr over dense, gold"] for key in uses.values()]
        means = [100 * gain["mean"] for gain in gains]
        below = [100 * (gain["mean"] - gain["low"]) for gain in gains]
        above = [100 * (gain["high"] - gain["mean"]) for gain in gains]
        places = [row + 0.2 * (offset - 1) for row in range(len(uses))]
        colour, marker = styles[name]
        axes.errorbar(means, places, xerr=[below, above], fmt=marker, color=colour, capsize=3, markersize=6, label=name)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_yticks(range(len(uses)), list(uses))
    axes.set_ylim(len(uses) - 0.5, -0.5)
    axes.set_xlabel("MRR gained over training on gold pairs alone (95% interval)")
    axes.legend(loc="lower right")


def reading(axes: Axes) -> None:
    rows = read("reconsider/large.json")["squad"]
    names = {
        "reader alone": "reader",
        "+ identical answers summed": "reader + aggregation",
        "+ retrieval score": "reader + retrieval + aggregation",
        "+ span re-ranker": "M = 6, marked: combined, K = 5",
        "span re-ranker alone, K = 5": "M = 6, marked: alone, K = 5",
    }
    exact = [rows[key]["em"] for key in names.values()]
    values = [em[0] if isinstance(em, list) else em for em in exact]
    bars(axes, list(names), values, [OURS] * 4 + [OTHER], "{:.1f}")
    label = "a right answer among the reader's first five"
    axes.axvline(rows["reader"]["em@5"], color=SECOND, linewidth=1.5, linestyle="--", label=label)
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), fontsize=9)
    axes.set(xlabel="exact match (%), 1,000 questions of SQuAD dev", xlim=(0, 100))


def spans(axes: Axes) -> None:
    """Draw a re-ranker's exact match by K, M and the form of spans, with the deviation over seeds."""
    rows = read("spans/ablations.json")["squad"]
    base = "M = 6, marked"
    names = {f"K = {k}": f"{base}: alone, K = {k}" for k in (2, 3, 5, 10, 15, 25)}
    names |= {f"K = 5, M = {m}": f"M = {m}, marked: alone, K = 5" for m in (2, 12)}
    names |= {
        "K = 5, span not marked": "M = 6, unmarked: alone, K = 5",
        "K = 5, span appended": "M = 6, appended: alone, K = 5",
    }
    exact = [rows[row]["em"] for row in names.values()]
    means, deviations = [mean(of_seeds) for *_, of_seeds in exact], [deviation for _, deviation, _ in exact]
    labels = ["reader alone", *names]
    colours = [OTHER] + [OURS] * 6 + [SECOND] * (len(names) - 6)
    bars_with_errors(axes, labels, [rows["reader"]["em"], *means], [0, *deviations], colours)
    axes.set(xlabel="exact match (%), 300 questions of SQuAD dev, three seeds", xlim=(0, 80))


def confidence(axes: Axes) -> None:
    figures = read("confidence/sentences.json")
    names = {
        "squad-train-pieces": "SQuAD train pieces",
        "qed-nq-train": "NQ (QED)",
        "afriqa-en": "AfriQA, English",
        "fairytaleqa": "FairytaleQA",
        "covidqa-passages": "COVID-QA",
        "timeqa-human": "TimeQA",
    }
    sets = {names[key]: row for key, row in figures["left_out"].items()}
    sets["SQuAD 2.0 dev"] = figures["squad-v2.0-dev, fitted"]
    places = range(len(sets))
    refused = [row["abstains, unanswerable"] for row in sets.values()]
    answered = [row["answers, answerable"] for row in sets.values()]
    axes.hlines(places, refused, answered, color=FAINT, linewidth=3)
    axes.plot(refused, places, "o", color=OURS, markersize=9, label="unanswerable questions refused")
    axes.plot(answered, places, "s", color=SECOND, markersize=8, label="answerable questions answered")
    axes.set_yticks(places, list(sets))
    axes.invert_yaxis()
    axes.set(xlabel="% of the questions", xlim=(50, 100))
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2, fontsize=9, columnspacing=1)


def documents(axes: Axes) -> None:
    systems = {"first models": "earlier-fresh", "fast": "now-fast-fresh", "best": "now-best-fresh"}
    runs = {name: read(f"documents/{file}.json")["metrics"] for name, file in systems.items()}
    names = {
        "answerable questions\nanswered right": "answerable_right",
        "answer in the five\npassages read": "acc@5",
        "answers given\nthat are right": "precision",
        "unanswerable\nquestions refused": "refused_unanswerable",
    }
    series = {run: [metrics[key] for key in names.values()] for run, metrics in runs.items()}
    triple_bars(axes, list(names), series, (OTHER, SECOND, OURS), "{:.0f}")
    axes.set(xlabel="%, 150 fresh questions about six packages", xlim=(0, 109))
    axes.set_xticks(range(0, 101, 20))
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=3)


def speed(axes: Axes) -> None:
    warm, search, train = read("speed/reading.json")["warm"], read("speed/search.json"), read("speed/train.json")
    rows = {
        "search, vs Haystack": search["haystack 3.4.0"]["oreqa is faster by"],
        "cold question, vs script": 1 / read("speed/cold_ask.json")["wall_ratio_median"],
        "re-ranking, vs CrossEncoder": read("speed/rerank.json")["ratio_median"],
        "encoding,\nvs sentence-transformers": read("speed/encode.json")["paragraphs"]["ratio_median"],
        "training on SQuAD,\nvs sentence-transformers": train["sentences"]["ratio_median"],
        "reading, vs Haystack": warm["haystack 2.31.0"]["oreqa is faster by"],
        "search, vs txtai": search["txtai 9.14.0"]["oreqa is faster by"],
        "reading, vs transformers": warm["transformers 5.2.0"]["oreqa is faster by"],
        "training,\nvs sentence-transformers": train["passages"]["ratio_median"],
    }
    bars(axes, list(rows), list(rows.values()), [OURS] * len(rows), "{:.1f}×")
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20], ["1×", "2×", "5×", "10×", "20×"])
    axes.tick_params(axis="x", which="minor", bottom=False)
    axes.set(xlabel="times as fast on two CPU cores (1× = equally fast)", xlim=(1, 40))


def paired_bars(axes: Axes, labels: Sequence[str], series: Mapping[str, Sequence[float]], form: str) -> None:
    """Draw two horizontal bars for each label, from top to bottom, each with its value at its end."""
    for offset, ((name, values), colour) in enumerate(zip(series.items(), (OTHER, OURS), strict=True)):
        drawn = axes.barh([row + 0.36 * offset for row in range(len(labels))], values, height=0.34, color=colour, label=name)
        axes.bar_label(drawn, fmt=form, padding=4, color=INK)
    axes.set_yticks([row + 0.18 for row in range(len(labels))], list(labels))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)


def triple_bars(
    axes: Axes, labels: Sequence[str], series: Mapping[str, Sequence[float]], colours: Sequence[str], form: str
) -> None:
    """Draw three horizontal bars for each label, from top to bottom, each with its value at its end."""
    for place, ((name, values), colour) in enumerate(zip(series.items(), colours, strict=True)):
        drawn = axes.barh([row + 0.27 * place for row in range(len(labels))], values, height=0.25, color=colour, label=name)
        axes.bar_label(drawn, fmt=form, padding=4, color=INK)
    axes.set_yticks([row + 0.27 for row in range(len(labels))], list(labels))
    axes.invert_yaxis()


def pretraining(axes: Axes) -> None:
    collections = {"squad": "SQuAD dev", "nq": "NQ, held out", "medquad": "MedQuAD test"}
    rows = {name: read(f"proqa/pretraining-{file}.json")["rows"] for file, name in collections.items()}
    systems = {"before": "before", "distinct": "at random", "clusters": "in clusters"}
    series = {label: [collection[system]["mrr"][0] for collection in rows.values()] for system, label in systems.items()}
    triple_bars(axes, list(rows), series, (OTHER, SECOND, OURS), "{:.1f}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.35, 1), ncols=3)
    axes.set(xlabel="MRR of people's questions, by vectors alone", xlim=(0, 110))


def candidates(axes: Axes) -> None:
    rows = read("generator/answer_candidates.json")["squad-v1.1-dev"]
    names = ("extractor and rules", "extractor", "spaCy, then rules", "spaCy", "rules")
    paired_bars(axes, names, {f"first {k}": [rows[name][f"exact@{k}"] for name in names] for k in (5, 10)}, "{:.1f}")
    axes.set(xlabel="answers of SQuAD dev among a paragraph's candidates (%)", xlim=(0, 100))


def teaching(axes: Axes) -> None:
    places = {
        "GRU, raw products, SQuAD": ("squad", "gru", "_dot"),
        "GRU, raw products, NQ": ("nq", "gru", "_dot"),
        "GRU, raw products, MedQuAD": ("medquad", "gru", "_dot"),
        "GRU, SQuAD": ("squad", "gru", ""),
        "GRU, MedQuAD": ("medquad", "gru", ""),
        "GRU, NQ": ("nq", "gru", ""),
        "LSTM, SQuAD": ("squad", "lstm", ""),
        "Transformer, SQuAD": ("squad", "transformer", ""),
        "MiniLM, SQuAD": ("squad", "bert", ""),
        "MiniLM, NQ": ("nq", "bert", ""),
        "MiniLM, MedQuAD": ("medquad", "bert", ""),
    }
    systems = {"dual encoder alone": "dual", "taught by a cross-encoder": "endx"}
    scores = {
        name: [
            read(f"endx/{file}.json")["rows"][f"{encoder} {system}{kind}"]["mrr"][0]
            for file, encoder, kind in places.values()
        ]
        for name, system in systems.items()
    }
    paired_bars(axes, list(places), scores, "{:.1f}")
    axes.set(xlabel="MRR of the answer's sentence", xlim=(0, 100))


def kernels(axes: Axes) -> None:
    """Draw what teaches a GRU of width 96 with unit vectors, with the deviation over seeds."""
    names = {
        "no teacher": "dual",
        "ENDX": "endx",
        "scale 40 for the cross-encoder": "endx_x2",
        "eight widths, medians": "endx_medians",
        "eight widths, learned": "endx_all_widths",
        "the dual encoder's widths, learned": "endx_dual_widths",
        "regression on vectors": "endx_regression_tenth",
    }
    rows = read("kernels/squad_96_wide.json")["rows"]
    means, deviations = zip(*(rows[f"gru {system}"]["mrr"] for system in names.values()), strict=True)
    bars_with_errors(axes, list(names), means, deviations, [OTHER] + [OURS] * (len(names) - 1))
    axes.set(xlabel="MRR on ReQA SQuAD dev, three seeds", xlim=(0, 45))


def separations(axes: Axes) -> None:
    models = read("geometry/60-answers.json")["models"]
    systems = {"dual encoder alone": "alone", "its cross-encoder": "ENDX, cross", "taught by it (ENDX)": "ENDX"}
    kinds = {
        "raw, question and question": ("raw", "question_question"),
        "raw, question and answer": ("raw", "question_answer"),
        "unit, question and question": ("unit", "question_question"),
        "unit, question and answer": ("unit", "question_answer"),
    }
    series = {
        label: [models[f"{vectors}, {system}"][kind]["separation"] for vectors, kind in kinds.values()]
        for label, system in systems.items()
    }
    triple_bars(axes, list(kinds), series, (OTHER, SECOND, OURS), "{:.2f}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.3, 1), ncols=3, fontsize=9, columnspacing=1)
    axes.set(xlabel="separation of sixty answers, in standard deviations", xlim=(0, 4))


def retriever(axes: Axes) -> None:
    places = {
        "ReQA SQuAD dev": "squad dev",
        "NQ, held-out articles": "nq held out",
        "AfriQA, held-out articles": "afriqa held out",
        "SelQA test": "selqa test",
        "PubMedQA test": "pubmedqa test",
        "MedQuAD test": "medquad test",
    }
    rows = read("retriever/general.json")["packaged"]
    names = {"all-MiniLM-L6-v2": "before", "minilm-retriever": "after"}
    scores = {name: [rows[place]["hybrid"][key] for place in places.values()] for name, key in names.items()}
    paired_bars(axes, list(places), scores, "{:.1f}")
    axes.set(xlabel="MRR of the answer's sentence, hybrid search", xlim=(0, 110))


def adaptation(axes: Axes) -> None:
    tasks = {"medquad": "MedQuAD, adapted to it", "selqa": "SelQA", "nq": "NQ, held out"}
    scores = {when: [read(f"adapt/{task}-{when}/metrics.json")["mrr"] for task in tasks] for when in ("before", "after")}
    paired_bars(axes, list(tasks.values()), scores, "{:.1f}")
    axes.set(xlabel="MRR of questions that people asked, hybrid search", xlim=(0, 100))


def architectures(axes: Axes) -> None:
    names = ("BERT", "RoBERTa", "DistilBERT", "MPNet", "ELECTRA", "ModernBERT", "DeBERTa-v2")
    rows = read("models/architectures.json")
    by_precision = {name: [rows[f"{label.lower()}, reader, {name}"] for label in names] for name in ("i8", "bf16")}
    paired_bars(axes, names, by_precision, "%.3f")
    axes.set(xlabel="largest difference of a reader's logits from transformers' (f32: below 0.00001)", xlim=(0, 0.18))


def factors(axes: Axes) -> None:
    result = read("lora/training.json")
    rows, questions = result["rows"], result["settings"]["questions"]
    labels = [f"{name.replace('full', 'all weights')}, {row['size_mb']:.0f} MB" for name, row in rows.items()]
    matches = [row["em"] for row in rows.values()]
    errors = [(match * (100 - match) / questions) ** 0.5 for match in matches]
    bars_with_errors(axes, labels, matches, errors, [OTHER, OURS, OURS])
    axes.set(xlabel="exact match (%) after 120 steps, with its standard error", xlim=(0, 60))


def capacity(axes: Axes) -> None:
    row = read("capacity/costs.json")["collections"][-1]
    names = {"vectors": ("passages.npy", "sentences.npy"), "words": ("passages.words.npy", "sentences.words.npy"),
             "texts, places and names": ("documents.db",), "numbers": ("passage_ids.npy", "sentence_ids.npy",
             "sentence_rows.npy")}  # fmt: skip
    sizes = [sum(row["bytes"][file] for file in files) / row["passages"] for files in names.values()]
    bars(axes, list(names), sizes, [OURS] * len(names), "{:,.0f}")
    axes.set(xlabel=f"bytes a passage, of {row['passages']:,} passages", xlim=(0, 2600))


def faults(axes: Axes) -> None:
    classes = read("faults/classes.json")["classes"]
    shares = {
        when: [100 * row[f"right {when}"] / row[f"tried {when}"] for row in classes.values()] for when in ("before", "now")
    }
    paired_bars(axes, list(classes), shares, "{:.0f}")
    axes.set(xlabel="cases that end right (%)", xlim=(0, 112))


def files(axes: Axes) -> None:
    rows = {name: row["recall"] for name, row in read("files/extraction.json").items() if isinstance(row, dict)}
    bars(axes, list(rows), list(rows.values()), [OURS] * len(rows), "{:.1f}")
    axes.set(xlabel="words of the other program that oreqa reads (%)", xlim=(95, 101))


def serving(axes: Axes) -> None:
    places, boxes = read("serving/places.json"), read("serving/boxes.json")
    shares = {
        "anchor of the link is there": places["anchors_percent"],
        "words of the link stand behind it": places["text_percent"],
        "headings above a paragraph": places["headings_percent"],
        "letters in the rectangles": boxes["equal_percent"],
    }
    bars(axes, list(shares), list(shares.values()), [OURS] * len(shares), "{:.1f}")
    axes.set(xlabel="as another program says (%)", xlim=(0, 112))


def blocks(axes: Axes) -> None:
    readers = read("blocks/howto-reporting.json")["readers"]
    shown = {"sentence": "the answer's sentence", "passage": "its passage", "block": "the block around it"}
    series = {name: [readers[name][key]["f1"] for key in shown] for name in ("minilm-reader", "mpnet-reader")}
    paired_bars(axes, list(shown.values()), series, "{:.0f}")
    axes.set(xlabel="F1 of sentences (%), 50 how-to, why and list questions", xlim=(0, 50))


def follow_ups(axes: Axes) -> None:
    result = read("chat/reporting.json")
    names = {"bare": "as typed", "carried": "completed by rule", "written out": "written out in full"}
    right = [100 * result["right"][way] / result["pairs"] for way in names]
    bars(axes, list(names.values()), right, [OTHER, OURS, OTHER], "{:.0f}")
    axes.set(xlabel="follow-up questions that are answered right (%)", xlim=(0, 100))


def shared_errors(axes: Axes) -> None:
    judged = read("openqa/shared_errors.json")["judged"]
    colours = [SECOND if name in ("boundaries", "another right answer") else OTHER for name in judged]
    bars(axes, list(judged), list(judged.values()), colours, "{:.0f}")
    axes.set(xlabel="of fifty questions that dense and sparse retrieval both fail (blue: answered right)", xlim=(0, 25))


def published_gains(axes: Axes) -> None:
    """Draw what each method gains over its baseline, in the papers' points of MRR, EM or R@5, and here."""
    silver = read("silver/squad-reqa-96-wide-3-seeds.json")["runs"]["dense, + silver, w = p^2"]
    endx = read("endx/squad.json")["rows"]
    spans = read("reconsider/large.json")["nq"]
    pretraining = read("proqa/pretraining-squad.json")["rows"]
    rows = {
        "silver pairs, SQuAD": (0.9, 100 * silver["mrr over dense, gold"]["mean"]),
        "ENDX, GRU, raw": (3.41, endx["gru endx_dot"]["mrr"][0] - endx["gru dual_dot"]["mrr"][0]),
        "span re-ranker alone, NQ": (
            1.6,
            spans["M = 6, marked: alone, K = 5"]["em"][0] - spans["reader"]["em"],
        ),
        "clusters over random": (9.1, pretraining["clusters"]["r@5"][0] - pretraining["distinct"]["r@5"][0]),
    }
    gains = {name: [values[place] for values in rows.values()] for place, name in enumerate(("published", "here"))}
    paired_bars(axes, list(rows), gains, "{:+.1f}")
    axes.set(xlabel="points of MRR, EM (re-ranker) or R@5 (clusters) gained", xlim=(-10, 12))


def added_in_turn(axes: Axes) -> None:
    collections = {"nq": "NQ, held out", "covidqa": "COVID-QA", "medquad": "MedQuAD"}
    rows = {name: read(f"unlabelled/{file}.json")["mrr"] for file, name in collections.items()}
    systems = {"before": "before", "generated": "generated questions", "+ alignment": "the other methods added"}
    series = {label: [mrr[system][0] for mrr in rows.values()] for system, label in systems.items()}
    triple_bars(axes, list(rows), series, (OTHER, OURS, SECOND), "{:.1f}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.35, 1), ncols=3)
    axes.set(xlabel="MRR of questions that people asked, by vectors alone", xlim=(0, 100))


PLOTS: dict[str, tuple[Callable[[Axes], None], float]] = {
    "fusion": (retrieval, 3.2),
    "augmentation": (reranking, 2.8),
    "silver": (silver_pairs, 3.2),
    "reconsider": (reading, 3.0),
    "spans": (spans, 4.2),
    "confidence": (confidence, 3.6),
    "generator": (candidates, 3.2),
    "proqa": (pretraining, 3.2),
    "endx": (teaching, 6.0),
    "kernels": (kernels, 3.2),
    "geometry": (separations, 4.0),
    "adapt": (adaptation, 2.6),
    "retriever": (retriever, 3.3),
    "documents": (documents, 4.2),
    "blocks": (blocks, 3.0),
    "files": (files, 4.4),
    "speed": (speed, 4.4),
    "models": (architectures, 4.4),
    "lora": (factors, 2.0),
    "faults": (faults, 5.4),
    "capacity": (capacity, 2.0),
    "serving": (serving, 2.4),
    "chat": (follow_ups, 1.8),
    "papers": (published_gains, 4.0),
    "openqa": (shared_errors, 2.8),
    "unlabelled": (added_in_turn, 3.2),
}


def svg(draw: Callable[[Axes], None], height: float) -> str:
    """Return the plot as an SVG file whose colours adapt to a dark page, without date or random identifiers."""
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        figure = Figure(figsize=(6.4, height), layout="constrained")
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    rules = "".join(
        f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }}\n'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{rules}}}</style>\n"
    text = file.getvalue()
    return text.replace("<defs>", f"{style}<defs>", 1)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name, (draw, height) in PLOTS.items():
        (IMAGES / f"{name}.svg").write_text(svg(draw, height), encoding="utf-8")


if __name__ == "__main__":
    main()
