"""The plots of the pages on methods of the papers, from the raw figures under results/."""

from __future__ import annotations

from statistics import mean

from matplotlib.axes import Axes

from support.charts import INK, OTHER, OURS, SECOND, bars, bars_with_errors, paired_bars, read, triple_bars

WIDTH_96 = {"SQuAD": "squad-reqa", "NQ": "nq-nq"}
"""The collections of the page on silver pairs, and their files."""
_OVER_GOLD = "mrr over dense, gold"


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
    """Draw what each use of the classifier gains in a dual encoder of width 96 over the gold pairs alone, three seeds."""
    runs = {name: read(f"silver/{file}-96-wide-3-seeds.json")["runs"] for name, file in WIDTH_96.items()}
    uses = {
        "hard negatives\n(no classifier)": "dense, + mined negatives",
        "soft labels": "dense, + soft labels",
        "silver pairs, w = p²": "dense, + silver, w = p^2",
        "silver pairs, w = 1": "dense, + silver, w = 1",
        "silver pairs alone": "dense, silver alone",
    }
    for offset, (name, colour, marker) in enumerate(zip(runs, (OURS, SECOND), ("o", "s"), strict=False)):
        gains = {
            row - 0.1 + 0.2 * offset: runs[name][use][_OVER_GOLD]
            for row, use in enumerate(uses.values())
            if use in runs[name]
        }
        means = [100 * gain["mean"] for gain in gains.values()]
        below = [100 * (gain["mean"] - gain["low"]) for gain in gains.values()]
        above = [100 * (gain["high"] - gain["mean"]) for gain in gains.values()]
        axes.errorbar(means, [*gains], xerr=[below, above], fmt=marker, color=colour, capsize=3, markersize=6, label=name)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_yticks(range(len(uses)), list(uses))
    axes.set_ylim(len(uses) - 0.5, -0.5)
    axes.set_xlabel("MRR gained over training on gold pairs alone (95% over questions)")
    axes.legend(loc="upper right")


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
    names |= {f"K = 5, M = {m}": f"M = {m}, marked: alone, K = 5" for m in (2, 12, 25, 40)}
    names |= {
        "K = 5, span not marked": "M = 6, unmarked: alone, K = 5",
        "K = 5, span appended": "M = 6, appended: alone, K = 5",
    }
    exact = [rows[row]["em"] for row in names.values()]
    means, deviations = [mean(values) for *_, values in exact], [deviation for _, deviation, _ in exact]
    labels = ["reader alone", *names]
    colours = [OTHER] + [OURS] * 6 + [SECOND] * (len(names) - 6)
    bars_with_errors(axes, labels, [rows["reader"]["em"], *means], [0, *deviations], colours)
    axes.set(xlabel="exact match (%), 300 questions of SQuAD dev, three seeds", xlim=(0, 80))


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


def shared_errors(axes: Axes) -> None:
    judged = read("openqa/shared_errors.json")["judged"]
    colours = [SECOND if name in ("boundaries", "another right answer") else OTHER for name in judged]
    bars(axes, list(judged), list(judged.values()), colours, "{:.0f}")
    axes.set(xlabel="of fifty questions that dense and sparse retrieval both fail (blue: answered right)", xlim=(0, 25))


def published_gains(axes: Axes) -> None:
    """Draw what each method gains over its baseline, in the papers' points of MRR, EM or R@5, and here."""
    silver = {
        name: 100 * read(f"silver/{file}-96-wide-3-seeds.json")["runs"]["dense, + silver, w = p^2"][_OVER_GOLD]["mean"]
        for name, file in WIDTH_96.items()
    }
    endx = read("endx/squad.json")["rows"]
    spans = read("reconsider/large.json")["nq"]
    pretraining = read("proqa/pretraining-squad.json")["rows"]
    rows = {
        "silver pairs, NQ": (7.0, silver["NQ"]),
        "silver pairs, SQuAD": (0.9, silver["SQuAD"]),
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
