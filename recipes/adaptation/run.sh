#!/usr/bin/env bash
# What a person's own recordings and words are worth.
#   recipes/adaptation/run.sh --speech DIR [--noise DIR] [--work DIR] [--splits "dev-a dev-b"] [--stage N] [--stop-stage N]
# Stage 0: conversations over a telephone and in a room. 1: `diarize adapt` on ten of each. 2: the other thirty, told apart
# by the model as it was and as adapted. 3: table. 4: ten seconds of corrections, on 20 conversations of dev-b.
set -euo pipefail
speech='' noise='' work=work splits='dev-a dev-b' stage=0 stop_stage=4
. "$(dirname "$0")/../steps/parse_options.sh"
[ -d "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
mkdir -p "$work"
conversations() { # of a split, so many, as the recipe of conversations makes them
  "$here/../conversations/run.sh" --speech "$speech" --noise "$noise" --split "$1" \
    --conversations "$2" --work "$work/$1-$2" --seed 1 --stage 0 --stop-stage 0
}

error_rates() { # FOLDER MODEL WEIGHTS: of the other thirty, with both backends
  local backend
  for backend in ckm gcr; do
    diarize run "$1"/conversation_0[123]?.wav --backend "$backend" --model "$3" \
      --out "$1/$backend-$2/" 2> "$1/$backend-$2.log"
    diarize score "$1/reference.rttm" "$1/$backend-$2" --json > "$1/$backend-$2.json"
  done
}

for split in $splits; do
  for channel in telephone room; do
    own=$work/$channel/$split
    if wanted 0 "conversations, $channel, $split"; then
      conversations "$split" 40
      python "$here/channels.py" "$channel" "$work/$split-40/conversations" "$own"
      cat "$own"/conversation_0[123]?.rttm > "$own/reference.rttm"
    fi
    if wanted 1 "diarize adapt, $channel, $split"; then
      diarize adapt "$own"/conversation_00?.wav --model "$trained" --out "$own/aligned.safetensors" >&2
    fi
    if wanted 2 "error rates, $channel, $split"; then
      error_rates "$own" before "$trained"
      error_rates "$own" aligned "$own/aligned.safetensors"
    fi
  done
done
if wanted 3 'what it gains'; then
  python "$here/gains.py" "$work"
fi
if wanted 4 'ten seconds of corrections'; then
  conversations dev-b 20
  echo
  python "$here/corrections.py" "$work/dev-b-20/conversations" ac gcr ckm forest
fi
