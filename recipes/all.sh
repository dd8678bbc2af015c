#!/usr/bin/env bash
# Every recipe that runs here, one after the other; one whose tables are of the present code is not run again.
#   recipes/all.sh [--data ../shared] [--work work/all] [--only "NAME ..."] [--table FILE]
#                  [--stage N] [--stop-stage N] [--dry-run] [--again]
# Says first what will run, for how many minutes on two idle cores, and what is left out for want of something; --dry-run
# ends there. Stages are the lines of recipes/all.tsv, which has the command of each, what it needs of the folder --data,
# the code that it rests on (-: all of diarize, and the folders of its command), and the page that speaks of its tables.
# Tables go to recipes/tables/NAME.md, which begins with commit, code, minutes and command, and are for committing: they
# stay true until that code changes. What was stopped goes on where it was, in WORK/CODE/NAME, which also has the log. A
# recipe that fails does not stop the others. Paths are taken from the repository's folder. What ships is not trained
# here: that takes days (stage 0 of recipes/embedding and recipes/activity).
set -euo pipefail
data=../shared work=work/all only='' table='' dry_run=false again=false stage=0 stop_stage=99
. "$(dirname "$0")/steps/parse_options.sh"
root=${here%/*} table=${table:-$here/all.tsv}
cd "$root"
export PYTHONPATH="$here:$PYTHONPATH" data
export OMP_WAIT_POLICY=passive # as the command line has it: threads that spin slow down whatever runs beside this
commit=$(git rev-parse --short HEAD)
mkdir -p "$work" "$here/tables"
all=$(cd "$work" && pwd)
if [ -d "$data" ] && ! $dry_run; then # people who have two names must not be told apart
  people=$({ realpath "$data"; cat "$here/steps/people.tsv"; } | git hash-object --stdin | cut -c 1-10)
  python "$here/steps/people.py" view "$data" "$all/$people/data"
  data=$all/$people/data
fi

resting() { # PATHS COMMAND: names the code that a recipe rests on, by its content; nothing where it is not as committed
  local paths=$1
  [ "$paths" != - ] || paths="diarize models benchmarks recipes/steps $(grep -o 'recipes/[a-z_]*/' <<< "$2" || true)"
  paths="$paths :!*.md :!recipes/all.sh :!recipes/all.tsv"
  # shellcheck disable=SC2086
  git diff --quiet HEAD -- $paths && { git ls-files -s -- $paths; echo "$2"; } | git hash-object --stdin | cut -c 1-10
}

lacking() { # NEEDS: prints what is not there
  local need
  for need in $1; do
    case $need in
      -) ;;
      module:*) python -c "import ${need#module:}" 2> /dev/null || echo "the module ${need#module:}" ;;
      *) [ -e "$data/$need" ] || echo "$data/$need" ;;
    esac
  done
}
said_of() { # NAME WORD: the word's value at the head of its tables, before the command
  sed -nE "1s/^<!-- ([^:]*, )?$2 ([^ ,:]+)[,:].*/\2/p" "$here/tables/$1.md" 2> /dev/null || true
}

tidy() { # FOLDER: leaves out lines that name files in it, and puts an empty line around each table
  awk -v folder="$1" 'function put() {
      if (above != "" && line != "" && ($0 ~ /^\|---/ || (line ~ /^\|/) != (above ~ /^\|/))) print ""
      if (line != "" || above != "") print line
      above = line
    }
    index($0, folder) { next }
    NR > 1 { put() }
    { line = $0 }
    END { $0 = ""; put() }'
}

present() { # NAME: are its tables of the present code?
  ! $again && [ -n "${codes[$1]}" ] && [ "$(said_of "$1" code)" = "${codes[$1]}" ]
}

# What will run: the lines of the table that are wanted and can be run.
names=() number=-1
declare -A commands codes
while IFS=$'\t' read -r name minutes needs rests page command; do
  number=$((number + 1))
  [ "$stage" -le "$number" ] && [ "$stop_stage" -ge "$number" ] || continue
  [ -z "$only" ] || [[ " $only " == *" $name "* ]] || continue
  missing=$(lacking "$needs" | paste -sd, -)
  codes[$name]=$(resting "$rests" "$command" || true) commands[$name]=$command
  if present "$name"; then
    said="of the present code, at commit $(said_of "$name" commit)"
  elif [ -n "$missing" ]; then
    said="left out: no $missing"
  else
    said="about $minutes minutes"
    names+=("$name")
  fi
  printf '%2d  %-22s %s\n' "$number" "$name" "$said" >&2
done < <(tail -n +2 "$table")
for name in $only; do
  cut -f 1 "$table" | grep -qx -- "$name" || refuse "no recipe is called $name; $table lists them"
done
$dry_run && exit 0

failed=()
for name in ${names[@]+"${names[@]}"}; do
  if present "$name"; then continue; fi # made beside this meanwhile
  code=${codes[$name]:-changed} began=$SECONDS
  own=$all/$code/$name
  [ "$code" != changed ] || log "$name: its code is not as committed: what is made now is made again next time"
  mkdir -p "$own"
  log "$name: ${commands[$name]}"
  if work=$own bash -euo pipefail -c "${commands[$name]}" > "$own/tables.part" 2>> "$own/log"; then
    minutes=$(((SECONDS - began + 59) / 60))
    { printf '<!-- commit %s, code %s, minutes %s: %s -->\n\n' "$commit" "$code" "$minutes" "${commands[$name]}"
      tidy "$own" < "$own/tables.part"; } > "$own/tables.md"
    mv "$own/tables.md" "$here/tables/$name.md"
    echo "recipes/tables/$name.md"
  else
    failed+=("$name")
    log "$name failed: $own/log"
  fi
done
[ ${#failed[@]} = 0 ] || { log "failed: ${failed[*]}"; exit 1; }
