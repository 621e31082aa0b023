#!/usr/bin/env bash
# A trial of the scripts beside it: a study of 24 parts on a real Slurm cluster of three nodes on this machine, with lavapipe as device.
# Meanwhile a task is killed, a node is lost, one is drained, and a task is preempted. Then the merged file must be whole: each case once,
# as in a run of the same plan that nothing disturbed, and no comparison may take the losses for a change. For comparison, the same study
# is also run without losses.
#
#   trial.sh             takes six minutes, prints a log, and fails where an expectation does
#   trial.sh --short     on the simulated device, where rows come fast: the same losses in about a minute, and no more
#
# Needs `lanescope` in PATH, what cluster.sh needs, and lavapipe.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

parts=24
# Several processes a case, as a study has: much of what is measured is then in the progress, and no row yet.
what=(memory/stream workgroup/linear -a op=copy -a 'width=1,4' -a 'n=2^16,2^18,2^20')
form=${1:-}
case $form in
  '') what+=(-d llvmpipe --processes 3 --max-time 300ms) ;;
  --short) what+=(-d mock --processes 6) ;;
  *) echo "trial.sh: unknown option $form" >&2; exit 2 ;;
esac

dir=$(mktemp -d /tmp/trial.XXXXXX)
# munged wants its socket where all may look.
chmod 755 "$dir"
study=$dir/'a study' reference=$dir/reference.csv
export SLURM_CONF=$dir/cluster/slurm.conf
# Nodes have no disk in common, but for the study's folder. Here they do; each task makes a folder of its own there.
export LANESCOPE_SCRATCH=$dir/scratch LANESCOPE_SAVE_EVERY=0.3
mkdir "$LANESCOPE_SCRATCH"
failures=0

log() { printf '%(%T)T  %s\n' -1 "$*"; }
expect() {
  local words=$1
  shift
  if "$@" >"$dir/last" 2>&1; then log "ok: $words"; return; fi
  log "NOT SO: $words"
  tail -n 5 "$dir/last" | sed 's/^/            /'
  failures=$((failures + 1))
}
clean_up() {
  "$here/cluster.sh" stop "$dir/cluster" || :
  if [ "$failures" = 0 ]; then rm -rf "$dir"; else log "kept: $dir"; fi
}
trap 'failures=1; exit 1' INT TERM
trap clean_up EXIT

# ---- what a file of rows has ------------------------------------------------------------------------------------------------

# The case of each line, twice where it stands twice.
ids() { grep -oE ',measured,c[0-9a-f]{16},' "$1" | cut -d, -f3 | sort; }
statuses() { lanescope merge --partial --quiet --format jsonl --columns case_id,status "$1" | grep -oE '"(status|case_id)":"[^"]*"' | paste - - | sort; }
is_same_study() { diff <(ids "$1") <(ids "$2") >"$dir/difference" && diff <(statuses "$1") <(statuses "$2") >"$dir/difference"; }
all_ok() { ! statuses "$1" | grep -v '"status":"ok"' >"$dir/difference"; }
# Both ways: no case takes three times as long for sure. Whatever else runs on this machine may make them slower by less.
nothing_changed() {
  local gates=(--fail-on slower:200% --fail-on broken --fail-on missing --fail-on wrong_result)
  lanescope compare --quiet "$1" "$2" "${gates[@]}" && lanescope compare --quiet "$2" "$1" "${gates[@]}"
}
verdicts() { lanescope compare --quiet "$reference" "$1" | sed '/ in all: \|^[0-9]* cases: \|cases are contended/!d; s/^/            /'; }
fails() { ! "$@" >"$dir/said" 2>&1; }

# ---- tasks ------------------------------------------------------------------------------------------------------------------

