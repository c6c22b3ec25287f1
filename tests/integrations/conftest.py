"""A small index, and the frameworks' own telemetry switched off."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oreqa.core import Document, Place
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings

os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false"}


@pytest.fixture(scope="session")
def kb(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three documents of the tiny encoder: two about animals, of which one stands on a page, and one about a tent."""
    folder = tmp_path_factory.mktemp("integrations") / "kb"
    octopus = "It lives in the sea. An octopus has three hearts."
    documents = [
        Document("octopus.pdf", "Octopus", octopus, fields={"kind": "animal"}, places=(Place(0, "page 3", line=12),)),
        Document(
            "bees.txt",
            "Bees",
            "Bees dance. An octopus is no bee, and it never comes near any of them in its life.",
            fields={"kind": "animal"},
        ),
        Document("tent.txt", "Tent", "The tent is waterproof.", fields={"kind": "tent"}),
    ]
    index_documents(folder, documents, Settings(str(tiny)))
    return folder
