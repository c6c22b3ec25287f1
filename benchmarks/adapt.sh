#!/usr/bin/env bash
# Every figure of docs/results/adapt.md: bash benchmarks/adapt.sh ../shared/data runs/adapt
# Adapts an index of MedQuAD's answers without its questions, and asks these, SelQA's and NQ's before and after.
set -euo pipefail
data=$1 work=$2
adapted=$work/medquad/adapted/1/retriever
run() { # name, index, arguments of oreqa eval
  local name=$1 index=$2
  shift 2
  [ -f "$work/$name/metrics.json" ] || oreqa eval "$@" --out "$work/$name" --index "$work/$index"
}
run medquad-before medquad-before beir --data "$data/retrieval/medquad" --split test
[ -d "$work/medquad" ] || cp -r "$work/medquad-before" "$work/medquad"
[ -f "$adapted/../report.json" ] || oreqa adapt --index "$work/medquad" --json > "$work/adapt.json"
run medquad-after medquad-after beir --data "$data/retrieval/medquad" --split test --model "$adapted"
run selqa-before selqa-before beir --data "$data/retrieval/selqa" --split test
run selqa-after selqa-after beir --data "$data/retrieval/selqa" --split test --model "$adapted"
run nq-before nq-before reqa --data "$data/extractive/qed-nq-train.json.gz" --held-out
run nq-after nq-after reqa --data "$data/extractive/qed-nq-train.json.gz" --held-out --model "$adapted"
for task in medquad selqa nq; do
  oreqa compare "$work/$task-before" "$work/$task-after"
done
