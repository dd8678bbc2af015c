#!/usr/bin/env bash
# The shipped embedding `lstm-compositional`: train f and g, then report on speakers it has never heard.
#   recipes/embedding/run.sh --speech DIR --unlabelled DIR --noise DIR [--work DIR] [--steps N]
#                            [--cooldown N] [--device cpu|cuda] [--workers N] [--stage N] [--stop-stage N]
# The teacher needs the extra: pip install 'diarize-sets[teacher,torchaudio]'
set -euo pipefail
speech='' unlabelled='' noise='' work=work steps=15000 cooldown=3500 device=cpu workers=1
stage=0 stop_stage=1
while [ $# -gt 0 ]; do
  case $1 in
    --speech | --unlabelled | --noise | --work | --steps | --cooldown | --device | --workers | --stage | --stop-stage)
      name=${1#--}
      declare "${name//-/_}=${2:?$1 needs a value}"
      shift 2
      ;;
    *) echo "$0: unknown option $1" >&2; exit 2 ;;
  esac
done
[ -d "$speech" ] || { echo "$0: --speech DIR with a speakers.tsv is needed" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"

log() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

if [ "$stage" -le 0 ] && [ "$stop_stage" -ge 0 ]; then
  log "stage 0: $steps steps (goes on where it stopped)"
  diarize train embedding --speech "$speech" --split train --dev-split dev-a \
    --pool librispeech --pool vctk ${unlabelled:+--unlabelled "$unlabelled"} \
    ${noise:+--noise "$noise"} --teacher --steps "$steps" --cooldown "$cooldown" --every 500 \
    --device "$device" --workers "$workers" --seed 0 --out "$work" | tee -a "$work/train.log"
fi
if [ "$stage" -le 1 ] && [ "$stop_stage" -ge 1 ]; then
  log 'stage 1: set accuracy on dev-b, 1000 episodes'
  python "$here/report.py" "$speech" "$work/model.safetensors" dev-b 1000
fi
