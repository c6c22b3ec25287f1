"""The typer application: what all commands share, from error handling to ``--version``."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from oreqa.cli.misplaced import refuse_index
from oreqa.cli.output import one_line, print_json, say
from oreqa.errors import InputError, OreqaError
from oreqa.paths import need_working_folder


class Panel(StrEnum):
    """The panels of the help page, in order."""

    ASK = "Ask"
    INDEX = "Index"
    DATA = "Data"
    MODELS = "Models"
    RUN = "Run"


class _StoppedError(Exception):
    """Stands for Ctrl-C in a command, or for the error that is its cause, while typer reports it; says what was kept."""


INTERRUPTED = 130
"""The exit code after Ctrl-C."""

_KEEPING_NOTHING = (
    "ask",
    "chat",
    "search",
    "serve",
    "mcp",
    "show",
    "check",
    "compare",
    "data",
    "explain",
    "doctor",
    "marks",
    "merge",
    "copy",
    "test",
    "remove",
    "open",
    "plan",
)
"""Commands that start over when they are run again."""

_ZSH_CALL = '_oreqa_completion "$@"'


class Command(TyperCommand):
    """A command whose help page shows its options in panels, and that checks its arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises InputError for an empty one, such as from an unset variable, which typer would take for the working directory,
        and for a relative path in a deleted working directory.
        """
        try:
            values, others, _ = self.make_parser(ctx).parse_args(list(args))
        except Exception as error:
            _name_whole_word(error, args)
            raise
        for parameter in self.get_params(ctx):
            value = values.get(parameter.name)
            each = [word for word in (value if isinstance(value, list | tuple) else [value]) if isinstance(word, str)]
            if "" in each:
                is_option = parameter.param_type_name == "option"
                name = parameter.opts[0] if is_option else f"the {str(parameter.metavar or parameter.name).lower()}"
                raise InputError(f"{name} is empty")
        if others and any("--index" in parameter.opts for parameter in self.get_params(ctx)):
            refuse_index(ctx, others)
        rest = super().parse_args(ctx, args)
        for value in ctx.params.values():
            for path in value if isinstance(value, list | tuple) else [value]:
                if isinstance(path, Path) and str(path) != "-":  # standard input
                    need_working_folder(path)
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _print_help(self, ctx)


class CommandGroup(TyperGroup):
    """A group of commands, such as ``oreqa eval``, with the same kind of help page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _print_help(self, ctx)


def _name_whole_word(error: Exception, args: Sequence[str]) -> None:
    """Make the error about an unknown option show a whole argument such as "-shortest", not just its first letter."""
    option = getattr(error, "option_name", None)
    word = next((word for word in args if option and len(option) == len("-s") and word.startswith(option)), None)
    if word:
        for name in ("option_name", "message"):
            setattr(error, name, getattr(error, name).replace(option, word))


def _print_help(command: TyperCommand | TyperGroup, ctx: Any) -> None:
    from oreqa.cli.help import print_help

    print_help(command, ctx)


class _Commands(CommandGroup):
    """Turns every error into one line on standard error, with --json also into a JSON document, and an exit code."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        words = list(sys.argv[1:] if args is None else args)
        options = words[: words.index("--")] if "--" in words else words
        _prepare_environment()
        _join_lines(self)
        try:
            code = super().main(args, standalone_mode=False, **extra) or 0
        except Exception as error:
            code = _report(error, "--json" in options, "--debug" in options)
        except SystemExit:  # how typer's --install-completion ends
            finish_zsh_completion()
            raise
        _finish_output()
        if standalone_mode:
            sys.exit(code)
        return code

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands, panel by panel."""
        order = [str(panel) for panel in Panel]
        return sorted(self.commands, key=lambda name: order.index(getattr(self.commands[name], "rich_help_panel", "")))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _StoppedError(ctx.invoked_subcommand, *stop.args) from None
        except EOFError as error:
            raise _StoppedError from error
        except BrokenPipeError:  # the reader of our output has left
            raise typer.Exit(0) from None


def _join_lines(command: Any) -> None:
    """Join the source's lines: help pages wrap them at the terminal's width."""
    command.help = re.sub(r"(?<=\S)\n *(?=\S)", " ", command.help or "")
    for part in getattr(command, "commands", {}).values():
        _join_lines(part)


