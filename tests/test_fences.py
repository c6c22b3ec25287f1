"""The fenced commands and Python blocks of the documentation run as they are written, page by page, from a clean folder."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest
import yaml
from fence_folder import make_folder, small_models
from fences import Fence, Running, every_page, promised, read_fences, words_of

NOT_RUN = {
    "installs from a package index": (
        "make demo",
        "make test",
        "python -m pip install -c constraints.txt .",
        "pip install 'oreqa[ocr]'",
        "pip install oreqa",
    ),
    "fetches what it asks about": (
        "apt-get download mutt && dpkg -x mutt_*.deb package",
        "mv package/usr/share/doc/mutt/html mutt-manual && rm mutt-manual/manual.html",
        "oreqa index mutt-manual",
        'oreqa ask "How do I delete all messages in a thread?" -k 1',
        'oreqa ask "How do I move to the next unread message?" -k 1',
        'oreqa ask "How do I save a copy of sent mail?" -k 1',
        "pip download --no-deps --no-binary=:all: django==5.2.8 && tar -xzf django-5.2.8.tar.gz",
        "oreqa index django-5.2.8/docs/internals --index policies",
        'oreqa ask "How long do long-term support releases get security fixes?" --index policies -k 1',
        'oreqa ask "How many people are on the steering council?" --index policies -k 1',
        'oreqa ask "Can I get paid leave?" --index policies',
        "oreqa eval reqa --data dev-v1.1.json.gz --mode sparse --out sparse",
        "oreqa eval reqa --data dev-v1.1.json.gz --mode hybrid --out hybrid",
        "oreqa compare sparse hybrid",
        "oreqa compare runs/squad-dense runs/squad-sparse --out runs/difference",
    ),
    "needs a model of the Hub": (
        "oreqa index docs --index kb-e5 --model intfloat/e5-small-v2",
        'oreqa ask "Why does ice float?" --index kb-e5 --reader deepset/tinyroberta-squad2',
        "oreqa models get intfloat/e5-small-v2",
        "oreqa models get all-mpnet-base-v2",
        "oreqa index docs --index kb-mpnet --model all-mpnet-base-v2",
        'oreqa ask "Why does ice float?" --index kb --quality best',
        "oreqa index docs/ --index kb --quality best",
        'oreqa ask "Why does ice float?" --index kb --reader deepset/roberta-base-squad2',
        'oreqa search "height of the tower" --index kb --rerank 20 --classifier BAAI/bge-reranker-base',
        'oreqa ask "How tall is the tower?" --index kb --reranker cross-encoder/ms-marco-MiniLM-L6-v2',
    ),
    "needs the files of MRQA": ("oreqa data NewsQA.jsonl.gz",),
    "needs a sample of a large collection": (
        "oreqa index docs/part --index sample",
        "oreqa plan --passages 5e6 --index sample",
    ),
    "needs Milvus": (
        "pip install 'oreqa[milvus]'",
        "export OREQA_MILVUS_TOKEN=user:password",
        "oreqa index docs --index served --engine milvus:https://milvus.example:19530",
        'oreqa ask "..." --index served',
        "oreqa copy kb served --engine milvus:http://127.0.0.1:19530",
        "oreqa copy served kb-2",
    ),
    "needs a Ray cluster": (
        "oreqa index /shared/docs --index /shared/kb --cluster ray-head:6379",
        "oreqa adapt --index sample",
        "oreqa index /shared/docs --index /shared/kb --model /shared/sample/adapted/1/encoder --cluster ray-head:6379",
    ),
    "needs Slurm": (
        'sbatch --wait --array=1-32 --wrap \'oreqa index "$(sed -n ${SLURM_ARRAY_TASK_ID}p folders.txt)" '
        "--index shards/$SLURM_ARRAY_TASK_ID'",
        "ls -d shards/* | xargs oreqa merge --index kb",
    ),
    "needs two machines": (
        "torchrun --nnodes 2 --node-rank 0 --nproc-per-node 4 --master-addr first.example.org --master-port 29500 "
        "-m oreqa train retriever --recipe recipes/small/retriever.toml --out /shared/retriever",
    ),
    "needs model2vec's distill extra": ("from model2vec.distill import distill",),
    "trains for minutes": (
        "oreqa train reader --recipe recipes/small/reader.toml --set data_root=data --set lora.rank=32 "
        "--set freeze_embeddings=true --set optimiser.learning_rate=3e-4 --out runs/small-reader",
        'oreqa ask "Why does ice float?" --index kb --reader runs/small-reader',
        "oreqa train reader --recipe recipes/papers/dpr-reader.toml --set backbone=minilm-reader --set index=kb --set mode=hybrid "
        "--set 'data=[{file=\"questions.jsonl\"}]' --set dev=others.jsonl --set negatives=3.0 --out runs/reader",
        "oreqa adapt --index kb",
        "oreqa adapt --index kb --marks",
        'oreqa search "how long to fast before a blood test" --index kb --rerank 20 --classifier kb/adapted/1/classifier',
    ),
    "needs a container engine": (
        "podman build --tag oreqa .",
        "export OREQA_TOKEN=$(openssl rand -hex 32)",
        "podman run --rm -v ./kb:/kb:ro,Z -p 127.0.0.1:8765:8765 -e OREQA_TOKEN -e OREQA_ALLOW_HOST=127.0.0.1:8765 oreqa",
    ),
    "needs nginx": ("server {",),
    "systemd reads it in tests/cli/test_serve.py": ("[Unit]",),
    "runs in tests/cli/test_mcp.py": ("import asyncio",),
    "runs in tests/integrations/test_page.py": (
        "from haystack import Pipeline",
        "from oreqa.integrations.langchain import OreqaRetriever",
        "from oreqa.integrations.llama_index import OreqaRetriever",
    ),
}
"""Commands, and blocks by their first lines, that do not run here, by the reason."""

ELSEWHERE = {"docs/http.md": "tests/cli/test_serve.py"}
"""Pages that another test runs whole, against one server."""

FIRST = {
    "docs/tutorial.md": (),
    "docs/index.md": (),
    "docs/reference.md": (),
    "docs/serving.md": ("oreqa index docs library --index kb", "cp -r kb kb1", "cp -r kb kb2"),
    "docs/assistants.md": ("oreqa index docs library --index kb", "cp -r kb kb1", "cp -r kb kb2", "openssl rand -hex 32 > token",
                           "chmod 600 token"),
}  # fmt: skip
"""What a page takes for granted; of other pages it is an index."""

BEFORE = {
    "oreqa remove old/octopus.md --index kb": "oreqa index old --index kb",
    "oreqa fit --index kb --data questions.jsonl --reader path/to/reader": "oreqa index documents --index kb",
    "oreqa marks --index kb": "cp marks.jsonl kb/",
}
"""What a command takes for granted, in the middle of a page."""

REFUSED = {
    "oreqa ask --questions asked.txt --index kb --reader path/to/reader --at-least 0.9": "a promise needs 100 questions",
    "oreqa fit --index kb --reader path/to/reader": "at least 90 are needed",
}
"""Commands that need more questions than the folder holds, and what they say of it."""

SHOWN = {
    "README.md": ("two years",),
    "docs/index.md": ("Albert Alexander",),
    "docs/tutorial.md": ("three hearts", "no answer found", "42.195 kilometres", "Cristofori", "Event Horizon Telescope"),
    "docs/how-to.md": ("waterproof", "thirty days", "less dense", "330 metres", "17 tents"),
    "docs/serving.md": ('"text":"three"',),
}
"""What the commands of a page print."""

HEAVY = re.compile(r"oreqa (?:train|fit|mine|generate|eval|marks|mcp|serve)|--watch|curl|scans")
"""What takes long, or starts servers. A section (##) with such a command runs among the system tests."""

LISTED = {block: reason for reason, blocks in NOT_RUN.items() for block in blocks}
PUBLIC_SETS = "../shared/data"
"""In the commands of the pages of results, which take minutes to hours."""


@cache
def fences(page: str) -> list[Fence]:
    return read_fences(page)


def parts(page: str) -> list[tuple[str, bool]]:
    """The light and the heavy sections of a page, if there are such blocks that run here."""
    if page in ELSEWHERE:
        return []
    return [(page, is_heavy) for is_heavy in (False, True) if any(runs(fence) for fence in part(page, is_heavy))]


def runs(fence: Fence) -> bool:
    if fence.language == "python":
        return fence.head() not in LISTED
    return any(is_run(command.text) for command in fence.commands())


def is_run(command: str) -> bool:
    return command not in LISTED and PUBLIC_SETS not in command


def part(page: str, is_heavy: bool) -> list[Fence]:
    heavy = {fence.section for fence in fences(page) if any(HEAVY.search(each.text) for each in fence.commands())}
    return [fence for fence in fences(page) if (fence.section in heavy) == is_heavy]


PARTS = [
    pytest.param(
        *each,
        id=f"{each[0]}{' at length' * each[1]}",
        marks=pytest.mark.slow if each == ("README.md", False) else pytest.mark.system,
    )
    for page in every_page()
    for each in parts(page)
]


def check(language: str, text: str) -> None:
    """Raise ValueError for a block that is not what it says it is."""
    if language == "toml":
        tomllib.loads(text)
    elif language == "yaml":
        yaml.safe_load(text)
    elif language == "csv" and len({len(row) for row in csv.reader(text.splitlines())}) != 1:
        raise ValueError("rows of different lengths")
    while language == "json" and text.strip():
        text = text.lstrip()
        text = text[json.JSONDecoder().raw_decode(text)[1] :]


def test_every_block_runs_or_is_listed() -> None:
    seen = set()
    for page in every_page():
        for fence in fences(page):
            texts = [command.text for command in fence.commands()]
            seen |= {fence.head(), *texts}
            if fence.language == "console":
                assert fence.text.startswith("$ "), f"{fence}: a console block begins with a command"
            elif fence.language in ("json", "toml", "yaml", "csv"):
                check(fence.language, fence.text)
            else:
                assert fence.language == "python" or fence.head() in LISTED, (
                    f"{fence}: a block of {fence.language or 'nothing'}"
                )
    assert [block for block in (*LISTED, *BEFORE, *REFUSED) if block not in seen] == []
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (Path(__file__).parents[1] / test).read_text()


@pytest.mark.parametrize(("page", "is_heavy"), PARTS)
def test_the_blocks_of_a_page_run(page: str, is_heavy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_folder(tmp_path / "home"))
    printed: list[str] = []
    with Running(Path.cwd()) as running:
        for text in FIRST.get(page, ("oreqa index docs library --index kb",)):
            assert running.command(text)[0] == 0, text
        for fence in part(page, is_heavy):
            if fence.language == "python" and runs(fence):
                printed.append(running.python(fence.text))
                if expected := promised(fence.text):
                    assert [line.strip() for line in printed[-1].splitlines()] == expected, fence
            for command in fence.commands():
                if is_run(command.text):
                    printed.append(output(running, fence, command.text))
                    missing = set(words_of(command.shown)) - set(words_of(printed[-1]))
                    assert not missing, (str(fence), command.text, missing, printed[-1])
    if not is_heavy or not any(each is False for _, each in parts(page)):
        for words in SHOWN.get(page, ()):
            assert words in "".join(printed), words


def output(running: Running, fence: Fence, command: str) -> str:
    """What a command of a block prints, which ends as it should."""
    if before := BEFORE.get(command):
        assert running.command(before)[0] == 0, before
    with small_models(running.folder) if " train " in command else nullcontext():
        code, said = running.command(command)
    refusal = REFUSED.get(command, "")
    assert (code, refusal in said) == (2 if refusal else 0, True), (str(fence), command, said)
    return said
