#!/usr/bin/env bash
# One task of a study: measures one part of a plan. Whatever ends it, it can run again on any node.
#
#   task.sh FOLDER PARTS MOST COMMAND...     as study.sh submits it; COMMAND is `lanescope run` and what it is to measure
#
# All nodes see FOLDER. Of part 7 it has:
#
#   7.csv         its rows, once they are whole: then nobody measures it again
#   7.saved.tar   what there is before that, rows and progress: whoever runs part 7 next goes on from there
#   7.failures    a line for each try that failed. MOST of them are tried again, since Slurm itself would go on for ever
#
# LANESCOPE_SCRATCH (else TMPDIR, else /tmp) is a local folder to work in; every LANESCOPE_SAVE_EVERY seconds (60) it is saved.
set -euo pipefail

folder=$1 parts=$2 most=$3
shift 3
command=("$@")
part=$SLURM_ARRAY_TASK_ID
saved=$folder/$part.saved.tar
try=$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}
work='' child='' saver='' asked=''

say() { printf '%(%T)T %s, part %s of %s: %s\n' -1 "${SLURMD_NODENAME:-}" "$part" "$parts" "$*"; }

# A file appears under its name when it is whole: a node may be lost at any time, and other tasks publish as well.
publish() {
  local new=$2.$try.$BASHPID
  cp "$1" "$new" && mv "$new" "$2"
}

# Progress goes before rows: a case that gets its row meanwhile is then in both, not in neither. A file may grow while it is read: the
# tool drops half a line. What can't be saved now is saved next time.
save() {
  local file files=() new=$saved.$try.$BASHPID
  for file in rows.csv.progress rows.csv.part rows.csv; do [ ! -e "$work/$file" ] || files+=("$file"); done
  [ ${#files[@]} -gt 0 ] || return 0
  tar --warning=no-file-changed -cf "$new" -C "$work" "${files[@]}" || [ $? -eq 1 ] || { rm -f "$new"; return 0; }
  mv "$new" "$saved"
}

save_from_time_to_time() { while sleep "${LANESCOPE_SAVE_EVERY:-60}"; do save; done; }

# Slurm says TERM before it takes the node away. The tool ends after the current sample, and the trap ends `wait`.
# shellcheck disable=SC2317 # a trap
stop() {
  asked=yes
  [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || :
}

# What it was about to save is older than what is saved next.
end_saver() {
  [ -n "$saver" ] || return 0
  kill "$saver" 2>/dev/null || :
  wait "$saver" 2>/dev/null || :
  saver=''
}

# shellcheck disable=SC2317 # a trap
clean_up() {
  end_saver
  rm -rf "$work"
}

# Puts its exit code into `code`.
measure() {
  "${command[@]}" --shard "$part/$parts" --resume "$work/rows.csv" &
  child=$!
  [ -z "$asked" ] || stop
  while code=0; wait "$child" || code=$?; [ -n "$asked" ] && kill -0 "$child" 2>/dev/null; do :; done
  child=''
}

# A site with RequeueExit=75 does it for this exit code; on others the task asks for it, and Slurm ends it. Who cancelled the task
# wants no other: it no longer runs then.
again() {
  clean_up
  if ! scontrol show config | grep -E '^RequeueExit +=.*\<75\>' >/dev/null &&
    [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T)" = RUNNING ]; then
    # It prints whatever other tasks of the array are about.
    scontrol requeue "$SLURM_JOB_ID" >/dev/null 2>&1 || :
    sleep 60 & wait $!
  fi
  exit 75
}

# Vulkan shows all GPUs of a node, also where Slurm gives the job only some, unless the site confines jobs to theirs. The number that
# Slurm gives is nvidia-smi's; the UUID is Vulkan's as well.
name_gpus() {
  local uuid
  [[ -n ${CUDA_VISIBLE_DEVICES:-} && " ${command[*]} " != *' -d'* && " ${command[*]} " != *' --device'* ]] || return 0
  command -v nvidia-smi >/dev/null || return 0
  for uuid in $(nvidia-smi --id="$CUDA_VISIBLE_DEVICES" --query-gpu=uuid --format=csv,noheader); do
    command+=(-d "${uuid#GPU-}")
  done
}

trap stop TERM
trap clean_up EXIT
[ ! -e "$folder/$part.csv" ] || { say 'whole already'; exit 0; }
work=$(mktemp -d "${LANESCOPE_SCRATCH:-${TMPDIR:-/tmp}}/lanescope.XXXXXX")
name_gpus
say "begins${SLURM_RESTART_COUNT:+, after $SLURM_RESTART_COUNT restarts}"
if [ ! -e "$folder/plan.csv" ]; then
  # What is wrong with the plan, the run itself says.
  if "${command[@]}" --dry-run --quiet --output "$work/plan.csv" 2>/dev/null; then publish "$work/plan.csv" "$folder/plan.csv" || :; fi
fi
if [ -e "$saved" ]; then tar -xf "$saved" -C "$work" || rm -rf "${work:?}"/*; fi
save_from_time_to_time & saver=$!

[ -n "$asked" ] || measure
if [[ ${code:-} = 2 && -z $asked && -e $saved ]]; then
  # Rows of two GPUs are no run of one: the part begins anew on this one. If it can't, what is saved stays for the other.
  rm -rf "${work:?}"/*
  say 'what is saved can'\''t be gone on with here (see above): from the beginning'
  measure
fi

end_saver
# With 1, a case failed, and its row says why.
if [[ ${code:-} = [01] && -e $work/rows.csv ]] && publish "$work/rows.csv" "$folder/$part.csv"; then
  rm -f "$saved"
  say "whole, exit code $code"
  exit "$code"
fi
save
if [ -n "$asked" ]; then
  say 'asked to end: saved, to go on later'
  again
fi
say "exit code $code"
[ "$code" != 2 ] || exit 2
echo "$(date -u +%FT%TZ) ${SLURMD_NODENAME:-}: exit code $code" >>"$folder/$part.failures"
failures=$(wc -l <"$folder/$part.failures")
[ "$failures" -le "$most" ] || { say "failed $failures times, and isn't tried again"; exit 1; }
again
