"""Write OLE files (MS-CFB), which are what Outlook's messages are."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

SECTOR, MINI, CUTOFF = 512, 64, 4096
END, FREE, FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def ole_file(storage: Mapping[str, Any]) -> bytes:
    """A file with these streams (bytes) and storages (mappings)."""
    entries: list[list[Any]] = []  # name, type, next sibling, first child, first sector, size
    small, small_chains = bytearray(), list[int]()
    sectors, chains = bytearray(), list[int]()

    def store(data: bytes, room: bytearray, links: list[int], size: int) -> int:
        first, count = len(links), -(-len(data) // size)
        room.extend(data.ljust(count * size, b"\0"))
        links.extend([*range(first + 1, first + count), END])
        return first

    def add(name: str, content: bytes | Mapping[str, Any], kind: int) -> int:
        entry = [name, kind, FREE, FREE, 0, 0]
        number = len(entries)
        entries.append(entry)
        if isinstance(content, bytes):
            place = (sectors, chains, SECTOR) if len(content) >= CUTOFF else (small, small_chains, MINI)
            entry[4:] = [store(content, *place) if content else END, len(content)]
            return number
        children = [add(child, inner, 2 if isinstance(inner, bytes) else 1) for child, inner in content.items()]
        for child, following in zip(children, [*children[1:], FREE], strict=True):
            entries[child][2] = following
        entry[3] = children[0] if children else FREE
        return number

    add("Root Entry", storage, 5)
    entries[0][4:] = [store(bytes(small), sectors, chains, SECTOR) if small else END, len(small)]
    small_fat = struct.pack(f"<{len(small_chains)}L", *small_chains)
    first_small_fat = (
        store(small_fat.ljust(-(-len(small_fat) // SECTOR) * SECTOR, b"\xff"), sectors, chains, SECTOR) if small else END
    )
    directory = b"".join(
        struct.pack(
            "<64sHBBLLL16xL16xLQ",
            f"{name}\0".encode("utf-16-le"),
            2 * len(name) + 2,
            kind,
            1,
            FREE,
            following,
            child,
            0,
            start,
            size,
        )
        for name, kind, following, child, start, size in entries
    )
    first_directory = store(directory, sectors, chains, SECTOR)
    count = next(n for n in range(1, 110) if n * SECTOR // 4 >= len(chains) + n)
    fat = [*range(len(chains), len(chains) + count)]
    table = [*chains, *[FAT] * count]
    table += [FREE] * (count * SECTOR // 4 - len(table))
    head = struct.pack(
        "<8s16xHHHHH6xLLLLLLLLL109L", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 62, 3, 0xFFFE, 9, 6, 0, count, first_directory, 0, CUTOFF,
        first_small_fat, -(-len(small_fat) // SECTOR), END, 0, *fat, *[FREE] * (109 - count),
    )  # fmt: skip
    return head + bytes(sectors) + struct.pack(f"<{len(table)}L", *table)
