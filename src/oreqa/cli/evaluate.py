"""``oreqa eval``: measure tasks whose answers are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli.application import app
from oreqa.cli.options import (
    ClassifierOption,
    CountOption,
    DecodingOption,
    DeviceOption,
    GeneratorOption,
    HeldOutFlag,
    HitRerankerOption,
    IndexOption,
    JsonFlag,
    ModelOption,
    ModeOption,
    OutOption,
    PrecisionOption,
    RerankHitsOption,
    SeedOption,
    TaskIndexOption,
)
from oreqa.cli.output import print_json, read_lines, say
from oreqa.cli.progress import progress_bar
from oreqa.cli.runs import print_run
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_GENERATOR

evaluate = typer.Typer(no_args_is_help=True, help="Measure a task.")
app.add_typer(evaluate, name="eval")


@evaluate.command()
def reqa(
    data: Annotated[Path, typer.Option(help="SQuAD (.json) or MRQA (.jsonl) file, plain or gzipped.")],
    out: OutOption,
    sentences: Annotated[
        Path | None,
        typer.Option(help="Sentence boundaries of the candidates; default: oreqa's splitter."),
    ] = None,
    mode: ModeOption = "hybrid",
    model: ModelOption = DEFAULT_ENCODER,
    index: TaskIndexOption = None,
    rerank_hits: RerankHitsOption = 0,
    hit_reranker: HitRerankerOption = DEFAULT_CLASSIFIER,
    held_out: HeldOutFlag = False,
    min_questions: Annotated[
        int, typer.Option(min=1, help="Ask only about answer sentences that have at least this many questions.")
    ] = 1,
    questions: CountOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Retrieve the answer sentence among all sentences (ReQA, MultiReQA).

    [bold]oreqa eval reqa --data dev.json --mode hybrid --out runs/dev[/bold]
    """
    from oreqa.evaluation import evaluate_reqa

    summary = evaluate_reqa(
        data,
        out,
        sentences=sentences,
        mode=mode,
        model=model,
        index=index,
        rerank_hits=rerank_hits,
        hit_reranker=hit_reranker,
        held_out=held_out,
        min_questions=min_questions,
        questions=questions,
        seed=seed,
        device=device,
        progress=progress_bar,
    )
    print_run(summary, out, as_json)


@evaluate.command()
def beir(
    data: Annotated[Path, typer.Option(help="BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.")],
    out: OutOption,
    split: Annotated[str, typer.Option(help="Name of the judged questions.")] = "test",
    mode: ModeOption = "hybrid",
    model: ModelOption = DEFAULT_ENCODER,
    index: TaskIndexOption = None,
    rerank_hits: RerankHitsOption = 0,
    hit_reranker: HitRerankerOption = DEFAULT_CLASSIFIER,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Retrieve documents for judged questions (BEIR).

    [bold]oreqa eval beir --data selqa --split test --out runs/selqa[/bold]
    """
    from oreqa.evaluation import evaluate_beir

    summary = evaluate_beir(
        data,
        out,
        split=split,
        mode=mode,
        model=model,
        index=index,
        rerank_hits=rerank_hits,
        hit_reranker=hit_reranker,
        seed=seed,
        device=device,
        progress=progress_bar,
    )
    print_run(summary, out, as_json)


@evaluate.command("classifier")
def classifier_command(
    data: Annotated[Path, typer.Option(help="Pairs with negatives (.jsonl), from oreqa mine negatives.")],
    out: OutOption,
    classifier: ClassifierOption = DEFAULT_CLASSIFIER,
    model: ModelOption = DEFAULT_ENCODER,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Separate answers from other sentences: accuracy and AUC-PR, against guessing and the dual encoder's cosine.

    [bold]oreqa eval classifier --data pairs.jsonl --classifier runs/classifier --out runs/classified[/bold]
    """
    from oreqa.evaluation import evaluate_classifier

    summary = evaluate_classifier(data, out, classifier=classifier, model=model, device=device, progress=progress_bar)
    print_run(summary, out, as_json)


@evaluate.command("generator")
def generator_command(
    data: Annotated[Path, typer.Option(help="SQuAD (.json) or MRQA (.jsonl) file, plain or gzipped.")],
    out: OutOption,
    generator: GeneratorOption = DEFAULT_GENERATOR,
    style: Annotated[str | None, typer.Option(help="Kind of questions.", show_default="the generator's first")] = None,
    decoding: DecodingOption = "greedy",
    held_out: HeldOutFlag = False,
    questions: CountOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare generated questions with those that people asked about the same answers: ROUGE-L and BLEU-4.

    [bold]oreqa eval generator --data dev.json --out runs/generated[/bold]
    """
    from oreqa.evaluation import evaluate_generator

    summary = evaluate_generator(
        data,
        out,
        generator=generator,
        style=style,
        decoding=decoding,
        held_out=held_out,
        questions=questions,
        seed=seed,
        device=device,
        progress=progress_bar,
    )
    print_run(summary, out, as_json)


@evaluate.command()
def recall(
    index: IndexOption,
    questions: Annotated[Path | None, typer.Option(help="Questions, one a line.", show_default="its own sentences")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Nearest neighbours to compare.")] = 10,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure an index's FAISS search: the share of the exact nearest neighbours that it finds.

    [bold]oreqa eval recall --index kb -k 10[/bold]
    """
    from oreqa.evaluation import evaluate_recall

    texts = None if questions is None else read_lines(questions)
    measured = evaluate_recall(index, questions=texts, k=k, device=device)
    if as_json:
        print_json(measured)
    else:
        shares = ", ".join(f"{share:.2f}% of the nearest {unit}s" for unit, share in measured["recall"].items())
        say(f"{measured['factory']}: {shares} (top {k}, {measured['questions']} questions)")
