"""Estimates what an index of any size takes: disk, memory, time and money, from costs measured on small ones."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from oreqa.arguments import as_index_folder
from oreqa.errors import InputError
from oreqa.index.codes import code_type
from oreqa.index.generations import read_manifest, require_generation
from oreqa.index.integrity import QUICK
from oreqa.index.store import open_documents


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a passage: bytes on disk, bytes of memory, and core seconds. ``base_`` is the fixed cost of any index."""

    characters: float
    sentences: float
    """Characters and sentences per passage."""
    vector: int
    """Bytes per vector; a passage and each of its sentences has one."""
    documents: float
    """Bytes of texts, places and names."""
    words: float
    """Bytes of the words of a passage and its sentences."""
    base_memory: float
    memory: float
    """Bytes that a search allocates."""
    encode: float
    write: float
    """Seconds to read, split and write."""
    base_search: float
    search: float
    """Seconds per passage up to the size at which the number of candidates stops growing."""
    scan: float
    update: float
    compare: float
    """Seconds to publish the change of one document, with the encoder loaded, and to verify a byte's checksum."""

    @property
    def vectors(self) -> float:
        """Bytes of the vectors and ids of a passage and its sentences, of the sentences' rows, and of the passage's bits."""
        return (1 + self.sentences) * (self.vector + 8) + 4 * self.sentences + self.vector // 8

    @property
    def disk(self) -> float:
        """Bytes of a passage on disk."""
        return self.documents + self.vectors + self.words


MEASURED = Costs(
    characters=605,
    sentences=4.7,
    vector=code_type(384).itemsize,
    documents=1170,
    words=1330,
    base_memory=6.7e7,
    memory=110,
    encode=0.014,
    write=0.0015,
    base_search=0.0085,
    search=4.05e-7,
    scan=3.8e-8,
    update=0.044,
    compare=8.6e-10,
)
"""Measured on paragraphs by benchmarks/speed/capacity.py; results/capacity/costs.json has the figures.

``base_search``, ``search`` and ``scan`` are fitted to the three sizes of benchmarks/speed/growth.py, up to a million
passages: results/capacity/growth.json. ``memory`` is from an earlier run of it; that file gives 117 bytes a passage from
the smallest size to the largest, and 127 from the second.
"""

_CANDIDATES_GROW = 30_000
"""Passages up to which a larger index gives a search more candidates."""

FEWEST_TO_TELL = 500
"""Passages that an index needs for its size to predict that of a larger one."""

CORE_HOUR = 0.04
"""The assumed price in dollars of a core hour, with 4 GB of memory."""

HOURS_A_MONTH = 730


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: its number of cores and bytes of memory."""

    cores: int
    memory: float

    def __str__(self) -> str:
        return f"{self.cores} {'core' if self.cores == 1 else 'cores'} and {self.memory / 1e9:,.0f} GB"


def this_machine() -> Machine:
    """Return the machine that this runs on."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not report it
        memory = 16_000_000_000
    return Machine(os.cpu_count() or 1, float(memory))


def parse_machine(text: str) -> Machine:
    """Parse a machine written as ``16c64g``: cores and GB. Raises InputError for anything else.

    Examples:
        >>> print(parse_machine("16c64g"))
        16 cores and 64 GB
    """
    match = re.fullmatch(r"([1-9]\d{0,4})c([1-9]\d{0,5})gb?", text.strip().lower())
    if match is None:
        raise InputError(f"{text!r} is no machine: write its cores and its GB of memory, as 16c64g")
    return Machine(int(match[1]), 1e9 * int(match[2]))


@dataclass(frozen=True, slots=True)
class Plan:
    """The estimated needs of an index on a machine.

    Attributes:
        passages: The number of passages.
        machine: The machine.
        costs: The costs of a passage.
        disk: Bytes of one state of the index.
        room: Bytes of disk for an update that writes all texts next to it.
        memory: Bytes that a search allocates.
        warm: Bytes that every search reads from disk, which should fit into memory as well.
        encode: Core seconds to encode the passages.
        write: Core seconds to write the index.
        build: Seconds of the machine to build it.
        search: Seconds for one question.
        update: Seconds for one changed document.
        machines: The number of machines whose memory holds both ``memory`` and ``warm``.
        build_dollars: The price of building it.
        month_dollars: The price of a month of the machines.
    """

    passages: int
    machine: Machine
    costs: Costs
    disk: float
    room: float
    memory: float
    warm: float
    encode: float
    write: float
    build: float
    search: float
    update: float
    machines: int
    build_dollars: float
    month_dollars: float


def plan(passages: int, machine: Machine, costs: Costs = MEASURED) -> Plan:
    """Estimate what an index of this many passages takes.

    Examples:
        >>> plan(1_000_000, parse_machine("16c64g")).machines
        1
    """
    disk, memory = passages * costs.disk, costs.base_memory + passages * costs.memory
    warm = passages * (costs.vector + costs.words)
    encode, write = passages * costs.encode, passages * costs.write
    machines = max(1, math.ceil((memory + warm) / machine.memory))
    return Plan(
        passages=passages,
        machine=machine,
        costs=costs,
        disk=disk,
        room=disk + passages * costs.documents,
        memory=memory,
        warm=warm,
        encode=encode,
        write=write,
        build=encode / machine.cores + write,
        search=costs.base_search + min(passages, _CANDIDATES_GROW) * costs.search + passages * costs.scan,
        update=costs.update + (disk * costs.compare if disk <= QUICK else 0),
        machines=machines,
        build_dollars=(encode + write) / 3600 * CORE_HOUR,
        month_dollars=machines * machine.cores * HOURS_A_MONTH * CORE_HOUR,
    )


def costs_of(folder: str | Path) -> tuple[int, Costs]:
    """Return the number of passages of an index, and the measured costs adjusted to its size on disk per passage.

    Longer passages take longer to encode. With fewer than ``FEWEST_TO_TELL``, the costs are the measured ones unchanged.
    Raises IndexStateError if there is no index.
    """
    generation = require_generation(as_index_folder(folder))
    with closing(open_documents(generation)) as database:
        count_sentences = "SELECT COUNT(*) FROM sentences WHERE passage IN (SELECT id FROM passages)"
        query = f"SELECT COUNT(*), AVG(LENGTH(text)), ({count_sentences}) FROM passages"
        passages, characters, sentences = database.execute(query).fetchone()
    if passages < FEWEST_TO_TELL:
        return passages, MEASURED
    sizes: Counter[str] = Counter()
    for name, row in read_manifest(generation).items():
        sizes[name.rpartition("/")[2]] += row["bytes"]
    costs = replace(
        MEASURED,
        characters=characters,
        sentences=sentences / passages,
        vector=round((sizes["passages.npy"] + sizes["sentences.npy"]) / (passages + sentences)),
        documents=sum(size for name, size in sizes.items() if name.endswith(".db")) / passages,
        words=sum(size for name, size in sizes.items() if name.endswith(".words.npy")) / passages,
        encode=MEASURED.encode * characters / MEASURED.characters,
    )
    return passages, costs
