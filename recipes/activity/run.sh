#!/usr/bin/env bash
# The network that hears how many speak: render replayed talk and train on it, make recordings that nobody has
# trained on, print the tables of RESULTS.md.
#   recipes/activity/run.sh --speech "DIR DIR" --turns DIR --rooms DIR --noise "DIR DIR" [--meetings DIR] [--work DIR]
#                           [--steps N] [--device cpu|cuda] [--workers N] [--seed N] [--start FILE]
#                           [--teacher FILE] [--unlabelled "DIR DIR"] [--weights FILE] [--stage N] [--stop-stage N]
# --turns: a folder with ami-train, ami-dev and voxconverse-dev, of which every second recording is for training.
# --meetings: a folder with ami and calls, real recordings with their RTTM, diarized by the weights that ship; of
# voices of dev-b, by those of the split train.
# --teacher: weights that teacher.py wrote; --unlabelled: recordings that the teacher alone labels.
# --weights: measure this network in place of the one that stage 0 trains.
set -euo pipefail
speech='' turns='' rooms='' noise='' meetings='' work=work steps=4500 device=cpu workers=1 seed=0 start='' weights=''
teacher='' unlabelled=''
stage=0 stop_stage=3
. "$(dirname "$0")/../steps/parse_options.sh"
[ -n "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
[ -d "$turns/ami-train" ] || refuse '--turns DIR with ami-train, ami-dev and voxconverse-dev is needed'
mkdir -p "$work"

voices=() sounds=() recorded=()
for folder in $speech; do voices+=(--speech "$folder"); done
for folder in $noise; do sounds+=(--noise "$folder"); done
for folder in $unlabelled; do recorded+=(--unlabelled "$folder"); done
# What is named twice comes twice as often.
ami_dev=()
for _ in 1 2 3 4 5 6; do ami_dev+=(--dev-turns "$turns/ami-dev"); done

if wanted 0 "$steps steps (goes on where it stopped)"; then
  diarize train activity "${voices[@]}" --split train \
    --turns "$turns/ami-train" --turns "$turns/ami-train" --turns "$turns/voxconverse-dev:0/2" \
    --dev-split dev-a "${ami_dev[@]}" --dev-turns "$turns/voxconverse-dev:1/2" \
    ${rooms:+--rooms "$rooms"} "${sounds[@]}" ${start:+--start "$start"} \
    ${teacher:+--teacher "$teacher"} "${recorded[@]}" --steps "$steps" --seed "$seed" \
    --device "$device" --workers "$workers" --out "$work/network" | tee -a "$work/train.log"
fi
if wanted 1 'recordings with voices of dev-b' && [ ! -e "$work/.simulated" ]; then
  # Made rooms, not the measured ones, which training has heard.
  diarize simulate "${voices[@]}" --split dev-b --turns "$turns/ami-dev" "${sounds[@]}" --speakers 2-8 \
    --conversations 16 --seconds 150 --seed 5 --out "$work/replayed" > /dev/null
  diarize simulate "${voices[@]}" --split dev-b "${sounds[@]}" --speakers 2-5 --conversations 20 \
    --seconds 60 --overlap 0.08 --seed 1 --out "$work/conversations" > /dev/null
  touch "$work/.simulated"
fi
[ -n "$weights" ] || weights=$work/network/activity.safetensors
sets=("$work/replayed" "$work/conversations")
[ -n "$meetings" ] && sets+=(--real "$meetings/ami" "$meetings/calls")
if wanted 2 'what is heard'; then
  python "$here/measure.py" heard --weights "$weights" "${sets[@]}" | tee "$work/heard.md"
fi
if wanted 3 'what the pipeline makes of it'; then
  python "$here/measure.py" whole --weights "$weights" "${sets[@]}" | tee "$work/whole.md"
fi
