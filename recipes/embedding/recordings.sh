#!/usr/bin/env bash
# Learning from one's own labelled recordings: conversations of dev-a in a far room teach, those of dev-b judge.
#   recipes/embedding/recordings.sh --speech DIR --speech-more DIR --noise DIR --rooms DIR [--work DIR] [--steps N]
#                                   [--stage N] [--stop-stage N]
set -euo pipefail
speech='' speech_more='' noise='' rooms='' work=work steps=300 stage=0 stop_stage=3
. "$(dirname "$0")/../steps/parse_options.sh"
[ -d "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
mkdir -p "$work"
channels=$here/../adaptation/channels.py

if wanted 0 'conversations of dev-a and dev-b, in the room'; then
  for of in dev-a:24:31 dev-b:20:32; do
    IFS=: read -r split count seed <<< "$of"
    diarize simulate --speech "$speech" ${speech_more:+--speech "$speech_more"} --split "$split" \
      ${noise:+--noise "$noise"} --speakers 2-5 \
      --seconds 75 --conversations "$count" --seed "$seed" --out "$work/dry-$split"
    python "$channels" room "$work/dry-$split" "$work/far-$split"
  done
fi
fitted=$work/fitted/model.safetensors
if wanted 1 "$steps steps on dev-a (goes on where it stopped)"; then
  diarize train embedding --recordings "$work/far-dev-a" --start "$trained" --speech "$speech" --split train \
    ${rooms:+--rooms "$rooms"} ${noise:+--noise "$noise"} --steps "$steps" --out "$work/fitted"
fi
if wanted 2 'windows of dev-b in the room'; then
  python "$here/recordings.py" "$work/far-dev-b" "$trained" "$fitted"
fi
if wanted 3 'diarization of dev-b in the room, and set accuracy as recorded'; then
  for model in "$trained" "$fitted"; do
    diarize run "$work"/far-dev-b/*.wav --model "$model" --out "$work/hypotheses-$(basename "$model")/"
    diarize score "$work/far-dev-b" "$work/hypotheses-$(basename "$model")"
  done
  python "$here/report.py" "$fitted" "$speech" --episodes 300
fi
