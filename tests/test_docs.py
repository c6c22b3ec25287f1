"""What the documentation names exists: commands and options, files, functions, make targets, links."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from fences import every_page, read_fences

ROOT = Path(__file__).parent.parent


def commands(page: str) -> list[str]:
    """The oreqa commands of a page: in its console blocks, and between backticks."""
    lines = [command.text for fence in read_fences(page) for command in fence.commands()]
    text = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`(?:OREQA_\w+=\w+ )?(oreqa [a-z][^`]+)`", text)
    lines += [" ".join(span.split()) for span in spans if "|" not in span]
    return [line for line in lines if line.startswith("oreqa ")]


def test_every_command_in_the_documentation_exists() -> None:
    from typer.testing import CliRunner

    from oreqa.cli import app

    helps: dict[tuple[str, ...], str] = {}
    for page in every_page():
        for line in commands(page):
            words = shlex.split(line)
            name = (
                tuple(word for word in words[1:3] if word.islower())
                if words[1] in ("eval", "train", "mine", "models")
                else (words[1],)
            )
            if name not in helps:
                helps[name] = CliRunner().invoke(app, [*name, "--help"], env={"COLUMNS": "200"}).stdout
            assert "Usage" in helps[name], line
            for word in words:
                if word.startswith("--"):
                    assert word in helps[name], line


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/papers.md"])
def test_every_file_and_function_that_a_page_names_exists(page: str) -> None:
    names = re.findall(r"`([\w/.-]+/[\w.-]+\.(?:py|toml))(?::(\w+))?`", (ROOT / page).read_text())
    assert len(names) > 20
    for path, function in names:
        file = ROOT / path if path.startswith(("benchmarks/", "recipes/", "tests/")) else ROOT / "src" / "oreqa" / path
        assert file.exists(), path
        if function:
            assert re.search(rf"^\s*(?:def|class) {function}\b", file.read_text(), re.MULTILINE), f"{path}:{function}"


def test_every_path_and_name_in_the_contributors_guide_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    roots = ("src", "tests", "docs", "recipes", "benchmarks", "results", ".ci")
    paths = [path for path in re.findall(r"`([\w.][\w./-]*)`", text) if path.partition("/")[0] in roots and "/" in path]
    assert len(paths) > 40
    for path in [*paths, *re.findall(r"pytest (\S+\.py)", text)]:
        assert (ROOT / path).exists(), path
    names = re.findall(r"`(\w+)`\s+(?:in|of)\s+`([\w/]+\.py)`", text)
    assert len(names) >= 4
    for name, path in names:
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text()), f"{path}: {name}"


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / ".github" / "workflows" / "ci.yml"]
    for page in [*pages, *(ROOT / "docs").rglob("*.md")]:
        named = re.findall(r"(?:`|\$ |run: )make ([a-z][a-z-]*)", page.read_text())
        assert set(named) <= targets, page


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_every_model_family_has_the_files_that_the_architecture_page_lists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page[page.index("A family is a folder") : page.index("The cross-encoder is both")]
    families = re.findall(r"`(\w+)`", section[: section.index("\n\n")])[1:]
    assert len(families) >= 3
    for family in families:
        for file in [*re.findall(r"^\| `(\w+\.py)`", section, re.MULTILINE), f"{family}.py"]:
            assert (ROOT / "src" / "oreqa" / "models" / family / file).exists(), f"{family}/{file}"


RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
def test_a_page_of_results_opens_with_one_sentence_and_one_plot(page: Path) -> None:
    title, finding, plot, *_ = page.read_text().split("\n\n")
    assert title.startswith("# ")
    sentence = finding.replace("\n", " ")
    assert re.fullmatch(r"\*\*[^*]+\.\*\*", sentence), sentence
    assert len(re.findall(r"\.(?=\s|\*)", sentence)) == 1, sentence
    assert re.fullmatch(r"!\[[^\]]+\]\(\.\./images/[a-z]+\.svg\)", plot), plot


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").rglob("*.svg")), ids=lambda path: path.stem)
def test_pictures_load_nothing_from_other_hosts(picture: Path) -> None:
    text = picture.read_text()
    loaded = [*re.findall(r"(?:href|src)=\"([^\"]*)\"", text), *re.findall(r"url\(['\"]?([^)'\"]*)", text)]
    assert all(target.startswith("#") for target in loaded), loaded
    assert "@import" not in text


def test_the_python_api_lists_every_exported_name() -> None:
    import oreqa

    assert sorted(re.findall(r"^::: oreqa\.(\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)) == sorted(
        name for name in oreqa.__all__ if not name.startswith("__")
    )


def test_the_library_is_large_enough() -> None:
    articles = list((ROOT / "demo" / "library").glob("*.md"))
    assert len(articles) >= 40
    for article in articles:
        text = article.read_text()
        assert text.startswith("# ")
        assert len(text.split()) > 60, article


def test_results_name_no_folder_of_a_machine() -> None:
    for file in (ROOT / "results").rglob("*.json"):
        assert not re.search(r'": "/', file.read_text(encoding="utf-8")), file


def test_figures_come_from_committed_code() -> None:
    """No raw file names a tree with changes, and what the papers' page shows names its commit: a dagger marks what does not."""
    results = ROOT / "results"
    assert not [file for file in results.rglob("*.json") if '-dirty"' in file.read_text(encoding="utf-8")]
    page = (ROOT / "docs" / "results" / "papers.md").read_text(encoding="utf-8")
    assert not re.findall(r"^\|.*†.*$", page, re.MULTILINE)


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
def test_a_page_of_results_names_every_run_in_its_folder_and_stays_short(page: Path) -> None:
    text = page.read_text()
    runs = {f"results/{page.stem}/{run.name}" for run in (ROOT / "results" / page.stem).iterdir()}
    named = set(re.findall(r"`(results/[\w./-]+)`", text))
    assert named == runs
    assert len(text.split()) <= 1200
    scripts = re.findall(r"(?<!:)\b((?:benchmarks|recipes)/[\w/-]+\.(?:py|sh|toml|md))", text)
    assert scripts
    assert all((ROOT / script).exists() for script in scripts), scripts


def test_every_folder_of_results_has_its_page() -> None:
    assert sorted(folder.name for folder in (ROOT / "results").iterdir()) == [page.stem for page in RESULTS]
