"""The rows of docs/results/papers.md: a published figure, the place of ours under results/, and what both say together."""

from __future__ import annotations

from dataclasses import dataclass

Figure = tuple[str, ...]
"""A figure: the file under results/, and its keys in the file."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row. ``ours`` are figures, shown with arrows between them, like ``theirs``. Without any, nothing was run, and
    ``verdict`` says what a run would need. ``size`` gives our training pairs and questions; ``seeds`` counts trainings."""

    table: str
    system: str
    theirs: str
    ours: tuple[Figure, ...] = ()
    size: str = ""
    seeds: int | Figure = 1
    verdict: str = ""


def _endx(
    table: str, system: str, theirs: str, size: str, names: str, verdict: str, *, encoder: str = "gru", file: str = "squad"
) -> Row:
    """Return a row of endx.py: the systems ``names`` of an encoder, with the seeds of the last."""
    runs = [f"{encoder} {name}" for name in names.split()]
    path = f"{'kernels' if file == _NARROW else 'endx'}/{file}.json"
    ours = tuple((path, "rows", run, "mrr") for run in runs)
    return Row(table, system, theirs, ours, size, (path, "rows", runs[-1], "seeds"), verdict)


def _silver(file: str, *keys: str) -> Figure:
    return (f"silver/{file}-96-wide-3-seeds.json", *keys)


def _lists(row: str) -> Figure:
    return ("openqa/inverted_lists.json", "SQuAD dev and NQ", "rows", row, "hit rate")


_RAW, _UNIT, _NARROW = "dual_dot endx_dot", "dual endx", "squad_96_wide"
_LONG = "dual_four_epochs endx_four_epochs"
_MORE, _LESS = "3,000×4; 10,539", "1,500×4; 10,539"
"""Pairs seen, and questions."""
_ONE = "unclear"
"""The verdict on two trainings of one seed each, a few points apart."""
_SILVER = ("dense, gold", "dense, + silver, w = p^2")
_SPANS = "spans/ablations.json"
_LEARNED = "175; 300"
_LARGE, _ALONE = "reconsider/large.json", "M = 6, marked: alone, K = 5"
_SCORES = ("reader + retrieval + aggregation", "M = 6, marked: combined, K = 5")
_PRETRAINING = ("proqa/pretraining-squad.json", "rows")
_CURVE = ("proqa/pretraining-squad-96-wide-4.json",)

_PASSAGES = ("annotated", "found", "found elsewhere")

