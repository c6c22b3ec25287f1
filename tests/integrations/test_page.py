"""The examples of docs/integrations.md, each with its framework."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.index.in_memory import index_documents

PAGE = (Path(__file__).parents[2] / "docs/integrations.md").read_text(encoding="utf-8")
BLOCKS = {"haystack": "from haystack", "langchain_core": "from oreqa.integrations.langchain",
          "llama_index.core": "from oreqa.integrations.llama_index"}  # fmt: skip


@pytest.mark.parametrize("framework", BLOCKS)
def test_an_example_runs(
    framework: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(framework)
    (block,) = re.findall(rf"```python\n({re.escape(BLOCKS[framework])}.+?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    index_documents("kb", [Document("sea.md", "Sea", "An octopus has three hearts."), Document("a.md", "", "Bees dance.")])
    exec(block, {})
    assert "three" in capsys.readouterr().out
