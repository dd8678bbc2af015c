# Sourced by every run.sh, after it has given each of its options a default:
#   speech='' seed=1 smoke=false stage=0 stop_stage=2
#   . "$(dirname "$0")/../steps/parse_options.sh"
# `--stop-stage 1` sets stop_stage=1; an option whose default is false takes no value and becomes
# true; --help prints the comment at the head of the recipe. A smoke run works in $work/smoke. Leaves $here,
# the recipe's folder, $trained, the weights of trained.py, and PYTHONPATH such that its programs can
# import `steps`.
set -euo pipefail

refuse() { echo "$0: $*" >&2; exit 2; }
log() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }
# wanted N TEXT: is stage N among those asked for? Logs it when it is.
wanted() { [ "$stage" -le "$1" ] && [ "$stop_stage" -ge "$1" ] && log "stage $1: $2"; }

while [ $# -gt 0 ]; do
  option=${1#--}
  option=${option//-/_}
  case $1 in
    --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --[a-z]*) [[ $option =~ ^[a-z_0-9]+$ && -n ${!option+set} ]] || refuse "unknown option $1" ;;
    *) refuse "unknown option $1" ;;
  esac
  if [ "${!option}" = false ]; then
    declare "$option=true"
    shift
  else
    [ $# -ge 2 ] || refuse "$1 needs a value"
    declare "$option=$2"
    shift 2
  fi
done
unset option
# What is finished in minutes must not be taken for the whole.
if [ "${smoke:-false}" = true ]; then work=$work/smoke; fi
trained=train/lstm-compositional
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH="${here%/*}${PYTHONPATH:+:$PYTHONPATH}"
