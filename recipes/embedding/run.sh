#!/usr/bin/env bash
# The shipped embedding `lstm-compositional`: train f and g, then report on speakers it has never heard.
#   recipes/embedding/run.sh --speech DIR --unlabelled DIR --noise DIR [--speech-more DIR]
#                            [--noise-more DIR] [--rooms DIR] [--work DIR] [--steps N]
#                            [--cooldown N] [--rate R] [--start MODEL] [--device cpu|cuda] [--processes N]
#                            [--beside 'MODEL...'] [--split NAME] [--workers N] [--seed N] [--stage N] [--stop-stage N]
# --start MODEL: begin with these weights rather than with drawn ones.
# --split '': the voices of all splits, as for what ships; then nothing is left to choose the best step by.
# --beside 'MODEL...': put what is trained beside these weights, as one more branch, and narrow all to 128 dimensions.
# --processes N: through torchrun, on as many GPUs or groups of cores; a step sees N times as many windows.
# Shifted voices and batches of MFCC need extras: pip install 'diarize-sets[shifts,torchaudio]'
set -euo pipefail
speech='' speech_more='' unlabelled='' noise='' noise_more='' rooms='' work=work steps=14000 cooldown=11000 rate=1.2e-3 start=''
device=cpu processes=1 workers=1 seed=0 beside='' split=train stage=0 stop_stage=2
. "$(dirname "$0")/../steps/parse_options.sh"
[ -d "$speech" ] || refuse '--speech DIR with a speakers.tsv is needed'
mkdir -p "$work"

if wanted 0 "$steps steps (goes on where it stopped)"; then
  command=(diarize)
  [ "$processes" -gt 1 ] && command=(torchrun --standalone "--nproc-per-node=$processes" --module diarize)
  "${command[@]}" train embedding --speech "$speech" ${speech_more:+--speech "$speech_more"} \
    ${split:+--split "$split" --dev-split dev-a} \
    --pool librispeech --pool vctk ${unlabelled:+--unlabelled "$unlabelled"} \
    ${noise:+--noise "$noise"} ${noise_more:+--noise "$noise_more"} ${rooms:+--rooms "$rooms"} --shifts ${start:+--start "$start"} \
    --steps "$steps" --cooldown "$cooldown" --rate "$rate" --every 500 --seed "$seed" \
    --device "$device" --workers "$workers" --out "$work" | tee -a "$work/train.log"
fi
model=$work/model.safetensors
[ -z "$beside" ] || model=$work/narrow.safetensors
if [ -n "$beside" ] && wanted 1 'side by side, narrowed'; then
  # shellcheck disable=SC2086
  python "$here/narrow.py" "$work/voices" "$model" $beside "$work/model.safetensors" ${rooms:+--rooms "$rooms"} \
    --noise ${noise:+"$noise"} ${noise_more:+"$noise_more"} | tee "$work/narrow.log"
fi
if wanted 2 'set accuracy on dev-b'; then
  python "$here/report.py" "$model" "$speech" ${speech_more:+"$speech_more"} --seconds 1.4 1 0.7
fi
