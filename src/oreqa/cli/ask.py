"""``oreqa ask``: answers with their evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli import app
from oreqa.cli.output import (
    ClassifierOption,
    DeviceOption,
    JsonFlag,
    PrecisionOption,
    RerankerOption,
    RerankOption,
    need_text,
    one_line,
    parse_conditions,
    print_json,
    visible,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from oreqa.core import Answer


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    index: Annotated[Path, typer.Option("--index", help="The index's folder.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many answers at the most.")] = 3,
    where: Annotated[list[str] | None, typer.Option(help="Only documents with field=value.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Least confidence of an answer.", show_default="calibrated")
    ] = None,
    reader: Annotated[
        str, typer.Option(help="Reader: a name, a folder, or none to answer with sentences.")
    ] = "minilm-reader",
    reranker: RerankerOption = "minilm-reranker",
    rerank: RerankOption = 0,
    classifier: ClassifierOption = "minilm-classifier",
    explain: Annotated[bool, typer.Option("--explain", help="Show what each stage contributed.")] = False,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer a question from an index, with the sentence and the passage that prove it.

    Says "no answer found" when the documents do not seem to hold one.

    [bold]oreqa ask "How tall is the tower?" --index kb[/bold]
    """
    from oreqa.answering import Answerer

    need_text(question, "the question")
    conditions = parse_conditions(where or ())
    answerer = Answerer.load(index, device, _named(reader), _named(reranker), classifier if rerank else None, rerank)
    answers = answerer.ask(question, k, conditions, threshold)
    if as_json:
        print_json({"question": question, "found": bool(answers), "answers": [answer_json(a) for a in answers]})
        return
    from oreqa.cli.console import Console

    console = Console()
    if not answers:
        console.print("no answer found", style="bold yellow")
        console.print("--threshold 0 shows the best sentences all the same", style="dim")
    for number, answer in enumerate(answers):
        console.print(render_answer(answer, whole=number == 0))
        if explain:
            console.print(render_stages(answer))


def _named(model: str) -> str | None:
    return None if model == "none" else model


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as the JSON of the command line: offsets are characters of the document's text."""
    passage = answer.passage
    return {
        "text": answer.text,
        "start": answer.start,
        "end": answer.end,
        "confidence": None if answer.confidence is None else round(answer.confidence, 4),
        "score": round(answer.score, 4),
        "document": passage.document,
        "title": passage.title,
        "heading": passage.heading,
        "sentence": {"text": answer.sentence.text, "start": answer.sentence.start, "end": answer.sentence.end},
        "passage": {"text": passage.text, "start": passage.start, "end": passage.end},
        "fields": dict(passage.fields),
        "parts": {name: round(value, 4) for name, value in answer.parts.items()},
    }


def render_answer(answer: Answer, whole: bool = True) -> RenderableType:
    """An answer for a terminal, with its sentence; in the ``whole`` passage, if that is wanted."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    passage, sentence = answer.passage, answer.sentence
    sure = Text("not calibrated", "dim")
    if answer.confidence is not None:
        sure = Text(f"{answer.confidence:4.0%}", "bold green" if answer.confidence >= 0.5 else "bold yellow")
    head = Table.grid(padding=(0, 1))
    head.add_row(sure, Text(one_line(answer.text), "bold"))
    parts: list[RenderableType] = [head]
    if not whole and answer.text != sentence.text:
        text = Text(visible(sentence.text, lines=True))
        text.stylize("bold underline", max(0, answer.start - sentence.start), answer.end - sentence.start)
        parts.append(Padding(text, (0, 0, 0, 5)))
    if whole and (len(passage.sentences) > 1 or answer.text != sentence.text):
        text = Text(visible(passage.text, lines=True), style="dim")
        text.stylize("not dim", sentence.start - passage.start, sentence.end - passage.start)
        text.stylize("not dim bold underline", answer.start - passage.start, answer.end - passage.start)
        parts.append(Padding(text, (0, 0, 0, 5)))
    parts.append(Padding(Text(visible(source_line(answer)), style="cyan"), (0, 0, 0, 5)))
    return Group(*parts, "")


def render_stages(answer: Answer) -> RenderableType:
    """A table of what search, reader and re-ranker gave the answer."""
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("stage", "score", "meaning"):
        table.add_column(column, style="dim", justify="right" if column == "score" else "left", overflow="fold")
    for name, meaning in _STAGES.items():
        if name in answer.parts:
            table.add_row(name, f"{answer.parts[name]:.3f}", meaning)
    table.add_row("score", f"{answer.score:.3f}", "what the answers are ordered by")
    return Padding(table, (0, 0, 1, 5))


_STAGES = {
    "sentence_cosine": "search: similarity of question and sentence",
    "passage_cosine": "search: similarity of question and passage",
    "sentence_bm25": "search: words shared with the sentence",
    "passage_bm25": "search: words shared with the passage",
    "classifier": "classifier: probability that the sentence answers",
    "retrieved": "search: the score before the classifier",
    "retrieval": "search: the passage's score",
    "reading": "reader: log-probability of the span",
    "selection": "reader: log-probability of the passage among those read",
    "passage": "reader: log-odds that the passage answers",
    "agreement": "what equal answers elsewhere add",
    "occurrences": "spans with this answer",
    "merged": "score before re-ranking",
    "reranking": "re-ranker: log-probability among the best answers",
}


def source_line(answer: Answer) -> str:
    """Where an answer stands: title, heading, document and character offsets."""
    passage = answer.passage
    names = " > ".join(name for name in (passage.title, passage.heading) if name)
    path, mark, row = passage.document.partition("#")
    if Path(path).is_relative_to(Path.cwd()):
        path = str(Path(path).relative_to(Path.cwd()))
    place = f"{path}{mark}{row}:{answer.start}-{answer.end}"
    return f"{names} | {place}" if names else place
