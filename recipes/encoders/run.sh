#!/usr/bin/env bash
# A speaker encoder of others beside ours: export Resemblyzer's, fit its g, and measure set accuracy, DER and CRI
# on speakers and recordings that nothing was fitted to.
#   recipes/encoders/run.sh --speech "DIR DIR" --recordings "DIR DIR" [--rooms DIR] [--noise "DIR DIR"] [--work DIR]
#                           [--network FILE.onnx] [--batches N] [--passes N] [--rate R] [--episodes N]
#                           [--workers N] [--seed N] [--stage N] [--stop-stage N]
# --recordings: folders of recordings with their RTTM beside them, as `recipes/activity/run.sh` makes in stage 1.
# --network: another encoder, which is there; without it, Resemblyzer's is exported (extra `teacher`).
set -euo pipefail
speech='' recordings='' rooms='' noise='' work=work network='' batches=300 passes=5 rate=1e-3 episodes=300
workers=1 seed=0 stage=0 stop_stage=3
. "$(dirname "$0")/../steps/parse_options.sh"
[ -n "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
mkdir -p "$work"

voices=() sounds=()
for folder in $speech; do voices+=(--speech "$folder"); done
for folder in $noise; do sounds+=(--noise "$folder"); done
[ -n "$network" ] || network=$work/resemblyzer.onnx

if wanted 0 'export' && [ ! -e "$network" ]; then
  python "$here/export_resemblyzer.py" "$network"
fi
if wanted 1 "g, from $batches batches"; then
  diarize train composition --model "$network" "${voices[@]}" --split train --dev-split dev-a \
    --pool librispeech --pool vctk ${rooms:+--rooms "$rooms"} "${sounds[@]}" --batches "$batches" \
    --passes "$passes" --rate "$rate" --workers "$workers" --seed "$seed" | tee "$work/train.log"
fi
if wanted 2 "set accuracy on dev-b, $episodes episodes"; then
  for model in "$trained" "$network"; do
    printf '\n`%s`\n' "$model"
    python "$here/../embedding/report.py" "$model" "${speech%% *}" --episodes "$episodes"
  done
fi
if wanted 3 'whole recordings'; then
  mkdir -p "$work/mean"
  cp "$network" "$work/mean/mean.onnx" # without its g
  for folder in $recordings; do
    set=$(basename "$folder")
    cat "$folder"/*.rttm > "$work/$set.rttm"
    for model in "$trained" "$work/mean/mean.onnx" "$network"; do
      name=$(basename "$model" .onnx)
      diarize run "$folder" --model "$model" --cache "$work/cache" --out "$work/$set-$name/" 2>> "$work/$set.log"
      diarize score "$work/$set.rttm" "$work/$set-$name" --json > "$work/$set-$name.json"
    done
  done
  # shellcheck disable=SC2086
  python "$here/table.py" "$work" $recordings
fi
