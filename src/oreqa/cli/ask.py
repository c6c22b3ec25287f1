"""``oreqa ask``: answers with their evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli import app
from oreqa.cli.output import DeviceOption, JsonFlag, parse_conditions, print_json

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
        float | None, typer.Option(min=0, max=1, help="Least confidence of an answer.  [default: calibrated]")
    ] = None,
    device: DeviceOption = "cpu",
    as_json: JsonFlag = False,
) -> None:
    """Answer a question from an index, with the sentence and the passage that prove it.

    Says "no answer found" when the documents do not seem to hold one.

    [bold]oreqa ask "How tall is the tower?" --index kb[/bold]
    """
    from oreqa.answering import Answerer

    answers = Answerer.load(index, device).ask(question, k, parse_conditions(where or ()), threshold)
    if as_json:
        print_json({"question": question, "found": bool(answers), "answers": [answer_json(a) for a in answers]})
        return
    from rich.console import Console

    console = Console(highlight=False)
    if not answers:
        console.print("no answer found", style="bold yellow")
        console.print("--threshold 0 shows the best sentences all the same", style="dim")
    for number, answer in enumerate(answers):
        console.print(render_answer(answer, whole=number == 0))


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as the JSON of the command line: offsets are characters of the document's text."""
    passage = answer.passage
    return {
        "text": answer.text,
        "confidence": round(answer.confidence, 4),
        "score": round(answer.score, 4),
        "document": passage.document,
        "title": passage.title,
        "heading": passage.heading,
        "sentence": {"text": answer.sentence.text, "start": answer.sentence.start, "end": answer.sentence.end},
        "passage": {"text": passage.text, "start": passage.start, "end": passage.end},
        "fields": dict(passage.fields),
    }


def render_answer(answer: Answer, whole: bool = True) -> RenderableType:
    """An answer for a terminal; the ``whole`` passage with the sentence highlighted, or the sentence alone."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    passage, sentence = answer.passage, answer.sentence
    colour = "green" if answer.confidence >= 0.5 else "yellow"
    head = Table.grid(padding=(0, 1))
    head.add_row(Text(f"{answer.confidence:4.0%}", f"bold {colour}"), Text(one_line(answer.text), "bold"))
    parts: list[RenderableType] = [head]
    if whole and len(passage.sentences) > 1:
        text = Text(passage.text, style="dim")
        text.stylize("not dim bold underline", sentence.start - passage.start, sentence.end - passage.start)
        parts.append(Padding(text, (0, 0, 0, 5)))
    parts.append(Padding(Text(source_line(answer), style="cyan"), (0, 0, 0, 5)))
    return Group(*parts, "")


def source_line(answer: Answer) -> str:
    """Where an answer stands: title, heading, document and character offsets."""
    passage = answer.passage
    names = " > ".join(name for name in (passage.title, passage.heading) if name)
    path, mark, row = passage.document.partition("#")
    if Path(path).is_relative_to(Path.cwd()):
        path = str(Path(path).relative_to(Path.cwd()))
    place = f"{path}{mark}{row}:{answer.sentence.start}-{answer.sentence.end}"
    return f"{names} | {place}" if names else place


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())
