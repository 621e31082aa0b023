#!/usr/bin/env bash
# Submits a study to Slurm: an array of tasks for each kind of device, and a job that gathers what they measure.
set -euo pipefail

usage() {
  cat <<'END'
usage: study.sh --folder FOLDER --kind NAME=[GRES][@FEATURES]... [OPTIONS] -- WHAT TO MEASURE

Submits a study to Slurm. What stands behind `--` goes to `lanescope run`: filters, axes, manifests (of `lanescope capture`).
Run it again with the same arguments: what is whole stays, and the rest is measured.

  --folder FOLDER     the study's folder, which all nodes see: rows, logs, and in the end comparisons and a page
  --kind NAME=[GRES][@FEATURES]
                      a kind of device: a name of yours, what to ask Slurm for by --gres, and which nodes will do, by
                      --constraint. h100=gpu:h100:1, or old=gpu:1@driver570 and new=gpu:1@driver580
  --shards N          in how many parts to measure a kind (24; with --every-node 1). One is best done in a quarter of an hour
  --every-node        every node of a kind measures the whole plan, to see which one deviates
  --preset PRESET     of `lanescope run` (study)
  --wait TIME         how long to wait for a GPU that something else measures on (10min)
  --at-once N         how many tasks of a kind may run at once (as many as there is room for)
  --most-restarts N   how often a part that fails is tried again (5); preemption and lost nodes don't count
  --run-by 'WORDS'    what runs lanescope, for the kinds behind it: 'apptainer exec --nv image.sif'
  --sbatch 'FLAGS'    flags of sbatch, for the kinds behind it: '--partition gpu --exclusive --time 2:00:00'
  --gather 'FLAGS'    flags of sbatch for the job that gathers
  --dry-run           print what would be submitted
END
}

die() { printf 'study.sh: %s\n' "$*" >&2; exit 2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder='' shards='' every_node='' preset=study wait=10min at_once='' most=5 is_dry=''
run_by=() sbatch_flags=() gather_flags=()
# Of each kind: its name, what it asks for, and what stood before it.
names=() asks=() runners=() flags=() before_kind=''

quoted() { [ $# -eq 0 ] || printf '%q ' "$@"; }

add_kind() {
  local name=${1%%=*} ask=${1#*=}
  [[ $1 = *=* && $name =~ ^[A-Za-z0-9._-]+$ ]] || die "--kind $1: NAME=GRES is needed, such as h100=gpu:h100:1"
  [[ " ${names[*]-} " != *" $name "* ]] || die "--kind $name: given twice"
  before_kind=''
  names+=("$name") asks+=("$ask") runners+=("$(quoted "${run_by[@]}")") flags+=("$(quoted "${sbatch_flags[@]}")")
}

while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit ;;
    --every-node) every_node=yes; shift; continue ;;
    --dry-run) is_dry=yes; shift; continue ;;
    --) shift; break ;;
  esac
  [ $# -gt 1 ] || die "$1: unknown, or without its value (see --help)"
  case $1 in
    --folder) folder=$(realpath -m -- "$2") ;;
    --kind) add_kind "$2" ;;
    --shards) shards=$2 ;;
    --preset) preset=$2 ;;
    --wait) wait=$2 ;;
    --at-once) at_once=$2 ;;
    --most-restarts) most=$2 ;;
    --run-by) read -ra run_by <<<"$2"; before_kind=$1 ;;
    --sbatch) read -ra sbatch_flags <<<"$2"; before_kind=$1 ;;
    --gather) read -ra gather_flags <<<"$2" ;;
    *) die "unknown option $1 (see --help)" ;;
  esac
  shift 2
done
shards=${shards:-${every_node:+1}}
shards=${shards:-24}
[ -n "$folder" ] || die 'where to? --folder FOLDER'
[ ${#names[@]} -gt 0 ] || die 'on what? --kind NAME=GRES'
[ -z "$before_kind" ] || die "$before_kind is for the kinds behind it, and none is"
for number in "$shards" "$most" ${at_once:+"$at_once"}; do
  [[ $number =~ ^[0-9]+$ ]] || die "$number: a number is needed"
done
for word in "$@"; do
  case $word in
    -o | --output* | --resume* | --shard* | --samples* | --dry-run) die "$word: tasks name their own files and parts: leave it out" ;;
    --preset* | --wait*) die "$word: give it before --" ;;
  esac
