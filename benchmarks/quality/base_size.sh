#!/usr/bin/env bash
# Retrieval with all-mpnet-base-v2 as it is, beside all-minilm-l6-v2: bash benchmarks/quality/base_size.sh ../shared/data runs/base-size
# With a third argument, -fitted, all-mpnet-base-v2 alone, by the weights that recipes/fit/fusion.py --write put in its folder.
set -euo pipefail
data=$1 work=$2 suffix=${3:-}
models="all-minilm-l6-v2 all-mpnet-base-v2" page=models other=minilm
[ -z "$suffix" ] || models=all-mpnet-base-v2 page=fusion other=mpnet
run() { # name, index, arguments of oreqa eval
  local name=$1$suffix index=$2
  shift 2
  [ -f "$work/$name/metrics.json" ] || oreqa eval "$@" --out "$work/$name" --index "$work/index-$index"
  python benchmarks/keep.py $page "$work/$name"
}
for model in $models; do
  size=${model#all-} size=${size%%-*}
  for mode in dense hybrid; do
    run "reqa-squad-$size-$mode" "squad-$size" reqa --data "$data/squad/squad-v1.1-dev.json.gz" \
      --sentences "$data/squad/reqa-squad-dev-sentences.jsonl.gz" --model $model --mode $mode
    run "selqa-test-$size-$mode" "selqa-$size" beir --data "$data/retrieval/selqa" --split test --model $model --mode $mode
    run "reqa-nq-$size-$mode" "nq-$size" reqa --data "$data/extractive/qed-nq-train.json.gz" --model $model --mode $mode
  done
done
for set in reqa-squad selqa-test reqa-nq; do
  for mode in dense hybrid; do
    oreqa compare "results/models/$set-$other-$mode" "results/$page/$set-mpnet-$mode$suffix" --json \
      > "results/$page/$set-mpnet-$mode$suffix/against-$other.json"
  done
done
