"""The plots of the pages on the program, its models and its speed, from the raw figures under results/."""

from __future__ import annotations

from matplotlib.axes import Axes

from support.charts import FAINT, OTHER, OURS, SECOND, bars, bars_with_errors, paired_bars, read, triple_bars


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
