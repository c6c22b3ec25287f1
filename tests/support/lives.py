"""Documents about people, in which the rules of question generation find dates, numbers and names."""

from __future__ import annotations

from oreqa.core import Document

NAMES = ("Ada Lovelace", "Alan Turing", "Grace Hopper", "Emmy Noether", "Mary Somerville", "Kurt Goedel", "Rosa Parks")
LIVES = [
    Document(
        f"d{number}",
        f"The life of {name}",
        f"In {1800 + number} {name} moved to the city of Paris with {number + 2} friends. "
        f"There {name} read {number + 30} books about bees, and wrote the Book of Stars in {1900 + number}.",
    )
    for number, name in enumerate(NAMES)
]
