#!/usr/bin/env bash
# The shipped embedding `lstm-compositional`: train f and g, then report on speakers it has never heard.
#   recipes/embedding/run.sh --speech DIR --unlabelled DIR --noise DIR [--work DIR] [--steps N]
#                            [--cooldown N] [--device cpu|cuda] [--processes N] [--workers N]
#                            [--stage N] [--stop-stage N]
# --processes N: through torchrun, on as many GPUs or groups of cores; a step sees N times as many windows.
# The teacher needs the extra: pip install 'diarize-sets[teacher,torchaudio]'
set -euo pipefail
speech='' unlabelled='' noise='' work=work steps=15000 cooldown=3500 device=cpu processes=1 workers=1
stage=0 stop_stage=1
. "$(dirname "$0")/../steps/parse_options.sh"
[ -d "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
mkdir -p "$work"

if wanted 0 "$steps steps (goes on where it stopped)"; then
  start=(diarize)
  [ "$processes" -gt 1 ] && start=(torchrun --standalone "--nproc-per-node=$processes" --module diarize)
  "${start[@]}" train embedding --speech "$speech" --split train --dev-split dev-a \
    --pool librispeech --pool vctk ${unlabelled:+--unlabelled "$unlabelled"} \
    ${noise:+--noise "$noise"} --teacher --steps "$steps" --cooldown "$cooldown" --every 500 \
    --device "$device" --workers "$workers" --seed 0 --out "$work" | tee -a "$work/train.log"
fi
if wanted 1 'set accuracy on dev-b, 1000 episodes'; then
  python "$here/report.py" "$speech" "$work/model.safetensors" dev-b 1000
fi
