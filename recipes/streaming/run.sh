#!/usr/bin/env bash
# Live diarization against hindsight: what is said live, with and without compositions, what the last pass settles, and
# a batch run, on conversations between speakers whom no training has heard.
#   recipes/streaming/run.sh --speech DIR [--noise DIR] [--split dev-b] [--work DIR] [--latencies "1 2 5"]
#                            [--refine 20] [--conversations 20] [--seed 1] [--stage N] [--stop-stage N]
set -euo pipefail
speech='' noise='' split=dev-b work=work latencies='1 2 5' refine=20 conversations=20 seed=1
stage=0 stop_stage=3
. "$(dirname "$0")/../steps/parse_options.sh"
[ -d "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
mkdir -p "$work"

conversations() { # stages of the recipe of conversations, in the same folder
  "$here/../conversations/run.sh" --speech "$speech" --noise "$noise" --split "$split" --work "$work" \
    --conversations "$conversations" --seed "$seed" --backends 'links ckm' --stage "$1" --stop-stage "$1"
}
if wanted 0 "$conversations conversations of $split"; then
  conversations 0
fi
if wanted 1 "stream at latencies of $latencies s"; then
  for latency in $latencies; do
    log "latency $latency s"
    python "$here/stream.py" "$work/conversations" "$work" --latency "$latency"
  done
  python "$here/stream.py" "$work/conversations" "$work" --latency 2 --refine "$refine"
fi
if wanted 2 'batch runs'; then
  conversations 1
fi
if wanted 3 'scores'; then
  names=''
  for latency in $latencies; do
    names="$names live-$latency live-$latency-said live-$latency-alone settled-$latency"
  done
  names="$names live-2-$refine settled-2-$refine links ckm"
  for name in $names; do
    diarize score "$work/reference.rttm" "$work/$name" --json > "$work/$name.json"
  done
  # shellcheck disable=SC2086
  python "$here/../conversations/table.py" "$work" $names
fi
