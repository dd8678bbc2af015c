#!/usr/bin/env bash
# The network that hears where turns lie: make conversations and replayed talk of voices of dev-a, decode
# them, train, and print what the network makes of conversations of dev-b, and of real ones.
#   recipes/conversations/resegmentation.sh --speech "DIR DIR" --turns DIR --rooms DIR --noise "DIR DIR"
#                                           [--meetings DIR] [--work DIR] [--epochs N] [--stage N] [--stop-stage N]
set -euo pipefail
speech='' turns='' rooms='' noise='' meetings='' work=work epochs=8
stage=0 stop_stage=3
. "$(dirname "$0")/../steps/parse_options.sh"
[ -n "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
[ -d "$turns/ami-train" ] || refuse '--turns DIR with ami-train, ami-dev and voxconverse-dev is needed'
mkdir -p "$work"

voices=() sounds=()
for folder in $speech; do voices+=(--speech "$folder"); done
for folder in $noise; do sounds+=(--noise "$folder"); done
ami=(--turns "$turns/ami-train") broadcasts=(--turns "$turns/voxconverse-dev") measured=(--rooms "$rooms")

simulate() {  # NAME OPTIONS...
  [ -e "$work/.$1" ] && return
  diarize simulate "${voices[@]}" "${sounds[@]}" "${@:2}" --out "$work/$1" > /dev/null
  touch "$work/.$1"
}

if wanted 0 'conversations and replayed talk'; then
  simulate t1 --split dev-a --speakers 2-5 --conversations 80 --seconds 60 --overlap 0.08 --seed 101
  simulate t2 --split dev-a "${ami[@]}" --speakers 2-8 --conversations 30 --seconds 120 --seed 102
  simulate t3 --split dev-a "${broadcasts[@]}" --speakers 2-8 --conversations 30 --seconds 90 --seed 103
  simulate t4 --split dev-a --speakers 1-6 --conversations 60 --seconds 90 --overlap 0.15 --seed 104
  simulate t5 --split dev-a "${broadcasts[@]}" "${ami[@]}" --scene telephone --speakers 2-4 --conversations 24 \
    --seconds 90 --seed 105
  simulate t6 --split dev-a --speakers 2-5 --conversations 100 --seconds 60 --overlap 0.1 --seed 201
  simulate t7 --split dev-a "${ami[@]}" "${measured[@]}" --speakers 2-6 --conversations 60 --seconds 60 --seed 202
  simulate t8 --split dev-a "${broadcasts[@]}" "${measured[@]}" --speakers 2-6 --conversations 60 --seconds 60 \
    --seed 203
  simulate t9 --split dev-a "${broadcasts[@]}" "${ami[@]}" --scene telephone --speakers 2-4 --conversations 40 \
    --seconds 60 --seed 204
  simulate t10 --split dev-a "${ami[@]}" "${measured[@]}" --speakers 2-6 --conversations 90 --seconds 60 --seed 205
  simulate t11 --split dev-a "${ami[@]}" "${measured[@]}" --speakers 2-6 --conversations 90 --seconds 60 --seed 305
  simulate t12 --split dev-a "${broadcasts[@]}" "${ami[@]}" --scene telephone --speakers 2-4 --conversations 60 \
    --seconds 60 --seed 304
  simulate t13 --split dev-a --speakers 2-5 --conversations 100 --seconds 60 --overlap 0.1 --seed 301
  simulate t14 --split dev-a "${broadcasts[@]}" "${measured[@]}" --speakers 2-6 --conversations 60 --seconds 60 \
    --seed 303
  simulate t15 --split dev-a "${ami[@]}" --speakers 2-6 --conversations 80 --seconds 60 --seed 306
  simulate t16 --split dev-a "${broadcasts[@]}" "${ami[@]}" --scene telephone --speakers 2-4 --conversations 60 \
    --seconds 60 --seed 307
  simulate t17 --split dev-a --speakers 2-5 --conversations 80 --seconds 60 --overlap 0.1 --seed 308
  simulate read --split dev-b --speakers 2-5 --conversations 20 --seconds 60 --overlap 0.08 --seed 1
  simulate replayed --split dev-b --turns "$turns/ami-dev" --speakers 2-8 --conversations 16 --seconds 150 --seed 5
  simulate telephone --split dev-b "${broadcasts[@]}" --turns "$turns/ami-dev" --scene telephone --speakers 2-4 \
    --conversations 12 --seconds 90 --seed 7
fi
if wanted 1 'decode'; then
  for name in t{1..5}; do  # each recording in four ways
    python "$here/resegmentation.py" hear "$work/$name" "$work/$name.npz"
  done
  for name in t{6..17}; do  # each in one of them
    python "$here/resegmentation.py" hear "$work/$name" "$work/$name.npz" --once
  done
fi
if wanted 2 "$epochs epochs"; then
  python "$here/resegmentation.py" fit "$work"/t*.npz --epochs "$epochs" --out "$work/resegmenter.safetensors"
fi
if wanted 3 'what the network that ships is worth'; then
  for name in read replayed telephone; do
    printf '\n`%s`\n\n' "$name"
    python "$here/resegmentation.py" table "$work/$name"
  done
  [ -z "$meetings" ] || for name in calls ami; do
    printf '\n`%s`\n\n' "$name"
    python "$here/resegmentation.py" table "$meetings/$name" --real
  done
fi
