#!/usr/bin/env bash
# Table 3 of "Compositional Clustering" (Li, He, Whitehill): sets of hand-written characters.
#   recipes/omniglot/run.sh --omniglot DIR [--work DIR] [--steps N] [--cooldown N] [--seed N]
#     [--sizes "150 750 ..."] [--methods "ckm gcr ..."] [--processes N] [--stage N] [--stop-stage N]
#   recipes/omniglot/run.sh --smoke [--work DIR]     all stages on made-up characters, a minute
# DIR holds images_background_small1.zip and images_background_small2.zip, or images_background.zip
# and images_evaluation.zip, as published at https://github.com/brendenlake/omniglot.
# Stages: 0 train f and g, 1 set accuracy, 2 trials, 3 tune, 4 cluster, 5 score and print.
# What was stopped goes on where it was: training at its last checkpoint, the rest at the next file.
set -euo pipefail
omniglot='' work=work steps=12000 cooldown=3500 seed=0 sizes='150 750 1500 7500 15000'
methods='gcr gcr-nearest gcr-counting cap ckm ckm-counting ap ac ac-counting fcm gmm osc centroids'
processes=1 smoke=false stage=0 stop_stage=5
. "$(dirname "$0")/../steps/parse_options.sh"
channels=32 trials=10 episodes=1000 valid_size=150 budget=()
if $smoke; then
  omniglot=$work/made-up channels=4 trials=2 episodes=10 steps=20 cooldown=10
  sizes=30 valid_size=30 budget=(--budget 2)
  python -m omniglot.made_up "$omniglot"
fi
[ -d "$omniglot" ] || refuse '--omniglot DIR with the archives, or --smoke, is needed'
mkdir -p "$work"

if wanted 0 "$steps steps of training"; then
  python -m omniglot.train "$omniglot" "$work" --steps "$steps" --cooldown "$cooldown" \
    --channels "$channels" --seed "$seed" | tee -a "$work/train.log" >&2
fi
if wanted 1 "set accuracy, $episodes episodes"; then
  python -m omniglot.report "$omniglot" "$work" --episodes "$episodes" --seed "$seed"
fi
# The lists of words below are meant to be split.
# shellcheck disable=SC2086
if wanted 2 "$trials trials of each size"; then
  python -m omniglot.trials "$omniglot" "$work" --sizes $sizes --valid-size "$valid_size" \
    --trials "$trials" --seed "$seed"
fi
# shellcheck disable=SC2086
table() {
  python -m omniglot.tables "$1" "$work" --methods $methods --sizes $sizes --seed "$seed" \
    --valid-size "$valid_size" "${budget[@]}" --processes "$processes"
}
if wanted 3 'tune on the validation trials'; then
  table tune
fi
if wanted 4 "cluster with $methods"; then
  table cluster
fi
if wanted 5 'scores and tables'; then
  table print
fi
