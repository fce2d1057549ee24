#!/usr/bin/env bash
# A machine of a Ray cluster for sweeps, in the foreground until Ctrl-C or SIGTERM; see
# docs/how-to/ray-cluster.md. Needs nothing of the checkout but a Python with Ray.
set -euo pipefail

# Ports, the same on each machine; those of worker processes are taken as they are needed.
head_port=6379
node_manager=6380
object_manager=6381
runtime_agent=6382
agent_grpc=6383
agent_http=6384
metrics=6385
client=6386
first_worker=6400
last_worker=6599

usage() {
  cat <<TEXT
usage: tools/ray_cluster.sh token FILE
       tools/ray_cluster.sh head --listen ADDRESS --token FILE [OPTION...]
       tools/ray_cluster.sh node --listen ADDRESS --token FILE --head ADDRESS [OPTION...]

token makes a secret that all machines and whoever starts a sweep need. head and node run one
machine of the cluster until Ctrl-C or SIGTERM, and leave nothing on it. Where they listen:
docs/how-to/ray-cluster.md.

  --listen ADDRESS   this machine's address in the cluster's network: a number, no name
  --head ADDRESS     that of the head; it is asked at port $head_port
  --token FILE       the secret, readable by its owner alone
  --processors N     how many tasks at a time (default: processors of this machine)
  --store MIB        shared memory for what tasks are given and give back (default: 500)
  --python PYTHON    with Ray (default: .venv of this checkout; NETCOSIM_VENV puts it elsewhere)
TEXT
}

refuse() {  # refuse CODE MESSAGE
  echo "ray_cluster: $2" >&2
  exit "$1"
}

make_token() {
  local file=${1:?} secret
  [[ ! -e $file ]] || refuse 2 "$file: is there already"
  secret=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
  (umask 077 && printf '%s' "$secret" >"$file") || refuse 6 "$file: can't be written"
}

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
listen='' head='' token='' processors='' store=500 stopped='' ray=''
python=$(realpath -ms "${NETCOSIM_VENV:-$here/../.venv}")/bin/python

parse() {
  while (($#)); do
    (($# >= 2)) || refuse 2 "$1: needs a value, or is no option (see --help)"
    case $1 in
      --listen) listen=$2 ;;
      --head) head=$2 ;;
      --token) token=$2 ;;
      --processors) processors=$2 ;;
      --store) store=$2 ;;
      --python) python=$2 ;;
      *) refuse 2 "$1: no such option (see --help)" ;;
    esac
    shift 2
  done
}

is_address() { [[ $1 =~ ^[0-9]+(\.[0-9]+){3}$ || $1 =~ ^[0-9a-fA-F:]*:[0-9a-fA-F:]*$ ]]; }
is_count() { [[ $1 =~ ^[1-9][0-9]{0,5}$ ]]; }

check() {
  is_address "$listen" || refuse 2 "--listen \"$listen\": must be an address of this machine, as a number"
  [[ $listen != 0.0.0.0 && $listen != :: ]] || refuse 2 "--listen $listen: must be one address, not all"
  [[ $role == head ]] || is_address "$head" || refuse 2 "--head \"$head\": must be the head's address, as a number"
  [[ $role == node || -z $head ]] || refuse 2 "--head: is for a node"
  [[ -z $processors ]] || is_count "$processors" || refuse 2 "--processors $processors: must be 1 to 999999"
  is_count "$store" || refuse 2 "--store $store: must be 1 to 999999"
  [[ -n $token ]] || refuse 2 "--token: is required; tools/ray_cluster.sh token FILE makes one"
  [[ -r $token && -s $token ]] || refuse 2 "--token $token: can't be read, or is empty"
  [[ -z $(find -L "$token" -perm /077) ]] || refuse 2 "--token $token: others may read it: chmod 600"
  [[ -x $python ]] || refuse 3 "$python: no such program; ./dev setup all installs it, --python names another"
  "$python" -P -c "import ray" 2>/dev/null || refuse 3 "$python: has no Ray: ./dev setup all"
}

