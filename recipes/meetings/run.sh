#!/usr/bin/env bash
# Real meetings and broadcasts, as published: AMI (mixed headsets, or one distant microphone) and VoxConverse,
# by three protocols; published figures beside ours.
#   recipes/meetings/run.sh (--data DIR | --download) --corpus NAME [--split test] [--backends "ckm ac"]
#     --data DIR       a folder with the recordings, and the references in folders called like the split:
#                      of AMI the audio and github.com/BUTSpeechFIT/AMI-diarization-setup (its only_words),
#                      of VoxConverse the audio and github.com/joonson/voxconverse
#     --download       fetch them into WORK/data first (AMI's test meetings: 1 GB; VoxConverse test: 5 GB)
#     --corpus NAME    ami-headsets, ami-distant or voxconverse
#   [--work work] [--stage N] [--stop-stage N]  0 download, 1 pair audio and references, 2 run, 3 score
set -euo pipefail
data='' download=false corpus='' split=test work=work backends='ckm gcr cap ac'
stage=0 stop_stage=3
. "$(dirname "$0")/../steps/parse_options.sh"
case $corpus in
  ami-headsets) suffix=Mix-Headset ;;
  ami-distant) suffix=Array1-01 ;;
  voxconverse) suffix='' ;;
  *) refuse '--corpus is ami-headsets, ami-distant or voxconverse' ;;
esac
$download && data=$work/data
[ -n "$data" ] || refuse 'meetings are needed: --data DIR or --download'
mkdir -p "$work"

fetch() { # URL FILE: whole or not at all, going on where it stopped
  [ -e "$2" ] && return
  curl --fail --location --continue-at - --output "$2.part" "$1"
  mv "$2.part" "$2"
}
if $download && wanted 0 "download $corpus"; then
  mkdir -p "$data"
  if [ "$corpus" = voxconverse ]; then
    fetch "https://www.robots.ox.ac.uk/~vgg/data/voxconverse/data/voxconverse_${split}_wav.zip" "$data/audio.zip"
    fetch https://github.com/joonson/voxconverse/archive/refs/heads/master.tar.gz "$data/references.tar.gz"
    python -m zipfile -e "$data/audio.zip" "$data"
    tar -xzf "$data/references.tar.gz" -C "$data"
  else
    fetch https://github.com/BUTSpeechFIT/AMI-diarization-setup/archive/refs/heads/main.tar.gz "$data/setup.tar.gz"
    tar -xzf "$data/setup.tar.gz" -C "$data"
    while read -r meeting; do
      fetch "https://groups.inf.ed.ac.uk/ami/AMICorpusMirror/amicorpus/$meeting/audio/$meeting.$suffix.wav" \
        "$data/$meeting.$suffix.wav"
    done < "$data/AMI-diarization-setup-main/lists/$split.meetings.txt"
  fi
fi
if wanted 1 'recordings and their references'; then
  python "$here/pair.py" "$data" "$split" "$work/audio" ${suffix:+--suffix "$suffix" --below only_words}
fi
if wanted 2 "cluster with $backends"; then
  for backend in $backends; do
    log "$backend"
    diarize run "$work"/audio/*.wav --backend "$backend" --out "$work/$backend/" 2>> "$work/$backend.log"
  done
fi
if wanted 3 'scores'; then
  uem=()
  [ -e "$work/audio/all.uem" ] && uem=(--uem "$work/audio/all.uem")
  for backend in $backends; do
    score() { # PROTOCOL OPTIONS
      diarize score "$work/audio/all.rttm" "$work/$backend" "${uem[@]}" "${@:2}" --json \
        > "$work/$backend.$1.json" 2>> "$work/$backend.log"
    }
    score full
    score fair --collar 0.25
    score forgiving --collar 0.25 --skip-overlap
  done
  # shellcheck disable=SC2086
  python "$here/table.py" "$work" "$corpus" "$split" $backends
fi