running_on() { squeue --noheader --name=lanescope-lavapipe --array --states=R --nodelist="$1" --format=%K; }
# Waits for a part on this node that is under way: it has something to keep, and something to lose.
begun_on() {
  local part
  for _ in {1..1800}; do
    for part in $(running_on "$1"); do
      if is_begun "$part" && tool_of "$part" >/dev/null; then echo "$part"; return; fi
    done
    sleep 0.1
  done
  return 1
}
is_begun() { tar -xOf "$study/lavapipe/$1.saved.tar" rows.csv.progress 2>/dev/null | grep '"visit"' >/dev/null; }
# The process that measures a part, and not its workers.
tool_of() { pgrep -fo -- "lanescope run .*--shard $1/$parts "; }
# What a part's log says behind the first line that has this.
after() { sed "0,/$2/d" "$study/lavapipe/$1.log"; }
# Whether a part went on with what was saved when this was in its log.
went_on() { after "$1" "$2" | grep -E 'going on with|rows? (is|are) kept' >/dev/null; }
began() { grep -h ' begins' "$study"/lavapipe/*.log | grep -c " $1, part" || :; }

submit() {
  began=$SECONDS
  "$here/study.sh" --folder "$1" "${@:2}" --kind lavapipe=gpu:1@lavapipe --shards "$parts" --preset default -- "${what[@]}" >"$dir/submitted"
}
finish() {
  local now last=''
  while [ -n "$(squeue --noheader)" ]; do
    now="$(find "$1/lavapipe" -name '[0-9]*.csv' | wc -l) of $parts parts are whole; $(sinfo --noheader --partition=low --Node --format='%N %T' | paste -sd,)"
    [ "$now" = "$last" ] || log "$now"
    last=$now
    sleep 4
  done
  log "the study ended after $((SECONDS - began)) s; gathered:"
  sed 's/^/            /' "$1/gather.log"
}

# ---- the trial --------------------------------------------------------------------------------------------------------------

log "reference: the same plan in one run, that nothing disturbs"
lanescope run --preset default "${what[@]}" -o "$reference" --quiet
log "$(ids "$reference" | wc -l) cases"
"$here/cluster.sh" start "$dir/cluster"
log "cluster: $(sinfo --noheader --partition=low --format='%D nodes, %N'), RequeueExit=75"
if [ -z "$form" ]; then
  log "a study of $parts parts begins, without losses"
  submit "$dir/calm"
  finish "$dir/calm"
  calm=$dir/calm/lavapipe.csv
  expect "the merged file has the reference's cases, once each, which ended alike" is_same_study "$reference" "$calm"
fi

log "a study of $parts parts begins, with losses"
submit "$study"

killed=$(begun_on n1)
log "n1 measures part $killed: the tool is killed, as by lack of memory"
kill -9 "$(tool_of "$killed")"

lost=$(begun_on n3)
log "n3 measures part $lost: the node loses its power, with part $(running_on n3 | paste -sd' ')"
"$here/cluster.sh" kill n3 "$dir/cluster"

log "n2 is drained; it still has part $(running_on n2 | paste -sd' ')"
scontrol update nodename=n2 state=drain reason=trial
sleep 1
began_on_n2=$(began n2)

preempted=$(begun_on n1)
log "n1 measures part $preempted: a job of a partition that comes first takes the node"
sbatch --partition=high --nodelist=n1 --exclusive --job-name=urgent --output=/dev/null --wrap='sleep 3' >/dev/null

finish "$study"

log 'what was lost'
expect "part $killed: its tool was killed, and it went on" went_on "$killed" 'exit code 137'
expect "part $lost: its node was lost, and it went on elsewhere" went_on "$lost" ' n3, part .* begins'
expect "part $preempted: preempted, and went on" went_on "$preempted" 'asked to end'
expect 'the drained node got no more parts' [ "$began_on_n2" = "$(began n2)" ]
expect 'the lost node is down' grep -q down <(sinfo --noheader --nodes=n3 --partition=low --format=%T)
log 'what there is'
merged=$study/lavapipe.csv
expect 'gathered: no case is missing, none is there twice' grep -q '0 missing, 0 twice' "$study/gather.log"
expect "the merged file has the reference's cases, once each, which ended alike" is_same_study "$reference" "$merged"
expect 'all have figures' all_ok "$merged"
expect 'no verdict takes the losses for a change, from the reference' nothing_changed "$reference" "$merged"
if [ -z "$form" ]; then
  expect 'nor from the study without losses' nothing_changed "$calm" "$merged"
  log 'verdicts from the reference, of the study without losses and of that with losses'
  verdicts "$calm"
fi
verdicts "$merged"
log 'planted errors'
case=$(ids "$merged" | head -n 1)
grep -v ",measured,$case," "$merged" >"$dir/lost.csv"
expect 'a lost row is found' fails is_same_study "$reference" "$dir/lost.csv"
{ cat "$merged"; grep ",measured,$case," "$merged"; } >"$dir/doubled.csv"
expect 'a doubled row is found' fails is_same_study "$reference" "$dir/doubled.csv"
part=$(grep -l ",measured,$case," "$study"/lavapipe/[0-9]*.csv)
mv "$part" "$dir/part.csv"
expect 'a lost part is found, and its case is named' fails "$here/gather.sh" "$study" lanescope
grep 'missing: ' "$dir/said" | sed 's/^/            /' | head -n 2
expect 'named so' grep -q "  missing: .*n=" "$dir/said"
log 'the study is submitted again, as before: only this part is measured'
submit "$study"
expect 'one task' [ "$(squeue --noheader --array --name=lanescope-lavapipe | wc -l)" = 1 ]
while [ -n "$(squeue --noheader)" ]; do sleep 0.5; done
expect 'the study is whole again' is_same_study "$reference" "$merged"
{ head -n 1 "$reference"; grep ",measured,$case," "$reference"; } >"$study/lavapipe/0.csv"
expect 'a part with another result of a case is found' fails "$here/gather.sh" "$study" lanescope
expect 'said so' grep 'more than one result' "$dir/said"

# Three nodes of one machine have one name, and lavapipe the same UUID everywhere: above, each node goes on with what another began.
# Machines that differ don't, as those with GPUs.
others() {
  log 'nodes with names of their own: what one began, another begins anew'
  scontrol update nodename=n2 state=resume
  "$here/cluster.sh" boot n3 "$dir/cluster"
  # shellcheck disable=SC2016 # for the nodes
  printf '%s\n' '#!/bin/sh' 'exec unshare --uts sh -c '\''hostname "$SLURMD_NODENAME"; exec "$@"'\'' sh "$@"' >"$dir/as-node"
  chmod +x "$dir/as-node"
  study=$dir/others parts=3
  submit "$study" --run-by "$dir/as-node"
  local lost node
  lost=$(begun_on n1,n2,n3)
  node=$(squeue --noheader --array --name=lanescope-lavapipe --format='%K %N' | sed -n "s/^$lost //p")
  log "$node measures part $lost: the node loses its power"
  "$here/cluster.sh" kill "$node" "$dir/cluster"
  scontrol update nodename="$node" state=down reason=trial
  finish "$study"
  expect "part $lost: began anew elsewhere" grep 'from the beginning' "$study/lavapipe/$lost.log"
  expect "the merged file has the reference's cases, once each, which ended alike" is_same_study "$reference" "$study/lavapipe.csv"
}
if [ -n "$form" ]; then :; elif unshare --uts true 2>/dev/null; then others; else log 'left out: nodes with names of their own (no right to)'; fi

log "$failures expectations failed"
[ "$failures" = 0 ]
