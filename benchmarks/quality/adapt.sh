#!/usr/bin/env bash
# Every figure of docs/results/adapt.md: bash benchmarks/quality/adapt.sh ../shared/data runs/adapt [all-minilm-l6-v2]
# Adapts an index of MedQuAD's answers without its questions, and asks these, SelQA's and NQ's before and after. Then SQuAD 2.0's,
# half of them unanswerable: is an adapted encoder's confidence worth as much?
set -euo pipefail
data=$1 work=$2
export OREQA_PRECISION=${OREQA_PRECISION:-bf16}
base=${3:-minilm-retriever}
adapted=$work/medquad/adapted/1/retriever
run() { # name, arguments of oreqa eval
  local name=$1
  shift
  [ -f "$work/$name/metrics.json" ] || oreqa eval "$@" --out "$work/$name"
}
run medquad-before beir --data "$data/retrieval/medquad" --split test --model $base
[ -d "$work/medquad" ] || cp -r "$work/medquad-before/index" "$work/medquad"
[ -f "$adapted/../report.json" ] || oreqa adapt --index "$work/medquad" --anyway --draw 2000 --answers 3 --round-trip 0.8 --json > "$work/adapt.json"
run medquad-after beir --data "$data/retrieval/medquad" --split test --model "$adapted"
run selqa-before beir --data "$data/retrieval/selqa" --split test --model $base
run selqa-after beir --data "$data/retrieval/selqa" --split test --model "$adapted"
run nq-before reqa --data "$data/extractive/qed-nq-train.json.gz" --held-out --model $base
run nq-after reqa --data "$data/extractive/qed-nq-train.json.gz" --held-out --model "$adapted"
squad2=$data/squad/squad-v2.0-dev.json.gz
python - "$squad2" "$work/squad2.jsonl" <<'PYTHON'
import json, random, sys
from pathlib import Path
from oreqa.datasets.paragraphs import load_squad
asked = [q for paragraph in load_squad(Path(sys.argv[1])) for q in paragraph.questions]
groups = [[q for q in asked if bool(q.answers) == answerable] for answerable in (True, False)]
with open(sys.argv[2], "w") as file:
    for q in (q for group in groups for q in random.Random(0).sample(group, 200)):
        file.write(json.dumps({"question": q.text, "answers": [a.text for a in q.answers]}) + "\n")
PYTHON
run squad2-index-before openqa --data "$squad2" --draw 1 --model $base
run squad2-index-after openqa --data "$squad2" --draw 1 --model "$adapted"
for when in before after; do
  run squad2-$when openqa --data "$work/squad2.jsonl" --index "$work/squad2-index-$when/index"
done
for task in medquad selqa nq squad2; do
  oreqa compare "$work/$task-before" "$work/$task-after"
done
