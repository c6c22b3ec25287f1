"""What an archive of the sources and a wheel hold."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILT = ("src", "recipes", "tests", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")


def build(kind: str, source: Path, out: Path) -> Path:
    out.mkdir()
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


@pytest.mark.system
def test_archive_and_wheel_are_whole(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in BUILT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, checkout / name, **({"symlinks": True} if (ROOT / name).is_dir() else {}))
    archive = build("sdist", checkout, tmp_path / "archive")
    with tarfile.open(archive) as packed:
        assert not [name for name in packed.getnames() if "/tests" in name]  # a few of them could not run
        packed.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    for source in (checkout, unpacked):
        with zipfile.ZipFile(build("wheel", source, tmp_path / f"wheel-of-{source.name}")) as wheel:
            names = set(wheel.namelist())
        assert {f"oreqa/recipes/{file.relative_to(ROOT / 'recipes')}" for file in ROOT.glob("recipes/[sp]*/*.toml")} <= names
        assert not [name for name in names if name.startswith("oreqa/recipes") and not name.endswith(".toml")]
        assert {"LICENSE", "src/oreqa/models/pack/LICENSE"} == {
            name.partition("/licenses/")[2] for name in names if "/licenses/" in name
        }
        assert "oreqa/models/pack/minilm-reader/difference.safetensors" in names
