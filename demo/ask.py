"""Ten questions to the index that `make demo` built: nine that its documents answer, and one that they do not."""

from __future__ import annotations

import sys
import time

from rich.console import Console

from oreqa import Answerer
from oreqa.cli.ask import render_answer

QUESTIONS = (
    "How many hearts does an octopus have?",
    "Who decoded the dance of the bees?",
    "Why was the year 1816 called the year without a summer?",
    "Who was the first patient to be treated with penicillin?",
    "Which mistake blurred the first pictures of the Hubble telescope?",
    "When did the last natural case of smallpox occur?",
    "What is the highest volcano in the Solar System?",
    "How is a document that did not change treated when an index is refreshed?",
    "What limits the share of the wind's energy that a turbine can take?",
    "Who won the football world cup in 1974?",
)


def main() -> None:
    console = Console(highlight=False)
    begun = time.perf_counter()
    answerer = Answerer.load(sys.argv[1])
    found = answerer.ask_all(QUESTIONS, k=1)
    seconds = time.perf_counter() - begun
    for question, answers in zip(QUESTIONS, found, strict=True):
        console.print(f"[bold cyan]?[/] {question}")
        if answers:
            console.print(render_answer(answers[0]), crop=False)
        else:
            console.print("     [bold yellow]no answer found[/]\n")
    console.print(f"{len(QUESTIONS)} questions in {seconds:.1f} seconds, model and index loaded from nothing.")
    console.print(f'Ask your own: [bold].venv/bin/oreqa ask "..." --index {sys.argv[1]}[/]')


if __name__ == "__main__":
    main()
