"""A cold `oreqa ask --reader none` over SQuAD's paragraphs against a script with sentence-transformers and FAISS.

Run:  python benchmarks/speed/cold_ask.py --data ../shared/data --work runs/cold      (needs the train extra)

`--reader none` answers with sentences. The script is the shortest that does the same; its vectors are computed beforehand.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from oreqa.models.folders import find_model

sys.path.append(str(Path(__file__).parents[1]))
from common import cold, process, report, squad, write_paragraph_files

QUESTION = "Which NFL team represented the AFC at Super Bowl 50?"
ANSWER = "Denver Broncos"

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
    ours = [oreqa, "ask", QUESTION, "--index", str(index), "--reader", "none"]
    script = [sys.executable, "-c", SCRIPT, str(theirs), model, QUESTION]
    report("speed/cold_ask", {"paragraphs": len(texts), **cold(ours, script, options.rounds, ANSWER)})


if __name__ == "__main__":
    main()
