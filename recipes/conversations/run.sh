#!/usr/bin/env bash
# Conversations between speakers whom no training has heard: simulate, run every backend, score, print the
# table of RESULTS.md.
#   recipes/conversations/run.sh --speech DIR [--noise DIR] [--split dev-b] [--work DIR]
#                                [--backends "ckm gcr ac oracle"] [--conversations 20] [--seed 1]
#                                [--stage N] [--stop-stage N]
set -euo pipefail
speech='' noise='' split=dev-b work=work backends='ckm gcr ac oracle' conversations=20 seed=1
stage=0 stop_stage=2
while [ $# -gt 0 ]; do
  case $1 in
    --speech | --noise | --split | --work | --backends | --conversations | --seed | --stage | --stop-stage)
      name=${1#--}
      declare "${name//-/_}=${2:?$1 needs a value}"
      shift 2
      ;;
    *) echo "$0: unknown option $1" >&2; exit 2 ;;
  esac
done
[ -d "$speech" ] || { echo "$0: --speech DIR with a speakers.tsv is needed" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"

log() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

if [ "$stage" -le 0 ] && [ "$stop_stage" -ge 0 ] && [ ! -e "$work/.simulated" ]; then
  log "stage 0: $conversations conversations of $split"
  diarize simulate "$speech" --split "$split" ${noise:+--noise "$noise"} --speakers 2-5 \
    --conversations "$conversations" --seconds 60 --overlap 0.08 --seed "$seed" \
    --out "$work/conversations" > "$work/conversations.tsv"
  cat "$work"/conversations/*.rttm > "$work/reference.rttm"
  touch "$work/.simulated"
fi
if [ "$stage" -le 1 ] && [ "$stop_stage" -ge 1 ]; then
  for backend in $backends; do
    log "stage 1: $backend"
    truth=()
    [ "$backend" = oracle ] && truth=(--reference "$work/reference.rttm")
    diarize run "$work"/conversations/*.flac --backend "$backend" "${truth[@]}" \
      --out "$work/$backend/" 2> "$work/$backend.log"
  done
fi
if [ "$stage" -le 2 ] && [ "$stop_stage" -ge 2 ]; then
  log 'stage 2: scores'
  for backend in $backends; do
    diarize score "$work/reference.rttm" "$work/$backend" --json > "$work/$backend.json"
  done
  # shellcheck disable=SC2086
  python "$here/table.py" "$work" $backends
fi
