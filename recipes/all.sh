#!/usr/bin/env bash
# Every recipe that runs here, one after the other; one that is finished at this commit is not run again.
#   recipes/all.sh [--data ../shared] [--work work/all] [--only "NAME ..."] [--table FILE]
#                  [--stage N] [--stop-stage N] [--dry-run] [--again]
# Says first what will run, for how many minutes on two idle cores (or as many as it took here before), and what is left
# out for want of something; --dry-run ends there. Stages are the lines of recipes/all.tsv, which has the command of
# each, what it needs of the folder --data, and the page that its tables belong to. What was stopped goes on where it
# was. A recipe that fails does not stop the others. Tables go to WORK/COMMIT/NAME/tables.md, which begins with commit
# and command; beside it is the log. Paths are taken from the repository's folder. What ships is not trained here: that
# takes days (stage 0 of recipes/embedding and recipes/activity).
set -euo pipefail
data=../shared work=work/all only='' table='' dry_run=false again=false stage=0 stop_stage=99
. "$(dirname "$0")/steps/parse_options.sh"
root=${here%/*} table=${table:-$here/all.tsv}
cd "$root"
export PYTHONPATH="$here:$PYTHONPATH" data
commit=$(git describe --always --dirty --exclude '*' 2> /dev/null || echo unknown)
mkdir -p "$work"
all=$(cd "$work" && pwd)

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
finished() { [ -e "$1/finished" ] && [ "$commit" = "${commit%-dirty}" ] && ! $again; }
took() { # NAME: minutes of its last run at any commit
  local file
  for file in $(ls -t "$all"/*/"$1"/finished 2> /dev/null); do
    echo "took $(($(cat "$file") / 60))"
    return
  done
}

# What will run: the lines of the table that are wanted and can be run.
names=() number=-1
while IFS=$'\t' read -r name minutes needs page command; do
  number=$((number + 1))
  [ "$stage" -le "$number" ] && [ "$stop_stage" -ge "$number" ] || continue
  [ -z "$only" ] || [[ " $only " == *" $name "* ]] || continue
  missing=$(lacking "$needs" | paste -sd, -)
  before=$(took "$name")
  if [ -n "$missing" ]; then
    said="left out: no $missing"
  elif finished "$all/$commit/$name"; then
    said='finished at this commit'
  else
    said="${before:-about $minutes} minutes"
    names+=("$name")
  fi
  printf '%2d  %-22s %s\n' "$number" "$name" "$said" >&2
done < <(tail -n +2 "$table")
for name in $only; do
  cut -f 1 "$table" | grep -qx -- "$name" || refuse "no recipe is called $name; $table lists them"
done
$dry_run && exit 0
[ "$commit" = "${commit%-dirty}" ] || log "the tree is not as committed: what is made now is made again next time"

failed=()
for name in ${names[@]+"${names[@]}"}; do
  command=$(awk -F '\t' -v name="$name" '$1 == name { print $5 }' "$table")
  own=$all/$commit/$name began=$SECONDS
  mkdir -p "$own"
  $again && rm -f "$own/finished"
  log "$name: $command"
  printf '<!-- commit %s: %s -->\n\n' "$commit" "$command" > "$own/tables.part"
  if work=$own bash -euo pipefail -c "$command" >> "$own/tables.part" 2>> "$own/log"; then
    mv "$own/tables.part" "$own/tables.md"
    echo $((SECONDS - began)) > "$own/finished"
  else
    failed+=("$name")
    log "$name failed: $own/log"
  fi
done

printf '\n| recipe | tables | for | commit | minutes |\n|---|---|---|---|---|\n'
while IFS=$'\t' read -r name minutes needs page command; do
  own=$all/$commit/$name
  [ -e "$own/finished" ] || continue
  echo "| $name | $own/tables.md | $page | $commit | $(($(cat "$own/finished") / 60)) |"
done < <(tail -n +2 "$table")
[ ${#failed[@]} = 0 ] || { log "failed: ${failed[*]}"; exit 1; }
