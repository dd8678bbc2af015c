#!/usr/bin/env bash
# Learning through clustering. Stages 0 to 3: "Hard Regularization to Prevent Deep Online Clustering
# Collapse without Data Augmentation", tables 1 to 4: what keeps an encoder that is trained by its own
# clusters from collapsing, on the digits of scikit-learn, on speakers, and on MNIST or Fashion-MNIST.
# Stages 4 and 5: "Differentiable Clustering with Perturbed Spanning Forests": few labels and withheld classes
# (figure 4), on digits and speakers; f and g trained with the forest's loss, alone and added.
#   recipes/learning_through_clustering/run.sh [--speech DIR] [--noise DIR] [--idx DIR] [--work DIR] [--seeds 5]
#     [--methods "combination sinkhorn-knopp marginal-entropy sum-of-squares concrete-k-means none"]
#     [--levels "0 1 2 3"] [--epochs 40] [--forest-steps 400] [--splits "dev-a dev-b"] [--smoke]
#     [--stage N] [--stop-stage N]
# Stage 6: `diarize adapt` on ten conversations over a telephone, or in a room, judged on 30 others.
# Stage 7: what ten seconds of corrections are worth, on 20 simulated conversations of dev-b.
# --idx: a folder with train-images-idx3-ubyte[.gz] and train-labels-idx1-ubyte[.gz]. --speech: a folder
# with a speakers.tsv. Without them, their stages are left out. Finished runs are skipped.
set -euo pipefail
speech='' noise='' idx='' work=work seeds=5 levels='0 1 2 3' epochs=40 forest_steps=400 smoke=false
methods='combination sinkhorn-knopp marginal-entropy sum-of-squares concrete-k-means none'
splits='dev-a dev-b' stage=0 stop_stage=7
. "$(dirname "$0")/../steps/parse_options.sh"
if [ "$smoke" = true ]; then
  seeds=1 levels='0 3' epochs=2 forest_steps=3 methods='combination concrete-k-means none'
fi
mkdir -p "$work"
conversations() { # of a split, so many, as the recipe of conversations makes them
  "$here/../conversations/run.sh" --speech "$speech" --noise "$noise" --split "$1" \
    --conversations "$2" --work "$work/$1-$2" --seed 1 --stage 0 --stop-stage 0
}
run() { python "$here/experiment.py" "$@" --work "$work" --methods $methods --seeds "$seeds"; }

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
  python "$here/semi_supervised.py" run digits --work "$work" --seeds "$seeds" --steps "$((2 * forest_steps))"
  if [ -n "$speech" ]; then
    python "$here/semi_supervised.py" run speech --speech "$speech" --work "$work" --seeds "$seeds" \
      --steps "$forest_steps"
  fi
  python "$here/semi_supervised.py" report --work "$work" --plot "$work/semi-supervised.svg"
fi
if [ -n "$speech" ] && wanted 5 'f and g with the forest as a loss'; then
  python "$here/forest_training.py" --speech "$speech" --work "$work/forest" --steps "$forest_steps"
fi
if [ -n "$speech" ] && wanted 6 'adaptation'; then
  for split in $splits; do
    conversations "$split" 40
    for channel in telephone room; do
      own="$work/$channel/$split"
      log "$channel, $split"
      python "$here/channels.py" "$channel" "$work/$split-40/conversations" "$own"
      cat "$own"/conversation_0[123]?.rttm > "$own/reference.rttm"
      diarize adapt "$own"/conversation_00?.wav --model "$trained" --out "$own/aligned.safetensors"
      python "$here/last_layer.py" "$own"/conversation_00?.wav --out "$own/trained.safetensors"
      for backend in ckm gcr; do
        for model in shipped aligned trained; do
          weights=$trained
          if [ "$model" != shipped ]; then weights="$own/$model.safetensors"; fi
          found="$own/$backend-$model"
          diarize run "$own"/conversation_0[123]?.wav --backend "$backend" --model "$weights" \
            --out "$found/" 2> "$found.log"
          diarize score "$own/reference.rttm" "$found" --json > "$found.json"
        done
      done
    done
  done
  python "$here/gains.py" "$work"
fi
if [ -n "$speech" ] && wanted 7 'ten seconds of corrections'; then
  conversations dev-b 20
  python "$here/corrections.py" "$work/dev-b-20/conversations" ac gcr ckm forest
fi