# Dashboard and usage statistics are off; who connects needs the secret.
settings() {
  unset RAY_AUTH_TOKEN RAY_ADDRESS
  export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
  RAY_AUTH_TOKEN_PATH=$(realpath "$token")
  export RAY_AUTH_TOKEN_PATH
}

start() {
  local folder=$1 with=()
  if [[ $role == head ]]; then
    with=(--head --port "$head_port" --include-dashboard false)
    # Ray offers a second way in where grpc is installed; there is no option without it.
    if "$python" -P -c "import grpc" 2>/dev/null; then with+=(--ray-client-server-port "$client"); fi
  else
    with=(--address "$head:$head_port")
  fi
  # In a session of its own, ended with this shell, whatever ends that.
  exec setsid setpriv --pdeathsig TERM "$python" -P -m ray.scripts.scripts start --block "${with[@]}" \
    --node-ip-address "$listen" --temp-dir "$folder" --object-store-memory "$((store << 20))" \
    ${processors:+--num-cpus "$processors"} \
    --node-manager-port "$node_manager" --object-manager-port "$object_manager" \
    --runtime-env-agent-port "$runtime_agent" --metrics-export-port "$metrics" \
    --dashboard-agent-grpc-port "$agent_grpc" --dashboard-agent-listen-port "$agent_http" \
    --min-worker-port "$first_worker" --max-worker-port "$last_worker" \
    --disable-usage-stats --include-log-monitor false --log-style record
}

# Why Ray has ended, in a line: its last error, else the last that it has said.
reason() {
  awk '/^[A-Za-z_.]+(Error|Exception): / { found = ""; error = 1 }
       /Remaining processes will be killed/ { next }
       NF { found = error ? found " " $0 : " " $0 }
       END { gsub(/[ \t]+/, " ", found); print substr(found, 2, 400) }' "$1"
}

started() { grep -q "Ray runtime started" "$folder/log"; }
runs() { kill -0 "$ray" 2>/dev/null; }

launch() {
  : >"$folder/log"
  start "$folder" </dev/null >>"$folder/log" 2>&1 &
  ray=$!
  [[ -z $stopped ]] || kill -TERM "$ray" 2>/dev/null || true  # the signal came before there was one
  until started || ! runs; do sleep 0.2; done
}

# Ray gives itself 30 s to start, which a busy machine may take longer for.
tell_start() {
  local left=2
  while ! started && [[ -z $stopped ]] && grep -q "timed out during startup" "$folder/log" && ((left--)); do
    pkill -KILL -s "$ray" || true
    [[ -z $stopped ]] || return 0
    launch
  done
  if started; then echo "ray_cluster: $role runs at $listen; Ctrl-C ends it"; fi
}

serve() {
  local status=0
  settings
  folder=$(mktemp -d "${TMPDIR:-/tmp}/ray-XXXXXX")
  # Where Ray loses its head, it leaves agents.
  trap 'pkill -KILL -s "${ray:-none}" 2>/dev/null || true; rm -rf --one-file-system "$folder"' EXIT
  trap 'stopped=yes; [[ -z $ray ]] || kill -TERM "$ray" 2>/dev/null || true' INT TERM HUP
  launch
  tell_start
  wait "$ray" || status=$?
  while runs; do wait "$ray" || status=$?; done  # a signal ends the wait, but not yet Ray
  [[ -z $stopped ]] || return 0
  refuse 3 "$role $listen: Ray has ended ($status): $(reason "$folder/log")"
}

role=${1:---help}
shift || true
case $role in
  -h | --help) usage ;;
  token)
    (($# == 1)) || refuse 2 "token: takes a file's name"
    make_token "$1" ;;
  head | node)
    parse "$@"
    check
    serve ;;
  *) refuse 2 "$role: no such command (see --help)" ;;
esac
