# Sourced by dev: installs what is missing. Uses $root, $venv and $python.
#
#   setup_python   the project's Python environment        (no root where a Python is there)
#   setup_all      that, and the Debian packages of a run
#   setup_kernels  the simulator's kernels, compiled for the caller
#   setup_tests    that, and what only tests need
#
# They are silent when nothing is missing. A venv is believed only with its stamp,
# and the stamp is written last: an interrupted set-up is done again.

packages=(
  mininet                        # mnexec; the Python module comes from the lock
  bridge-utils ethtool iproute2  # Mininet's LinuxBridge, offloads, tc
  iputils-ping iperf3 tcpdump    # measuring and capturing
  util-linux procps kmod         # namespaces, processes, kernel features
  ca-certificates                # for the package registries
)

note() { echo "dev: $*" >&2; }

need_sudo() {
  command -v sudo >/dev/null || refuse 3 "needs root, and there is no sudo; run it as root"
}

as_root() {
  if ((EUID == 0)); then "$@"; return; fi
  need_sudo
  sudo -- "$@"
}

# Silent unless it fails; then the end of what it said.
quietly() {
  local said
  if said=$("$@" 2>&1 </dev/null); then return; fi
  tail -n 40 <<<"$said" >&2
  return 1
}

# --- Debian packages -----------------------------------------------------------------------

missing_packages() {
  local installed name status=0
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || status=$?
  ((status <= 1)) || refuse 3 "dpkg-query ended with $status"  # 1: it does not know one of them
  for name in "$@"; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed $name"$'\n'* ]] || echo "$name"
  done
}

# sudo drops DEBIAN_FRONTEND from the caller's environment, so it goes behind sudo.
apt() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C.UTF-8 \
    apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

ensure_packages() {
  local listed missing
  command -v dpkg-query >/dev/null || refuse 3 "needs Debian 12 or 13, or Ubuntu 24.04: no dpkg here"
  listed=$(missing_packages "$@") || exit
  [[ -n $listed ]] || return 0
  mapfile -t missing <<<"$listed"
  as_root true || refuse 3 "packages are missing, and sudo does not let you install them: ${missing[*]}"
  note "installing packages: ${missing[*]}"
  quietly apt update || refuse 3 "apt-get update failed"
  quietly apt install -y --no-install-recommends "${missing[@]}" || refuse 3 "apt-get install failed"
}

# --- Python --------------------------------------------------------------------------------

# Candidates are run, not believed: a shim may lead nowhere, Debian's python3 lacks ensurepip
# without python3-venv. Prints the interpreter itself, past shims and activated venvs.
probe() {
  "$1" -I -c '
import ensurepip, platform, sys, sysconfig, venv
assert (3, 11) <= sys.version_info < (3, 15), "the lock has wheels for these"
assert platform.python_implementation() == "CPython" and sys.maxsize > 2**32
assert not sysconfig.get_config_var("Py_GIL_DISABLED")
print(sys._base_executable)' 2>/dev/null
}

find_python() {
  local name
  for name in python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11; do
    probe "$name" && return
  done
  return 1
}

ensure_python() {
  base_python=$(find_python) && return
  ensure_packages python3 python3-venv
  base_python=$(find_python) || refuse 3 "no Python 3.11 to 3.14 that can make a venv, and apt has none"
}

# --- the environment -----------------------------------------------------------------------

digest() { sha256sum | cut -d' ' -f1; }

# What the installed dependencies rest on. A venv whose Python is gone has no key.
dependencies_key() {
  local identity
  identity=$("$python" -I -S -c 'import sys; print(sys.version_info[:2], sys.base_prefix)' \
    2>/dev/null) || return 1
  { echo "$venv" "$identity"; cat "$root/requirements.lock"; } | digest
}

