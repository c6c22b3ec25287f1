"""The house rules that can be counted: one name one thing, no crumbs, short functions and files.

``python tests/test_house.py`` prints what breaks them, room by room.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import oreqa

ROOT = Path(oreqa.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

OPTIONS = "oreqa.cli.options"

CRUMB_LINES, FUNCTION_LINES, PARAMETERS, FILE_LINES = 40, 60, 10, 300

ALLOWED: dict[str, dict[str, str]] = {
    "names": {
        "open_session": "one for each family and runtime, called by its module's name",
        "OreqaRetriever": "one for each framework, imported from the framework's module",
    },
    "crumbs": {
        "oreqa.index.scores.bm25": "a score a file",
        "oreqa.index.scores.cosine": "a score a file",
    },
    "functions": {},
    "files": {},
}
"""What breaks a rule for good, and why."""

TO_PUT_RIGHT: dict[str, str] = {
    "names": "",
    "crumbs": "",
    "functions": "",
    "files": "",
}
"""What breaks a rule until someone mends it. A name that no longer does fails the test: the lists only shrink."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def module_name(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def public_definitions(tree: ast.Module) -> Iterator[str]:
    """The public classes, functions and constants at the top of a module; commands are named for their users."""
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.ClassDef) or (isinstance(node, Function) and not is_command(node)):
            names = [node.name]
        elif isinstance(node, ast.Assign) and not _is_type_variable(node.value):
            names = [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        yield from (name for name in dict.fromkeys(names) if not name.startswith("_"))


def _is_type_variable(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") in ("TypeVar", "ParamSpec")


def repeated_names(trees: dict[str, ast.Module]) -> dict[str, str]:
    """Public names that several modules define."""
    homes = defaultdict(list)
    for module, tree in trees.items():
        for name in set(public_definitions(tree)):
            if module != OPTIONS or name.isupper():  # an option has the name of the argument that it fills
                homes[name].append(module)
    return {name: ", ".join(sorted(modules)) for name, modules in sorted(homes.items()) if len(modules) > 1}


def named_modules(tree: ast.Module, module: str, modules: set[str]) -> set[str]:
    """The modules that one imports, or names in a string as the packages' lists of public names do."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= parts & modules or {node.module}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {node.value, f"{module}.{node.value}"}
    return (names & modules) - {module}


def computed_modules(tree: ast.Module, modules: set[str]) -> set[str]:
    """The modules that a name with blanks may mean, as ``import_module(f"oreqa.models.{family}.{runtime}")``."""
    names: set[str] = set()
    lines = "\n".join(modules)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
            pattern = "".join(r"[\w.]+" if text is None else re.escape(str(text)) for text in texts).partition(":")[0]
            if re.search(r"\w{4}", "".join(str(text) for text in texts if text)):
                names.update(re.findall(f"^{pattern}$", lines, re.MULTILINE))
    return names


def crumbs(trees: dict[str, ast.Module], lines: dict[str, int]) -> dict[str, str]:
    """Short modules that one other reads, and modules of any length that none does."""
    modules = set(trees)
    readers: dict[str, set[str]] = defaultdict(set)
    computed: set[str] = set()
    for module, tree in trees.items():
        computed |= computed_modules(tree, modules)
        for name in named_modules(tree, module, modules):
            readers[name].add(module)
    packages = {module for module in modules if any(other.startswith(f"{module}.") for other in modules)}
    broken = {}
    for module in sorted(modules - packages):
        if not readers[module] and module not in computed and not module.endswith("__main__"):
            broken[module] = "no module reads it"
        elif len(readers[module]) == 1 and lines[module] < CRUMB_LINES:
            broken[module] = f"{lines[module]} lines, read by {next(iter(readers[module]))} alone"
    return broken


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function and method with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            yield from functions(node, prefix)


def is_command(function: Function) -> bool:
    """Whether a decorator makes it a command of the command line."""
    calls = [node.func for node in function.decorator_list if isinstance(node, ast.Call)]
    return any(getattr(call, "attr", getattr(call, "id", "")) in ("command", "runs") for call in calls)


def run_by_commands(trees: dict[str, ast.Module]) -> set[str]:
    """The functions of the packages' public faces that the command line imports or names."""
    names: set[str] = set()
    for module, tree in trees.items():
        if module.startswith("oreqa.cli"):
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("oreqa.cli"):
                    names |= {alias.name for alias in node.names}
                elif isinstance(node, ast.Attribute):
                    names.add(node.attr)
    faces = {
        "oreqa.adaptation",
        "oreqa.evaluation",
        "oreqa.fitting",
        "oreqa.generation",
        "oreqa.mining",
        "oreqa.training",
        "oreqa",
    }
    listed = {
        alias.name
        for face in faces & set(trees)
        for node in ast.walk(trees[face])
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return names & listed


def code_lines(function: Function, whole: bool = True) -> int:
    """Lines of a function without its docstring; of its body alone if not ``whole``."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    last = function.end_lineno or function.lineno
    if not body:
        return function.body[0].lineno - function.lineno if whole else 0
    docstring = body[0].lineno - function.body[0].lineno
    return last - function.lineno + 1 - docstring if whole else last - body[0].lineno + 1


def parameter_count(function: Function) -> int:
    arguments = function.args
    names = [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return sum(name not in ("self", "cls") for name in names)


def long_functions(trees: dict[str, ast.Module]) -> dict[str, str]:
    """Functions with too many lines or parameters. A command may have both, the one function it runs the parameters."""
    exempt = run_by_commands(trees)
    broken = {}
    for module, tree in trees.items():
        for name, function in functions(tree):
            if is_command(function):
                continue
            runs = name in exempt
            lines, parameters = code_lines(function, whole=not runs), parameter_count(function)
            reasons = [f"{lines} lines"] if lines > FUNCTION_LINES else []
            reasons += [f"{parameters} parameters"] if parameters > PARAMETERS and not runs else []
            if reasons:
                broken[f"{module}.{name}"] = ", ".join(reasons)
    return broken


def broken_rules(root: Path) -> dict[str, dict[str, str]]:
    """What breaks each rule, with the measure that breaks it."""
    sources = {module_name(file, root.parent): file.read_text() for file in sorted(root.rglob("*.py"))}
    trees = {module: ast.parse(source) for module, source in sources.items()}
    lines = {module: len(source.splitlines()) for module, source in sources.items()}
    return {
        "names": repeated_names(trees),
        "crumbs": crumbs(trees, lines),
        "functions": long_functions(trees),
        "files": {module: f"{count} lines" for module, count in lines.items() if count > FILE_LINES},
    }


@cache
def broken_here() -> dict[str, dict[str, str]]:
    """What breaks the rules here."""
    return broken_rules(ROOT)


@pytest.mark.parametrize("rule", ALLOWED)
def test_the_house_keeps_its_rules(rule: str) -> None:
    allowed = {*ALLOWED[rule], *TO_PUT_RIGHT[rule].split()}
    assert {name: measure for name, measure in broken_here()[rule].items() if name not in allowed} == {}


@pytest.mark.parametrize("rule", ALLOWED)
def test_what_is_allowed_is_still_needed(rule: str) -> None:
    assert sorted({*ALLOWED[rule], *TO_PUT_RIGHT[rule].split()} - set(broken_here()[rule])) == []


def test_each_rule_is_noticed_where_it_is_broken(tmp_path: Path) -> None:
    house = tmp_path / "oreqa"
    (house / "cli").mkdir(parents=True)
    many = ", ".join(f"a{n}" for n in range(11))
    long, longer = ("\n".join(f"{' ' * indent}x = {n}" for n in range(61)) for indent in (4, 8))
    (house / "__init__.py").write_text("from oreqa.left import given as given\n")
    (house / "left.py").write_text(
        f"import oreqa.crumb\nBOTH = 1\n_PRIVATE = 1\ndef given({many}): ...\ndef wide({many}): ...\n"
    )
    (house / "right.py").write_text(f"import oreqa.left\nclass BOTH:\n    def tall(self):\n{longer}\n_PRIVATE = 2\n")
    (house / "crumb.py").write_text('import oreqa.right\nf"oreqa.{named}_by_pattern"\n')
    (house / "named_by_pattern.py").write_text("")
    (house / "dead.py").write_text("\n" * 301)
    (house / "cli" / "__init__.py").write_text("from oreqa.cli import ask\n")
    body = f'"""Says something\n\n   that is long."""\n{long}'
    (house / "cli" / "ask.py").write_text(f"from oreqa import given\n@app.command()\ndef ask({many}):\n    {body}\n")
    assert broken_rules(house) == {
        "names": {"BOTH": "oreqa.left, oreqa.right"},
        "crumbs": {
            "oreqa.crumb": "2 lines, read by oreqa.left alone",
            "oreqa.dead": "no module reads it",
        },
        "functions": {"oreqa.left.wide": "11 parameters", "oreqa.right.BOTH.tall": "62 lines"},
        "files": {"oreqa.dead": "301 lines"},
    }


def print_by_room() -> None:
    for rule, measures in broken_here().items():
        print(f"{rule}: {len(measures)}, of them {len(ALLOWED[rule])} for good")
        rooms: dict[str, list[str]] = defaultdict(list)
        for name, why in measures.items():
            if name in ALLOWED[rule]:
                continue
            home = why if rule == "names" else name
            rooms[", ".join(sorted({part.split(".")[1] for part in home.split(", ")}))].append(f"{name}: {why}")
        for room, rows in sorted(rooms.items()):
            print(f"  {room}", *(f"    {row}" for row in rows), sep="\n")
    counts = Counter(file.relative_to(ROOT).parts[0] for file in FILES)
    total = sum(len(file.read_text().splitlines()) for file in FILES)
    print(f"{len(FILES)} files, {total:,} lines;", ", ".join(f"{room} {count}" for room, count in sorted(counts.items())))


if __name__ == "__main__":
    print_by_room()
