#!/usr/bin/env bash
# Learning through clustering. Stages 0 to 3: "Hard Regularization to Prevent Deep Online Clustering
# Collapse without Data Augmentation", tables 1 to 4: what keeps an encoder that is trained by its own
# clusters from collapsing, on the digits of scikit-learn, on speakers, and on MNIST or Fashion-MNIST.
# Stages 4 and 5: "Differentiable Clustering with Perturbed Spanning Forests": few labels and withheld classes
# (figure 4), on digits and speakers; f and g trained with the forest's loss, alone and added.
#   recipes/learning_through_clustering/run.sh [--speech DIR] [--idx DIR] [--work DIR] [--seeds 5]
#     [--methods "combination sinkhorn-knopp marginal-entropy sum-of-squares concrete-k-means none"]
#     [--levels "0 1 2 3"] [--epochs 40] [--forest-steps 400] [--smoke]
#     [--stage N] [--stop-stage N]
# --idx: a folder with train-images-idx3-ubyte[.gz] and train-labels-idx1-ubyte[.gz]. --speech: a folder
# with a speakers.tsv. Without them, their stages are left out. Finished runs are skipped.
set -euo pipefail
speech='' idx='' work=work seeds=5 levels='0 1 2 3' epochs=40 forest_steps=400 smoke=false
methods='combination sinkhorn-knopp marginal-entropy sum-of-squares concrete-k-means none'
stage=0 stop_stage=5
. "$(dirname "$0")/../steps/parse_options.sh"
if [ "$smoke" = true ]; then
  seeds=1 levels='0 3' epochs=2 forest_steps=3 methods='combination concrete-k-means none'
fi
mkdir -p "$work"
run() { python "$here/experiment.py" "$@" --work "$work" --methods $methods --seeds "$seeds" >&2; }

# shellcheck disable=SC2086
if wanted 0 'digits'; then
  run digits --levels $levels --epochs "$epochs"
fi
if [ -n "$speech" ] && wanted 1 'speakers'; then
  for split in dev-a dev-b; do
    run speech --folder "$speech" --split "$split" --epochs "$((2 * epochs))"
  done
fi
# shellcheck disable=SC2086
if [ -n "$idx" ] && wanted 2 'images in idx files'; then
  run idx --folder "$idx" --levels $levels --epochs "$((epochs / 2))"
fi
if wanted 3 'tables'; then
  python "$here/report.py" "$work"
fi
if wanted 4 'few labels and withheld classes (figure 4)'; then
  few() { python "$here/semi_supervised.py" run "$@" --work "$work" --seeds "$seeds" >&2; }
  few digits --steps "$((2 * forest_steps))"
  if [ -n "$speech" ]; then few speech --speech "$speech" --steps "$forest_steps"; fi
  python "$here/semi_supervised.py" report --work "$work" --plot "$work/semi-supervised.svg"
fi
if [ -n "$speech" ] && wanted 5 'f and g with the forest as a loss'; then
  python "$here/forest_training.py" --speech "$speech" --work "$work/forest" --steps "$forest_steps"
fi
