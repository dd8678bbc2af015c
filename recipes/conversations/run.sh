#!/usr/bin/env bash
# Conversations between speakers whom no training has heard: simulate, run every backend, score, print the
# table of RESULTS.md.
#   recipes/conversations/run.sh --speech DIR [--noise DIR] [--split dev-b] [--work DIR]
#                                [--backends "ckm gcr ac oracle"] [--conversations 20] [--seed 1]
#                                [--hard-cases] [--stage N] [--stop-stage N]
# --hard-cases: further recordings (stage 3): one speaker alone, similar voices, one who dominates, ten minutes
# of silence, loud noise, a quiet far microphone; four of each.
set -euo pipefail
speech='' noise='' split=dev-b work=work backends='ckm gcr ac oracle' conversations=20 seed=1
hard_cases=false stage=0 stop_stage=3
. "$(dirname "$0")/../steps/parse_options.sh"
[ -d "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
mkdir -p "$work"

if wanted 0 "$conversations conversations of $split" && [ ! -e "$work/.simulated" ]; then
  diarize simulate "$speech" --split "$split" ${noise:+--noise "$noise"} --speakers 2-5 \
    --conversations "$conversations" --seconds 60 --overlap 0.08 --seed "$seed" \
    --out "$work/conversations" > "$work/conversations.tsv"
  cat "$work"/conversations/*.rttm > "$work/reference.rttm"
  touch "$work/.simulated"
fi
if wanted 1 "cluster with $backends"; then
  for backend in $backends; do
    log "$backend"
    truth=()
    [ "$backend" = oracle ] && truth=(--reference "$work/reference.rttm")
    diarize run "$work"/conversations/*.flac --model "$trained" --backend "$backend" "${truth[@]}" \
      --out "$work/$backend/" 2> "$work/$backend.log"
  done
fi
if wanted 2 'scores'; then
  for backend in $backends; do
    diarize score "$work/reference.rttm" "$work/$backend" --json > "$work/$backend.json"
  done
  # shellcheck disable=SC2086
  python "$here/table.py" "$work" $backends
fi
if $hard_cases && wanted 3 'hard cases'; then
  python "$here/hard_cases.py" make "$speech" "$split" "$work/hard" ${noise:+--noise "$noise"}
  cat "$work"/hard/*.rttm > "$work/hard.rttm"
  for backend in $backends; do
    truth=()
    [ "$backend" = oracle ] && truth=(--reference "$work/hard.rttm")
    diarize run "$work"/hard/*.flac --model "$trained" --backend "$backend" "${truth[@]}" \
      --out "$work/hard-$backend/" 2> "$work/hard-$backend.log"
    diarize score "$work/hard.rttm" "$work/hard-$backend" --json > "$work/hard-$backend.json"
    printf '\n`%s`\n\n' "$backend"
    python "$here/hard_cases.py" print "$work/hard-$backend.json"
  done
fi
