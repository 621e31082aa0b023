#!/usr/bin/env bash
# Gathers a study: merges what its tasks measured, names what is missing, compares, and makes a page.
#
#   gather.sh FOLDER LANESCOPE...     as study.sh submits it; LANESCOPE is the tool, and what runs it
#
# Exit code 1: a case is missing, or contradicts another row.
set -euo pipefail
shopt -s nullglob

folder=$1
shift
lanescope=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
worst=0

# Of rows: the key of each measured case, its status and its name, as JSON lines. Others of the key's columns come unasked.
cases() {
  "${lanescope[@]}" merge --partial --quiet --format jsonl --columns case_id,status,row_kind,experiment,variant "$1" |
    grep '"row_kind":"measured"'
}
ids() { grep -o '"case_id":"[^"]*"' | sort; }

# NAME FOLDER: what its parts have becomes NAME.csv, and what its plan has beyond that is named.
gather() {
  local name=$1 to=$2 parts=("$2"/[0-9]*.csv) whole=$folder/$1.csv
  rm -f "$whole"
  if [ ${#parts[@]} -eq 0 ]; then
    echo "$name: no part is whole (see $to/*.log)"
    return 1
  fi
  # Each GPU has only some of the cases. So the plan as a whole is checked here, and contradictions there.
  "${lanescope[@]}" merge --partial --quiet "${parts[@]}" -o "$whole" || { echo "$name: contradicts itself (see above)"; return 1; }
  cases "$whole" >"$work/rows" || :
  cases "$to/plan.csv" >"$work/plan" || { echo "$name: has no plan, so nobody knows what is missing"; return 1; }
  # Of several devices in one run, the plan has each case as often.
  ids <"$work/plan" >"$work/planned"
  { grep -v '"status":"\(planned\|not_run\)"' "$work/rows" || :; } | ids >"$work/there"
  comm -23 "$work/planned" "$work/there" >"$work/missing"
  comm -13 "$work/planned" "$work/there" >"$work/twice"
  echo "$name: $(wc -l <"$work/planned") cases planned, $(wc -l <"$work/there") measured;" \
    "$(wc -l <"$work/missing") missing, $(wc -l <"$work/twice") twice; $(tally <"$work/rows")"
  named missing
  named twice
  [ ! -s "$work/missing" ] && [ ! -s "$work/twice" ]
}

tally() { grep -o '"status":"[^"]*"' | cut -d'"' -f4 | sort | uniq -c | awk '{ printf "%s%s %s", sep, $1, $2; sep = ", " }'; }

# The cases of a list of ids, by the plan's names.
named() {
  { grep -F -f "$work/$1" "$work/plan" || :; } |
    sed -E "s/^\{\"experiment\":\"([^\"]*)\"(,\"variant\":\"([^\"]*)\")?(,\"axis_values\":\"([^\"]*)\")?.*/\1 \3 \5/; s/ +/ /g; s/ \$//; s/^/  $1: /"
}

files=()
for command in "$folder"/*/command; do
  to=${command%/command} name=${command%/command}
  name=${name##*/}
  gather "$name" "$to" || worst=1
  [ ! -e "$folder/$name.csv" ] || files+=("$folder/$name.csv")
done
[ ${#files[@]} -gt 0 ] || { echo 'nothing was measured'; exit 1; }

# What has one value in all rows can't be compared by it, and the file says so.
for column in driver_info device_name host; do
  # Hosts are told apart by their devices.
  pool=(--pool-devices)
  [ "$column" != host ] || pool=()
  "${lanescope[@]}" compare --quiet ${pool[@]+"${pool[@]}"} --by "$column" "${files[@]}" >"$folder/by-$column.txt" 2>&1 || :
  echo "by $column: $(head -n 2 "$folder/by-$column.txt" | tail -n 1 | sed 's/^error: \(--by [a-z_]*: \)\?//')"
done
"${lanescope[@]}" fleet --quiet "${files[@]}" >"$folder/fleet.txt" 2>&1 || :
"${lanescope[@]}" report --quiet "${files[@]}" -o "$folder/report.html" || worst=1
if [ "$worst" != 0 ]; then
  echo 'to measure what is missing: run study.sh again as before'
fi
exit "$worst"
