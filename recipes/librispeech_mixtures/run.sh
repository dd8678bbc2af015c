#!/usr/bin/env bash
# Tables 1 and 2 of "Compositional Clustering" (Li, He, Whitehill): segments of 2 s in which one, two or
# three of five unknown speakers speak, clustered into sets of speakers.
#   recipes/librispeech_mixtures/run.sh (--speech DIR | --librispeech DIR | --download | --smoke)
#     --speech DIR       speech with a speakers.tsv; validation on its dev-a, test on its dev-b
#     --librispeech DIR  LibriSpeech as published; validation on dev-clean, test on test-clean
#     --download         fetch these two subsets from openslr.org into WORK first
#     --smoke            synthesised voices, tiny sizes; two minutes
#   [--work work] [--model train/lstm-compositional] [--seed 0] [--trials 10] [--processes 1]
#   [--pool "librispeech vctk"]      corpora (beginnings of their names) taken as one
#   [--valid-split NAME] [--test-split NAME]
#   [--methods "gcr cap ..."] [--sizes "2:150 3:250 ..."]
#   [--without-g] [--train-options "--noise DIR ..."]  further table: an f trained without g (stage 6)
#   [--stage N] [--stop-stage N]  0 data, 1 trials, 2 embed, 3 tune, 4 cluster, 5 tables, 6 without g
set -euo pipefail
speech='' librispeech='' download=false smoke=false work=work model=train/lstm-compositional seed=0 trials=10
processes=1 pool='librispeech vctk' valid_split='' test_split='' without_g=false train_options=''
methods='gcr gcr-nearest gcr-counting gcr-untold cap ckm ckm-counting ap ac ac-counting fcm gmm osc centroids'
sizes='2:150 2:750 2:1500 2:7500 2:15000 3:250 3:1250 3:2500'
stage=0 stop_stage=6
. "$(dirname "$0")/../steps/parse_options.sh"
mkdir -p "$work"
valid_size=150 budget=() openslr=https://www.openslr.org/resources/12
if $smoke; then
  speech=$work/voices trials=2 sizes='2:30 3:25' valid_size=30 budget=(--budget 2)
fi
$download && librispeech=$work/LibriSpeech
if [ -n "$librispeech" ]; then
  speech=$work/speech valid_split=${valid_split:-dev-clean} test_split=${test_split:-test-clean}
fi
[ -n "$speech" ] || refuse 'speech is needed: --speech DIR, --librispeech DIR, --download or --smoke'
valid_split=${valid_split:-dev-a} test_split=${test_split:-dev-b}

if wanted 0 'data'; then
  if $download; then
    (
      cd "$work"
      for file in md5sum.txt dev-clean.tar.gz test-clean.tar.gz; do
        [ -e "$file" ] && continue
        curl --fail --location --continue-at - --output "$file.part" "$openslr/$file"
        mv "$file.part" "$file"
      done
      md5sum --check --ignore-missing md5sum.txt >&2
      for file in *-clean.tar.gz; do tar -xzf "$file"; done
    )
  fi
  if [ -n "$librispeech" ]; then python "$here/prepare.py" "$librispeech" "$speech"; fi
  if $smoke; then python "$here/voices.py" "$speech"; fi
fi
# shellcheck disable=SC2086  # below, lists of words are meant to be split
draw() { # PART SPLIT SIZES
  python "$here/trials.py" "$speech" "$work/$1" --split "$2" --pool $pool --trials "$trials" \
    --seed "$seed" --sizes $3
}
# shellcheck disable=SC2086
embed() { # FOLDER SPLIT MODEL
  python "$here/embed.py" "$speech" "$1" --split "$2" --pool $pool --model "$3"
}
# shellcheck disable=SC2086
experiment() { # STAGE WORK MODEL METHODS
  python "$here/experiment.py" "$1" "$2" --model "$3" --methods $4 --sizes $sizes --seed "$seed" \
    --valid-size "$valid_size" "${budget[@]}" --processes "$processes"
}
if wanted 1 "draw $trials trials of each size"; then
  draw valid "$valid_split" "2:$valid_size" > "$work/speech.md"
  draw test "$test_split" "$sizes" >> "$work/speech.md"
fi
if wanted 2 "embed them with $model"; then
  embed "$work/valid" "$valid_split" "$model"
  embed "$work/test" "$test_split" "$model"
fi
if wanted 3 'tune on the validation trials'; then
  experiment tune "$work" "$model" "$methods"
fi
if wanted 4 "cluster with $methods"; then
  experiment cluster "$work" "$model" "$methods"
fi
if wanted 5 'tables'; then
  cat "$work/speech.md"
  experiment print "$work" "$model" "$methods"
fi
if $without_g && wanted 6 'the baselines on an f that was trained without g'; then
  other=$work/without-g baselines='ap ac fcm gmm'
  # shellcheck disable=SC2086
  diarize train embedding --speech "$speech" --split train --max-set-size 1 $train_options \
    --seed "$seed" --out "$other" >> "$work/without-g.log"
  for part in valid test; do
    for folder in "$work/$part"/*; do
      mkdir -p "$other/$part/${folder##*/}"
      cp "$folder"/*.json "$other/$part/${folder##*/}"
    done
  done
  embed "$other/valid" "$valid_split" "$other/model.safetensors"
  embed "$other/test" "$test_split" "$other/model.safetensors"
  echo '# The baselines on an f that was trained without g'
  for part in tune cluster print; do
    experiment "$part" "$other" "$other/model.safetensors" "$baselines"
  done
fi