def finish_zsh_completion() -> None:
    """Make the first TAB in zsh complete, too: it loads typer's file, which only defines the function for the next TAB."""
    file = Path.home() / ".zfunc" / "_oreqa"
    with suppress(OSError):  # without it, only the second TAB completes
        text = file.read_text(encoding="utf-8")
        if _ZSH_CALL not in text:
            file.write_text(f"{text.rstrip()}\n\n{_ZSH_CALL}\n", encoding="utf-8")


def _prepare_environment() -> None:
    """Allow printing any text in any locale, and ignore terminal sizes at which rich prints nothing."""
    for name, minimum in (("COLUMNS", 20), ("LINES", 1)):
        size = os.environ.get(name, "")
        if size and not (size.isdecimal() and len(size) < 9 and int(size) >= minimum):
            del os.environ[name]
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # closed, or replaced by something else
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _finish_output() -> None:
    """Drop output that cannot be written; otherwise Python would complain after the exit code is set."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (AttributeError, ValueError):  # closed
            continue


def _report(error: Exception, as_json: bool, debug: bool) -> int:
    """Print the error; return the exit code."""
    if isinstance(error, _StoppedError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    kind, message, code = _described(error)
    if not message:  # no command was named: the help page has been shown
        return code
    with suppress(OSError, OreqaError):  # there may be nowhere to print it
        if debug:
            from traceback import format_exception

            for line in "".join(format_exception(error)).splitlines():
                say(line, err=True)
        say(f"{kind}{message}", err=True, colour="red")
        if as_json:
            details = error.details if isinstance(error, OreqaError) else {}
            shown = {"message": f"{kind}{message}".removeprefix("error: "), "exit_code": code}
            print_json({"error": {**shown, **details}})
    return code


def _described(error: Exception) -> tuple[str, str, int]:
    """Return the kind of an error, its message, and the exit code."""
    if isinstance(error, OreqaError):
        return "error: ", str(error), error.exit_code
    if isinstance(error, _StoppedError):
        return "", f"interrupted{_kept(*error.args)}", INTERRUPTED
    if hasattr(error, "format_message"):  # a usage error; its class has no public name in every typer
        message, context = one_line(error.format_message()).replace("Value error, ", ""), getattr(error, "ctx", None)
        message = message.removesuffix(".") + _elsewhere(error, context)
        pause = " " if message.endswith("?") else "; "
        return "error: ", message + (f"{pause}{context.command_path} --help explains" if context and message else ""), 2
    if isinstance(error, FileNotFoundError) and not error.filename and not _has_working_folder():
        return "error: ", "the working folder is gone; change to another one", 2
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return "error: ", f"{place}{error.strerror}", 2 if error.errno == errno.ENAMETOOLONG else 1
    if isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8":
        return "error: ", f"a name is not UTF-8: {one_line(str(error.object), 200)}; rename it", 2
    name, text = type(error).__name__, one_line(str(error), 500)
    return "internal error: ", f"{name}: {text} (oreqa --debug COMMAND ... shows where)", 1


def _kept(command: str, hint: str = "; run the same command again to resume from what was saved, if anything") -> str:
    """Return what an interrupted command keeps, as it has ``said``, and how to continue."""
    return "" if command in _KEEPING_NOTHING else hint


def _has_working_folder() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109
    except FileNotFoundError:
        return False


def _elsewhere(error: Exception, context: Any) -> str:
    """Return how to write an argument mistaken for an option, or which commands have an option that this one lacks.

    Commands whose options are only built when they run are skipped.
    """
    option = getattr(error, "option_name", None)
    if option and not option.lstrip("-")[:1].isalpha():  # e.g. "-5 degrees"
        return "; write -- before an argument that begins with -"
    if option is None or context is None or context.parent is None:
        return ""
    commands = context.parent.command.commands.items()
    names = [f"oreqa {name}" for name, command in commands if any(option in each.opts for each in command.params)]
    takes_question = any(each.name == "question" for each in context.command.params)
    if takes_question and " " in option:
        return f"; write -- before a question that begins with -: {context.command_path} [OPTIONS] -- {shlex.quote(option)}"
    question = f"; to ask about it: {context.command_path} 'What does {option} do?'" if takes_question else ""
    has = "has it" if len(names) == 1 else "have it"
    return (f"; {' and '.join(names)} {has}" if names else "") + question


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"oreqa {version('oreqa')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Answer questions from your documents, with the evidence.

    [bold]oreqa index .[/bold]   reads the documents in this folder

    [bold]oreqa ask "Who wrote it?"[/bold]   answers from them
    """
