#!/usr/bin/env bash
# Every retrieval figure of docs/results/fusion.md: bash benchmarks/quality/retrieval.sh ../shared/data runs/retrieval
set -euo pipefail
data=$1 work=$2
squad=$data/squad
run() { # name, index, arguments of oreqa eval
  local name=$1 index=$2
  shift 2
  [ -f "$work/$name/metrics.json" ] || oreqa eval "$@" --model all-minilm-l6-v2 --out "$work/$name" --index "$work/index-$index"
  python benchmarks/keep.py fusion "$work/$name"
}
for mode in sparse dense hybrid; do
  run "reqa-squad-$mode" reqa reqa --data "$squad/squad-v1.1-dev.json.gz" \
    --sentences "$squad/reqa-squad-dev-sentences.jsonl.gz" --mode $mode
  run "multireqa-squad-$mode" multireqa reqa --data "$squad/squad-v1.1-dev.json.gz" \
    --sentences "$squad/multireqa-squad-dev-sentences.jsonl.gz" --mode $mode
  run "selqa-test-$mode" selqa beir --data "$data/retrieval/selqa" --split test --mode $mode
done
oreqa compare "$work"/reqa-squad-{sparse,hybrid} --json > results/fusion/reqa-squad-hybrid/against-sparse.json
oreqa compare "$work"/reqa-squad-{dense,hybrid} --json > results/fusion/reqa-squad-hybrid/against-dense.json