done
if [ -e "$folder/jobs" ] && [ -n "$(squeue --noheader --jobs="$(paste -sd, "$folder/jobs")" 2>/dev/null)" ]; then
  die "$folder: jobs $(paste -sd' ' "$folder/jobs") are still under way"
fi

# Prints the job's number; what is only to be seen, where everything else goes.
exec 3>&1
submit() {
  if [ -n "$is_dry" ]; then
    { quoted sbatch "$@"; echo; } >&3
    echo JOB
  else
    sbatch --parsable "$@" | cut -d';' -f1
  fi
}

# The nodes that have what a kind asks for: its generic resource without the count, and all of its features.
nodes_of() {
  local gres=${1%%@*} feature features=()
  [[ $1 != *@* ]] || IFS='&,' read -ra features <<<"${1#*@}"
  gres=$(sed -E 's/:[0-9]+$//' <<<"$gres")
  sinfo --noheader --Node --format='%N %f %G' | sort -u | while read -r node has resources; do
    [[ $resources = *"$gres"* ]] || continue
    for feature in "${features[@]}"; do [[ ,$has, = *",$feature,"* ]] || continue 2; done
    echo "$node"
  done
}

# The parts that aren't whole yet, as sbatch takes them.
missing_of() {
  local part missing=()
  for ((part = 1; part <= shards; part++)); do [ -e "$1/$part.csv" ] || missing+=("$part"); done
  if [ "${#missing[@]}" -eq "$shards" ]; then echo "1-$shards"; else (IFS=,; echo "${missing[*]}"); fi
}

# submit_array NAME ASK COMMAND... with the flags of sbatch in `own`: nothing where all parts are whole.
submit_array() {
  local to=$folder/$1 name=$1 gres=${2%%@*} constraint='' what missing
  [[ $2 != *@* ]] || constraint=${2#*@}
  shift 2
  # Rows of two plans would be no study, and parts are of a number of parts.
  what=$(quoted "$shards" "$@")
  if [ -e "$to/command" ] && [ "$(cat "$to/command")" != "$what" ]; then
    die "$to was begun by another command: name a new folder, or repeat it: $(cat "$to/command")"
  fi
  missing=$(missing_of "$to")
  [ -n "$missing" ] || return 0
  if [ -z "$is_dry" ]; then
    mkdir -p "$to"
    echo "$what" >"$to/command"
    rm -f "$to"/*.failures
  fi
  submit --job-name="lanescope-$name" --array="$missing${at_once:+%$at_once}" ${gres:+--gres="$gres"} \
    ${constraint:+--constraint="$constraint"} --requeue --signal=B:TERM@60 --open-mode=append --output="${to//%/%%}/%a.log" \
    "${own[@]}" "$here/task.sh" "$to" "$shards" "$most" "$@"
}

# All or nothing: a study that nobody gathers is no use.
jobs=()
take_back() { [[ -n $is_dry || ${#jobs[@]} -eq 0 ]] || scancel "${jobs[@]}"; }
trap take_back EXIT
for i in "${!names[@]}"; do
  eval "runner=(${runners[i]}) own_flags=(${flags[i]})"
  command=("${runner[@]}" lanescope run --preset "$preset" --wait="$wait" "$@")
  if [ -n "$every_node" ]; then
    mapfile -t nodes < <(nodes_of "${asks[i]}")
    [ ${#nodes[@]} -gt 0 ] || die "--kind ${names[i]}=${asks[i]}: no node has that"
    for node in "${nodes[@]}"; do
      own=(--nodelist="$node" "${own_flags[@]}")
      job=$(submit_array "${names[i]}@$node" "${asks[i]}" "${command[@]}")
      jobs+=(${job:+"$job"})
    done
  else
    own=("${own_flags[@]}")
    job=$(submit_array "${names[i]}" "${asks[i]}" "${command[@]}")
    jobs+=(${job:+"$job"})
  fi
done

# Whatever becomes of the tasks: `afterok` fails for good at the first exit code 75, also where the task runs again.
eval "runner=(${runners[0]})"
after=$(IFS=:; echo "${jobs[*]-}")
gather=$(submit --job-name=lanescope-gather ${after:+--dependency="afterany:$after"} --output="${folder//%/%%}/gather.log" \
  "${gather_flags[@]}" "$here/gather.sh" "$folder" "${runner[@]}" lanescope)
trap - EXIT
if [ -z "$is_dry" ]; then
  printf '%s\n' "${jobs[@]}" "$gather" >"$folder/jobs"
  echo "submitted: ${jobs[*]:-nothing to measure}, and $gather, which writes $folder/gather.log"
fi
