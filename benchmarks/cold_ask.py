"""A whole cold `oreqa ask` over SQuAD's paragraphs, against the shortest script with sentence-transformers and FAISS.

Run:  python benchmarks/cold_ask.py --data ../shared/data --work runs/cold      (needs the train extra)
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from common import process, report, squad, write_paragraph_files

from oreqa.models.folders import find_model

QUESTION = "Which NFL team represented the AFC at Super Bowl 50?"

# What a user would write: the texts and their vectors are on disk, as ours are.
SCRIPT = """
import json, sys
import faiss
from sentence_transformers import SentenceTransformer
texts = json.load(open(sys.argv[1] + "/texts.json"))
index = faiss.read_index(sys.argv[1] + "/vectors.faiss")
model = SentenceTransformer(sys.argv[2], device="cpu")
scores, rows = index.search(model.encode([sys.argv[3]]), 3)
for score, row in zip(scores[0], rows[0]):
    print(score, texts[row])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/cold"))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    import faiss
    from sentence_transformers import SentenceTransformer

    theirs, index, model = options.work / "script", options.work / "index", str(find_model("all-minilm-l6-v2"))
    texts = [p.text for p in squad(options.data)]
    if not (theirs / "vectors.faiss").is_file():
        theirs.mkdir(parents=True, exist_ok=True)
        write_paragraph_files(squad(options.data), options.work / "texts")
        (theirs / "texts.json").write_text(json.dumps(texts))
        vectors = SentenceTransformer(model, device="cpu").encode(texts)
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        faiss.write_index(flat, str(theirs / "vectors.faiss"))
    oreqa = str(Path(sys.executable).parent / "oreqa")
    process([oreqa, "index", str(options.work / "texts"), "--index", str(index)])
    commands = {
        "ours": [oreqa, "ask", QUESTION, "--index", str(index)],
        "theirs": [sys.executable, "-c", SCRIPT, str(theirs), model, QUESTION],
    }
    runs: dict[str, list[tuple[float, int, str]]] = {"ours": [], "theirs": []}
    for round_ in range(options.rounds + 1):
        for name, command in commands.items():
            found = process(command)
            assert "Denver Broncos" in found[2], found[2]
            if round_:  # the first round warms the disk's cache for both
                runs[name].append(found)
    wall = [a[0] / b[0] for a, b in zip(runs["ours"], runs["theirs"], strict=True)]
    result = {
        "paragraphs": len(texts),
        "rounds": options.rounds,
        **{f"{n}_seconds": round(statistics.median(r[0] for r in found), 3) for n, found in runs.items()},
        **{f"{n}_peak_mb": round(max(r[1] for r in found) / 1e6) for n, found in runs.items()},
        "wall_ratio_median": round(statistics.median(wall), 3),
        "wall_ratio_max": round(max(wall), 3),
    }
    result["memory_ratio"] = round(result["ours_peak_mb"] / result["theirs_peak_mb"], 3)
    report("cold_ask", result)


if __name__ == "__main__":
    main()
