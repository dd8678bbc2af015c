#!/usr/bin/env bash
# The experiments of "Common Failure Modes of Subcluster-based Sampling in DPGMMs": what is found on
# Gaussian mixtures (figures 8, 14 to 16), how fast (7), how it deteriorates as clusters get denser (4),
# and the digits of scikit-learn by the protocol of table 1. Prints the tables of RESULTS.md.
#   recipes/dpgmm/run.sh [--work DIR] [--dims "2 3 5 10"] [--ks "10 20 40"] [--sets 10] [--rows 20000]
#                        [--k 20] [--iterations 200] [--methods "random kmeans splitnet bgm k-means em"]
#                        [--mnist DIR] [--smoke] [--stage N] [--stop-stage N]
# --k is the number of clusters in stages 1 and 2. --smoke: minutes, not hours; small sets, few methods.
# --mnist: a folder with the idx files of MNIST or Fashion-MNIST (t10k-images-idx3-ubyte[.gz],
# t10k-labels-idx1-ubyte[.gz]). Finished runs are skipped.
set -euo pipefail
work=work dims='2 3 5 10' ks='10 20 40' k=20 sets=10 rows=20000 iterations=200 mnist='' smoke=false
methods='random kmeans splitnet bgm k-means em'
stage=0 stop_stage=4
. "$(dirname "$0")/../steps/parse_options.sh"
if [ "$smoke" = true ]; then
  dims=2 ks=3 k=3 sets=2 rows=300 iterations=10 methods='random kmeans k-means em'
fi
mkdir -p "$work"
run() { python "$here/experiment.py" "$@" --work "$work" --methods $methods --sets "$sets" \
  --rows "$rows" --iterations "$iterations"; }

# shellcheck disable=SC2086
if wanted 0 'Gaussian mixtures (figures 8, 14, 15, 16)'; then
  for dim in $dims; do
    run mixtures --dim "$dim" --ks $ks
  done
fi
if wanted 1 'convergence (figure 7)'; then
  run convergence --dim 2 --ks "$k"
fi
if wanted 2 'denser clusters (figure 4)'; then
  for dim in $dims; do
    run density --dim "$dim" --ks "$k"
  done
fi
if wanted 3 'real data (table 1)'; then
  run digits
  if [ -n "$mnist" ]; then run mnist --folder "$mnist"; fi
fi
if wanted 4 'tables and plots'; then
  python "$here/report.py" "$work"
fi
