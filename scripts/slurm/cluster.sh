#!/usr/bin/env bash
# A real Slurm cluster on this machine alone: slurmctld, three slurmd (n1, n2, n3) and a munged of their own.
#
#   cluster.sh start|stop DIR          then: export SLURM_CONF=DIR/slurm.conf
#   cluster.sh kill|boot NODE DIR      a node loses its power, slurmd, jobs and all; it comes back
#
# Needs slurmctld, slurmd, slurm-client and munge (Debian: slurm-wlm). No systemd, no cgroups, no accounting, any user.
# CLUSTER_PORT is slurmctld's (16800); the nodes have the next ones.
set -euo pipefail

nodes=(n1 n2 n3)
port=${CLUSTER_PORT:-16800}
command=${1:?start, stop, kill or boot}
shift
node=''
case $command in kill | boot) node=${1:?which node}; shift ;; esac
dir=$(realpath -m "${1:?DIR}")
export SLURM_CONF=$dir/slurm.conf

die() { printf 'cluster.sh: %s\n' "$*" >&2; exit 1; }

# cred_expire is also how long a requeued job waits (120 s by default). Without devices for gpu, CUDA_VISIBLE_DEVICES isn't set.
configure() {
  mkdir -p "$dir/log" "$dir/state"
  chmod 755 "$dir"
  cat >"$SLURM_CONF" <<END
ClusterName=loop
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/ctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/log/ctld
SlurmdLogFile=$dir/log/%n
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobs
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU,CR_LLN
GresTypes=gpu
AuthInfo=socket=$dir/munge.sock,cred_expire=5
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1
${CLUSTER_REQUEUE_EXIT-RequeueExit=75}
SlurmdTimeout=10
ReturnToService=2
KillWait=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=10
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF
END
  local n
  for n in "${!nodes[@]}"; do
    echo "NodeName=${nodes[n]} NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 1 + n)) CPUs=2 Gres=gpu:2 Feature=lavapipe,${nodes[n]}"
  done >>"$SLURM_CONF"
  printf '%s\n' AutoDetect=off 'Name=gpu File=/dev/null' 'Name=gpu File=/dev/zero' >"$dir/gres.conf"
}

start() {
  [ ${#dir} -le 75 ] || die "too long for Unix sockets: $dir"
  [ ! -e "$dir/state" ] || die "not a new folder: $dir"
  trap '[ $? = 0 ] || stop' EXIT
  configure
  head -c 128 /dev/urandom >"$dir/munge.key"
  chmod 400 "$dir/munge.key"
  munged --socket="$dir/munge.sock" --key-file="$dir/munge.key" --pid-file="$dir/munged.pid" \
    --log-file="$dir/log/munged" --seed-file="$dir/munge.seed"
  slurmctld
  local n
  for n in "${nodes[@]}"; do slurmd -N "$n"; done
  for _ in {1..300}; do
    [ "$(sinfo -hN -p low -t idle 2>/dev/null | wc -l)" != ${#nodes[@]} ] || return 0
    sleep 0.1
  done
  tail -n 5 "$dir"/log/* >&2
  die 'the nodes are not idle after 30 s'
}

# The processes of this cluster, or of one node: the daemons, which write the logs, and what jobs have started.
pids() {
  {
    find /proc/[0-9]*/fd -lname "$dir/log/${1:-*}" -perm -u+w 2>/dev/null || :
    grep -lszx "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ | xargs -r grep -lszxE "SLURMD_NODENAME=${1:-.*}" || :
  } | cut -d/ -f3 | sort -u
}

stop() {
  local left
  for _ in {1..5}; do
    mapfile -t left < <(pids "$@")
    [ ${#left[@]} -gt 0 ] || return 0
    kill -9 "${left[@]}" 2>/dev/null || :
    sleep 0.1
  done
  die "still alive: ${left[*]}"
}

case $command in
  start) start ;;
  stop) stop ;;
  kill) stop "$node" ;;
  boot) slurmd -N "$node" ;;
  *) die "no such command: $command" ;;
esac
