"""Commands that run one library function: its arguments are their options."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, Concatenate, TypeVar

import typer

from oreqa.cli.application import Command
from oreqa.cli.options import Option
from oreqa.cli.progress import progress_bar

Result = TypeVar("Result")
Show = Callable[Concatenate[Result, ...], None]


def runs(
    group: typer.Typer, load: Callable[[], Callable[..., Result]], /, panel: str | None = None, **changed: Any
) -> Callable[[Show[Result]], Show[Result]]:
    """Make a command of a library function and of the decorated one, which prints the function's result.

    ``load`` imports the function; it is called when the command runs or shows its help, so that other commands stay
    fast. Each of the function's parameters becomes the option with its name in ``oreqa.cli.options``, or the one in
    ``changed``, where None omits it. Defaults are the function's. The decorated function gets the result, and the
    arguments that it names, such as ``as_json``; its name and docstring are the command's.
    """

    def decorate(show: Show[Result]) -> Show[Result]:
        class FunctionCommand(Command):
            """Reads the function's parameters only when needed."""

            def get_params(self, ctx: Any) -> Any:
                if not self.params:
                    built = _build(load(), show, changed)
                    self.params, self.callback = built.params, built.callback
                return super().get_params(ctx)

        group.command(show.__name__, cls=FunctionCommand, help=show.__doc__, rich_help_panel=panel)(lambda: None)
        return show

    return decorate


def _build(function: Callable[..., Result], show: Show[Result], changed: dict[str, Any]) -> Any:
    """Return typer's command that calls ``function`` and then ``show``."""
    parameters = {
        name: parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=changed.get(name) or getattr(Option, name))
        for name, parameter in signature(function).parameters.items()
        if name != "progress" and changed.get(name, ...) is not None
    }
    extra = {"precision": None} if "device" in parameters else {}
    for name, default in {**extra, "as_json": False}.items():
        parameters[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=getattr(Option, name))
    takes_progress = "progress" in signature(function).parameters

    def call(**values: Any) -> None:
        arguments = {name: value for name, value in values.items() if name not in ("precision", "as_json")}
        result = function(**arguments, **({"progress": progress_bar} if takes_progress else {}))
        show(result, **{name: value for name, value in values.items() if name in signature(show).parameters})

    call.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    single = typer.Typer(add_completion=False)
    single.command()(call)
    return typer.main.get_command(single)
