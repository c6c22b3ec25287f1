"""Install the wheel in fresh environments and ask a question there: seconds, megabytes, and what ``pip check`` says.

Run:  python benchmarks/speed/install.py --out results/speed/install.json [--python python3.11 python3.13]
      [--tools]          also as users of uv and pipx install programs (both come from PyPI)

Downloads finish before the clock starts: pip takes wheels from its cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oreqa.files import write_json

ROOT = Path(__file__).parents[2]
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def call(*words: object, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "OREQA_INDEX")}
    done = subprocess.run(list(map(str, words)), env={**kept, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def megabytes(folder: Path) -> float:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return round(sum(file.stat().st_size for file in files) / 1e6, 1)


def try_program(command: Path, work: Path) -> dict[str, Any]:
    """Index a file and ask about it with the installed command, without the network."""
    work.mkdir()
    (work / "tower.md").write_text("# Tower\n\nThe tower is 24 m tall. It was built in 1907.\n")
    offline = {"HF_HUB_OFFLINE": "1", "OREQA_CACHE": str(work / "cache"), "OREQA_INDEX": str(work / "kb")}
    begin = time.monotonic()
    call(command, "index", work / "tower.md", **offline)
    answer = json.loads(call(command, "ask", "How tall is the tower?", "--json", **offline))["answers"][0]
    healthy = json.loads(call(command, "doctor", "--json", **offline))["healthy"]
    return {"answer": answer["text"], "healthy": healthy, "first_answer_seconds": round(time.monotonic() - begin, 1)}


def with_pip(python: str, wheel: Path, work: Path) -> dict[str, Any]:
    call(python, "-m", "venv", work / "warm")
    call(work / "warm/bin/python", *PIP, "install", "--constraint", ROOT / "constraints.txt", wheel)
    call(python, "-m", "venv", work / "venv")
    begin, own = time.monotonic(), megabytes(work / "venv")
    call(work / "venv/bin/python", *PIP, "install", "--constraint", ROOT / "constraints.txt", wheel)
    seconds = round(time.monotonic() - begin, 1)
    return {
        "installer": "pip",
        "python": call(python, "-c", "import platform; print(platform.python_version())").strip(),
        "seconds": seconds,
        "megabytes": round(megabytes(work / "venv") - own, 1),
        "pip_check": call(work / "venv/bin/python", *PIP, "check").strip() or "no broken requirements",
        **try_program(work / "venv/bin/oreqa", work / "try"),
    }


def with_tool(tool: str, wheel: Path, work: Path) -> dict[str, Any]:
    call(sys.executable, "-m", "venv", work / "tools")
    call(work / "tools/bin/python", *PIP, "install", tool)
    places = {
        "UV_TOOL_DIR": str(work / "uv"),
        "UV_TOOL_BIN_DIR": str(work / "bin"),
        "PIPX_HOME": str(work / "pipx"),
        "PIPX_BIN_DIR": str(work / "bin"),
        "UV_PYTHON": sys.executable,
    }
    words = {"uv": ("tool", "install", wheel), "pipx": ("install", "--python", sys.executable, wheel)}[tool]
    begin = time.monotonic()
    call(work / "tools/bin" / tool, *words, **places)
    seconds = round(time.monotonic() - begin, 1)
    return {
        "installer": f"{tool} {call(work / 'tools/bin' / tool, '--version', **places).strip().removeprefix('uv ')}",
        "python": platform.python_version(),
        "seconds": seconds,
        "megabytes": megabytes(work / tool),
        **try_program(work / "bin/oreqa", work / "try"),
    }


def rows(pythons: Sequence[str], tools: bool, wheel: Path, work: Path) -> list[dict[str, Any]]:
    out = []
    for number, python in enumerate(pythons):
        (folder := work / str(number)).mkdir()
        out.append(with_pip(python, wheel, folder))
    for tool in ("uv", "pipx") if tools else ():
        (folder := work / tool).mkdir()
        out.append(with_tool(tool, wheel, folder))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--tools", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        call(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", work / "wheel", ROOT)
        (wheel,) = (work / "wheel").iterdir()
        result = {
            "wheel_megabytes": round(wheel.stat().st_size / 1e6, 1),
            "commit": call("git", "-C", ROOT, "describe", "--always", "--dirty").strip(),
            "installed": rows(options.python, options.tools, wheel, work),
        }
    print(json.dumps(result, indent=2))
    if options.out:
        write_json(options.out, result)


if __name__ == "__main__":
    main()