# What the editable install rests on: its metadata and the packages it found.
project_key() {
  { echo "$root" "$root"/*/__init__.py; cat "$root/pyproject.toml"; } | digest
}

stamped() {  # stamped NAME KEY
  [[ -n $2 && -f $venv/.stamp-$1 && $(<"$venv/.stamp-$1") == "$2" ]]
}

stamp() {
  echo "$2" >"$venv/.stamp-$1.new"
  mv "$venv/.stamp-$1.new" "$venv/.stamp-$1"
}

python_is_ready() {
  stamped dependencies "$(dependencies_key)" && stamped project "$(project_key)"
}

# Nothing is left in pip's cache, nobody is asked; what it unpacks may be more than /tmp holds.
pip() {
  rm -rf "$venv/.tmp"
  mkdir "$venv/.tmp"
  TMPDIR="$venv/.tmp" "$python" -m pip -q --disable-pip-version-check --no-input --no-cache-dir "$@"
}

# The stamps go first and the mark stays, so that it can be stopped at any point.
empty_environment() {
  if [[ -d $venv && ! -e $venv/.netcosim && ! -e $venv/pyvenv.cfg && -n $(ls -A "$venv") ]]; then
    refuse 3 "$venv: holds something else than a Python environment; it stays as it is"
  fi
  mkdir -p "$venv"
  touch "$venv/.netcosim"
  rm -f "$venv"/.stamp-*
  find "$venv" -mindepth 1 -maxdepth 1 ! -name .netcosim -exec rm -rf {} +
}

install_dependencies() {
  note "making the Python environment in $venv (about a minute)"
  empty_environment
  quietly "$base_python" -m venv "$venv" || refuse 3 "$base_python -m venv failed"
  quietly pip install --only-binary :all: --require-hashes -r "$root/requirements.lock" ||
    refuse 3 "the locked dependencies could not be installed"
  stamp dependencies "$(dependencies_key)"
}

install_project() {
  rm -f "$venv/.stamp-project"
  quietly pip install --no-deps --no-build-isolation -e "$root" ||
    refuse 3 "the project could not be installed into $venv"
  rm -rf "$venv/.tmp"
  stamp project "$(project_key)"
}

# Holds the lock of the venv's folder; who waited finds the work done.
make_environment() {
  python_is_ready && return
  stamped dependencies "$(dependencies_key)" || install_dependencies
  install_project
  if ((EUID == 0)); then
    chown -R -h --reference="$(dirname "$venv")" "$venv"
    give_back_checkout
  fi
}

setup_python() {
  local folder
  python_is_ready && return
  folder=$(dirname "$venv")
  mkdir -p "$folder" 2>/dev/null || true
  if [[ ! -w $folder ]]; then
    ((EUID != 0)) || refuse 3 "$folder: cannot be written"
    as_root env NETCOSIM_VENV="$venv" "$BASH" "$root/dev" setup
    return
  fi
  ensure_packages ca-certificates
  ensure_python
  (
    flock 9
    make_environment
  ) 9<"$folder"
}

# --- compiled kernels of the simulator -------------------------------------------------------

# They are in the caller's own cache folder; the stamp only says that they were made.
kernels_key() {
  { echo "$HOME" "${XDG_CACHE_HOME:-}" "${NETCOSIM_KERNELS:-}"
    cat "$root"/h2model/{,disciplines/}*.py "$root"/sim/{kernels,engine,fast,shares}/*.py; } | digest
}

setup_kernels() {
  [[ -f $root/sim/precompile.py ]] || return 0
  stamped kernels "$(kernels_key)" && return
  note "compiling the simulator's kernels (about a minute)"
  (cd "$root" && quietly "$python" -P -m sim.precompile) || { note "they will be compiled when needed"; return; }
  if [[ -w $venv ]]; then stamp kernels "$(kernels_key)"; fi
}

# --- what only tests need ------------------------------------------------------------------

own_netem() {
  as_root sh -c 'unshare --net tc qdisc add dev lo root netem delay 1ms 2>/dev/null'
}

# What boots a kernel with netem where the machine's own has none: user-mode Linux, or qemu where
# there is no package of it or it can't run (tests/emu/netem/usermode.py says why).
guest_package() {  # guest_package CPUINFO OS_RELEASE ARCHITECTURE
  local distribution
  distribution=$(source "$2" && echo "$ID")
  if [[ $3 != amd64 ]]; then return; fi
  if [[ $distribution == debian ]] && ! grep -qE '^flags\b.*\bamx_tile\b' "$1"; then
    echo user-mode-linux
  else
    echo qemu-system-x86
  fi
}

setup_guest() {
  local package kernel=$root/.guest-kernel
  [[ -d $root/tests/emu/netem ]] || return 0
  ! own_netem || return 0
  package=$(guest_package /proc/cpuinfo /etc/os-release "$(dpkg --print-architecture)")
  [[ -n $package ]] || return 0
  ensure_packages "$package"
  [[ $package == qemu-system-x86 && ! -f $kernel/version ]] || return 0
  note "unpacking a kernel for tests/emu/netem in $kernel (70 MB are fetched)"
  quietly apt update || refuse 3 "apt-get update failed"
  quietly as_root "$BASH" "$root/tools/guest_kernel.sh" "$kernel" ||
    refuse 3 "no kernel could be unpacked in $kernel"
}

setup_tests() {
  ensure_packages "${packages[@]}" sudo  # runs are started through it
  setup_guest
  setup_python
  setup_kernels
}

setup_all() {
  ensure_packages "${packages[@]}"
  setup_python
}

# What root wrote into somebody's checkout becomes theirs; the venv has its own rule.
give_back_checkout() {
  [[ $(stat -c %u "$root") != 0 ]] || return 0
  as_root find "$root" -xdev -path "$venv" -prune -o \
    -user root -exec chown -h --reference="$root" {} +
}