ROWS: dict[str, list[Row]] = {
    "augmentation": [
        Row(
            "2",
            "classifier, SQuAD: accuracy",
            "92.6",
            (("augmentation/classifier-squad/metrics.json", "acc"),),
            "45,000; 800",
            verdict="0.8 below BERT",
        ),
        Row(
            "2",
            "classifier, NQ: accuracy",
            "84.3",
            (("augmentation/classifier-nq/metrics.json", "acc"),),
            "45,000; 748",
            verdict="holds",
        ),
        Row(
            "3",
            "gold→silver, SQuAD, width 96",
            "72.8→73.7",
            tuple(_silver("squad-reqa", "runs", name, "mrr@100") for name in _SILVER),
            "500×8; 10,539",
            _silver("squad-reqa", "seeds"),
            "unclear: p 0.26",
        ),
        Row(
            "3",
            "gold→silver, NQ, width 96",
            "58.9→65.9",
            tuple(_silver("nq-nq", "runs", name, "mrr@100") for name in _SILVER),
            "500×8; 748",
            _silver("nq-nq", "seeds"),
            "holds: p 0.003",
        ),
        Row("2, 3", "BERT large; MultiReQA NQ", "93.6; 58.9→65.9", verdict="not run: GPU; MRQA's file"),
    ],
    "endx": [
        _endx("2", "RNN of 96, raw", "52.19→53.68", _LESS, _RAW, "unclear: p 0.22", encoder="rnn", file=_NARROW),
        _endx("2", "GRU, raw", "55.24→58.65", _MORE, _RAW, "holds: p 0.04"),
        _endx("2", "GRU of 96, raw", "", _LESS, _RAW, "holds: p 0.007", file=_NARROW),
        _endx("2", "GRU, unit", "", _MORE, _UNIT, "loses: p<0.001"),
        _endx("2", "LSTM, unit", "raw 58.77→61.00", _MORE, _UNIT, _ONE, encoder="lstm"),
        _endx("2", "Transformer, unit", "raw 62.58→63.73", _MORE, _UNIT, _ONE, encoder="transformer"),
        _endx("2", "BERT (here MiniLM), unit", "raw 71.06→73.43", "3,000; 10,539", _UNIT, _ONE, encoder="bert"),
        _endx("2", "MiniLM, four passes", "", _MORE, _LONG, "equal: p 0.93", encoder="bert"),
        _endx("3", "GRU, unit, MedQuAD", "", "3,000×4; 1,289", _UNIT, "gains: p 0.02", file="medquad"),
        _endx("3", "BERT (here MiniLM), unit, NQ", "raw 54.80→57.76", "3,000; 748", _UNIT, _ONE, encoder="bert", file="nq"),
        _endx("2", "GRU, unit, alone 55.74: Dual-VAE→Cross-VAE", "", _MORE, "dual_vae cross_vae", _ONE),
        Row("3", "HotpotQA, NewsQA", "", verdict="not run: MRQA's files"),
        Row(
            "4",
            "GRU (paper: BERT), raw, 8 questions",
            "60.19→64.93",
            tuple(("endx/squad.json", "answers_with_questions", "at least 8", f"gru {run}", "mrr") for run in _RAW.split()),
            "3,000×4; 381",
            ("endx/squad.json", "rows", "gru endx_dot", "seeds"),
            "holds: p 0.04",
        ),
        _endx(
            "5",
            "raw, without qq→aa→qa→aq (paper: BERT, NQ)",
            "−0.9 to −1.9",
            _MORE,
            " ".join(f"endx_dot_without_{term}" for term in ("qq", "aa", "qa", "aq")),
            _ONE,
        ),
        Row(
            "6",
            "ENDX (here minilm-retriever)→full attention",
            "76.44→79.82",
            tuple(
                ("geometry/full_attention.json", "rows", name, "mrr")
                for name in ("minilm-retriever", "full cross-attention")
            ),
            "16,000, 45,000; 65",
            1,
            "holds (65)",
        ),
    ],
    "reconsider": [
        Row(
            "1",
            "right among the first 1→5→10→25",
            "40.3→49.5→50.9→62.4",
            tuple(("reconsider/first-answers/metrics.json", f"em@{k}") for k in (1, 5, 10, 25)),
            "half of SQuAD; 500",
            verdict="holds",
        ),
        Row(
            "1",
            "DPR's reader, TREC: before→after",
            "",
            tuple(("reconsider/dpr_reader.json", "rows", name, "trec", "em") for name in ("before", "after")),
            "283; 200",
            verdict="unclear: p 0.25",
        ),
        Row(
            "2",
            "reader→re-ranker, SQuAD",
            "",
            ((_LARGE, "squad", "reader", "em"), (_LARGE, "squad", "M = 6, marked: alone, K = 5", "em")),
            "1,766; 1,000",
            (_LARGE, "seeds"),
            "loses",
        ),
        Row(
            "2",
            "reader→re-ranker, NQ",
            "41.5→43.1",
            ((_LARGE, "nq", "reader", "em"), (_LARGE, "nq", "M = 6, marked: alone, K = 5", "em")),
            "1,766; 748",
            (_LARGE, "seeds"),
            "loses",
        ),
        Row(
            "2",
            "reader→and retrieval→and re-ranker, SQuAD",
            "",
            tuple((_LARGE, "squad", name, "em") for name in ("reader", *_SCORES)),
            "1,766; 1,000",
            (_LARGE, "seeds"),
            "unclear: p 0.62, 0.15",
        ),
        Row(
            "§4",
            "small set: from the reader→from SQuAD's re-ranker, NQ",
            "",
            tuple((f"spans/{name}.json", "nq", _ALONE, "em") for name in ("small", "small-from-large")),
            "144; 300",
            ("spans/small.json", "seeds"),
            "holds, below reader",
        ),
        Row("2", "TriviaQA, WebQ, TREC; large", "", verdict="not run: Wikipedia, GPU"),
        Row(
            "5",
            "K: 3→5→10",
            "41.54→42.50→42.26",
            tuple((_SPANS, "squad", f"M = 6, marked: alone, K = {k}", "em") for k in (3, 5, 10)),
            _LEARNED,
            (_SPANS, "seeds"),
            "loses",
        ),
        Row(
            "6",
            "M: 6→25→40 (paper: 25→30→40)",
            "42.34→42.48→41.25",
            tuple((_SPANS, "squad", f"M = {m}, marked: alone, K = 5", "em") for m in (6, 25, 40)),
            _LEARNED,
            (_SPANS, "seeds"),
            "unclear",
        ),
    ],
    "proqa": [
        Row("1", "NQ, WebQ, TREC, EM", "37.4, 37.1, 34.6", verdict="not run: Wikipedia, GPU"),
        Row(
            "§3",
            "generator, ROUGE-L, NQ",
            "55.6",
            (("generator/search-held-out/metrics.json", "rouge_l_coco"),),
            "mixed; 748",
            verdict="6 below BART",
        ),
        Row(
            "§3",
            "generator, annotated→found→found elsewhere, ROUGE-L",
            "55.6→49.6",
            tuple(("generator/weak_generator.json", "rows", kind, "rouge_l_coco") for kind in _PASSAGES),
            "640×1; 300",
            ("generator/weak_generator.json", "seeds"),
            "98% the same passages",
        ),
        Row(
            "§3",
            "20 of 100 cells: hit rate, exact→lists",
            "",
            (_lists("exact"), _lists("20 of 100 cells")),
            "nothing; 10,539",
            ("openqa/inverted_lists.json", "SQuAD dev and NQ", "seeds"),
            "costs 2.3, 5 times as fast",
        ),
        Row(
            "3",
            "cloze→random→clusters, R@5",
            "20.4→42.9→52.0",
            tuple((*_PRETRAINING, name, "r@5") for name in ("cloze", "distinct", "clusters")),
            "5,000; 10,539",
            ("proqa/pretraining-squad.json", "seeds"),
            "order holds; clusters: p 0.18",
        ),
        Row(
            "3",
            "random→random, then clusters→clusters, R@5",
            "42.9→52.0",
            tuple(
                (*_CURVE, "rows", " then ".join((first, *[then] * 3)), "r@5")
                for first, then in (("distinct", "distinct"), ("distinct", "clusters"), ("clusters", "clusters"))
            ),
            "5,000×4; 10,539",
            (*_CURVE, "seeds"),
            "equal",
        ),
        Row(
            "§3",
            "5→10→20 passages read, Reddit, EM",
            "37.4→40.6",
            tuple((f"openqa/reddit-{count}-passages/metrics.json", "em") for count in (5, 10, 20)),
            "nothing; 500",
            verdict="holds: p 0.01",
        ),
        Row(
            "4",
            "shared→joint→separate, EM",
            "38.5→36.2→35.1",
            tuple(("openqa/objectives.json", "rows", name, "nq", "em") for name in ("shared", "joint", "separate")),
            "1,000; 499",
            verdict="unclear",
        ),
        Row(
            "Fig. 2",
            "% wrong with both→only dense→only sparse",
            "54.2→9.1→16.1",
            tuple(("openqa/shared_errors.json", "percent", name) for name in ("both", "only dense", "only sparse")),
            "half of SQuAD; 3,000",
            verdict="differ",
        ),
        Row(
            "§4",
            "of 50: boundaries→other labels→ambiguous",
            "7 labels, 8",
            tuple(
                ("openqa/shared_errors.json", "judged", name) for name in ("boundaries", "another right answer", "ambiguous")
            ),
            "one language model",
            verdict="holds",
        ),
    ],
}
"""Rows by the page that explains them, in the order of its paper's tables."""
