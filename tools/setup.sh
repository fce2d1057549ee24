# Sourced by dev: installs what is missing. Uses $root, $venv and $python.
#
#   setup_python SET  the project's Python environment     (no root where a Python is there)
#   setup_all         that of the emulation, and the Debian packages of a run
#   setup_kernels     the simulator's usual kernels, compiled for the caller
#   setup_tests       all of it, and what only tests need
#
# They are silent when nothing is missing. A venv is believed only with its stamp, which names the
# set that it holds, and the stamp is written last: an interrupted set-up is done again.

packages=(
  mininet                        # mnexec; the Python module comes from the lock
  bridge-utils ethtool iproute2  # Mininet's LinuxBridge, offloads, tc
  iputils-ping iperf3 tcpdump    # measuring and capturing
  util-linux procps kmod         # namespaces, processes, kernel features
  ca-certificates                # for the package registries; see ensure_python
)

test_packages=(
  sudo                # runs are started through it
  openvswitch-switch  # in guests, whose kernel has it on any machine
)

kernel_packages=(  # to build the kernel of runs in virtual time
  bison flex bc gcc libc6-dev make patch binutils xz-utils bzip2
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

# Candidates are run, not believed: a shim may lead nowhere. Prints the interpreter itself, past
# shims and activated venvs, and the wheel of pip that comes with it: with ensurepip, or with
# Debian's python3-pip-whl.
probe() {
  "$1" -I -c '
import glob, platform, sys, sysconfig, venv
assert (3, 11) <= sys.version_info < (3, 15), "the locks have wheels for these"
assert platform.python_implementation() == "CPython" and sys.maxsize > 2**32
assert not sysconfig.get_config_var("Py_GIL_DISABLED")
folders = (sysconfig.get_path("stdlib") + "/ensurepip/_bundled", "/usr/share/python-wheels")
wheels = [wheel for folder in folders for wheel in sorted(glob.glob(folder + "/pip-*.whl"))]
print(sys._base_executable, wheels[0], sep="\n")' 2>/dev/null
}

find_python() {  # sets base_python and pip_wheel
  local name found
  for name in python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11; do
    found=$(probe "$name") || continue
    { read -r base_python; read -r pip_wheel; } <<<"$found"
    return
  done
  return 1
}

python_packages=(python3 python3-pip-whl)

ensure_python() {
  find_python && { ensure_packages ca-certificates; return; }
  ensure_packages ca-certificates "${python_packages[@]}"
  find_python || refuse 3 "no Python 3.11 to 3.14 that can make a venv, and apt has none"
}

# --- the environment -----------------------------------------------------------------------

digest() { sha256sum | cut -d' ' -f1; }

# Sets of dependencies, each with all of the one before; requirements/SET.lock has what it adds.
#   plan  what --help, --plan and the like need
#   base  the simulator
#   emu   the emulation
#   all   sweeps, and pytest
#   dev   what tests and checks need
sets=(plan base emu all dev)

sets_to() {  # sets_to SET: the set and those that it holds
  local name
  for name in "${sets[@]}"; do
    echo "$name"
    [[ $name != "$1" ]] || return 0
  done
}

is_set() {
  [[ " ${sets[*]} " == *" $1 "* ]]
}

holds() {  # holds SET OTHER
  [[ $'\n'$(sets_to "$1")$'\n' == *$'\n'"$2"$'\n'* ]]
}

# What the installed dependencies of a set rest on. A venv whose Python is gone has no key.
dependencies_key() {
  local identity name
  identity=$("$python" -I -S -c 'import sys; print(sys.version_info[:2], sys.base_prefix)' \
    2>/dev/null) || return 1
  {
    echo "$venv" "$identity"
    for name in $(sets_to "$1"); do cat "$root/requirements/$name.lock"; done
  } | digest
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

installed_set() {  # the set that the environment holds, if its locks are those of today
  local name
  [[ -f $venv/.stamp-dependencies ]] || return 1
  read -r name _ <"$venv/.stamp-dependencies"
  is_set "$name" && stamped dependencies "$name $(dependencies_key "$name")" && echo "$name"
}

python_is_ready() {  # python_is_ready SET
  local held
  held=$(installed_set) && holds "$held" "$1" && { [[ $held == plan ]] || stamped project "$(project_key)"; }
}

# Nothing is left in pip's cache, nobody is asked; what it unpacks may be more than /tmp holds. The
# environment has its own pip from the set base on.
pip() {
  local program=("$pip_wheel/pip")
  if "$python" -I -c 'import pip' 2>/dev/null; then program=(-m pip); fi
  mkdir -p "$venv/.tmp"
  TMPDIR="$venv/.tmp" "$python" "${program[@]}" \
    -q --disable-pip-version-check --no-input --no-cache-dir "$@"
}

# Most of pip's time goes into reading the registry's pages, package by package: as many of it as there
# are processors, each with its part of the locks.
install_locked() {  # install_locked SET
  local part running=() status=0 name
  rm -rf "$venv/.tmp"
  mkdir -p "$venv/.tmp/locks"
  for name in $(sets_to "$1"); do sed '/^-r /d' "$root/requirements/$name.lock"; done |
    awk -v parts="$(nproc)" -v folder="$venv/.tmp/locks" \
      '/^[A-Za-z0-9]/ { part = count++ % parts } { print > (folder "/" part + 0) }'
  for part in "$venv"/.tmp/locks/*; do
    quietly pip install --no-deps --no-compile --only-binary :all: --require-hashes -r "$part" &
    running+=($!)
  done
  for part in "${running[@]}"; do wait "$part" || status=1; done
  return "$status"
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

# Megabytes of a set, fetched and on disk.
size_of() {
  case $1 in
    plan) echo "20 MB to fetch, 70 on disk" ;;
    base) echo "170 MB to fetch, 550 on disk" ;;
    emu) echo "170 MB to fetch, 650 on disk" ;;
    all) echo "340 MB to fetch, 1300 on disk" ;;
    *) echo "400 MB to fetch, 1500 on disk" ;;
  esac
}

# Bytecode is not made of everything: what a program imports is compiled then. The emulation runs as
# root, which leaves none; for it all is compiled, on all processors.
install_dependencies() {  # install_dependencies SET
  if [[ -z $(installed_set) ]]; then
    note "making the Python environment in $venv ($1: $(size_of "$1"))"
    empty_environment
    quietly "$base_python" -m venv --without-pip "$venv" || refuse 3 "$base_python -m venv failed"
  else
    note "adding to the Python environment in $venv ($1: $(size_of "$1") with what is there)"
    rm -f "$venv/.stamp-dependencies"
  fi
  install_locked "$1" || refuse 3 "the locked dependencies could not be installed"
  if holds "$1" emu; then
    quietly "$python" -m compileall -q -j 0 "$venv/lib" || true  # some hold templates
  fi
  rm -rf "$venv/.tmp"
  stamp dependencies "$1 $(dependencies_key "$1")"
}

# For a plan the checkout is only put on the path; what else is installed by name needs the metadata.
install_project() {  # install_project SET
  local path
  path=$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/netcosim-checkout.pth
  if [[ $1 == plan ]]; then
    echo "$root" >"$path"
    return
  fi
  rm -f "$venv/.stamp-project" "$path"
  quietly pip install --no-deps --no-build-isolation -e "$root" ||
    refuse 3 "the project could not be installed into $venv"
  rm -rf "$venv/.tmp"
  stamp project "$(project_key)"
}

# Holds the lock of the venv's folder; who waited finds the work done.
make_environment() {  # make_environment SET
  local held
  python_is_ready "$1" && return
  held=$(installed_set) || held=
  if [[ -z $held ]] || ! holds "$held" "$1"; then
    install_dependencies "$1"
    held=$1
  fi
  install_project "$held"
  if ((EUID == 0)); then
    chown -R -h --reference="$(dirname "$venv")" "$venv"
    give_back_checkout
  fi
}

setup_python() {  # setup_python SET
  local folder
  python_is_ready "$1" && return
  folder=$(dirname "$venv")
  mkdir -p "$folder" 2>/dev/null || true
  if [[ ! -w $folder ]]; then
    ((EUID != 0)) || refuse 3 "$folder: cannot be written"
    as_root env NETCOSIM_VENV="$venv" "$BASH" "$root/dev" setup "$1"
    return
  fi
  ensure_python
  (
    flock 9
    make_environment "$1"
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
  (cd "$root" && "$python" -P -m sim.precompile >&2 </dev/null) || { note "they will be compiled when needed"; return; }
  if [[ -w $venv ]]; then stamp kernels "$(kernels_key)"; fi
}

# --- what only tests need ------------------------------------------------------------------

# The kernel of runs in virtual time; what is there is used, however old.
setup_virtual_kernel() {
  [[ -d $root/tests/emu/guest && ! -f ${kernels:-$root/.virtual-kernel}/current ]] || return 0
  note "building the kernel of runs in virtual time"
  virtual_kernel
}

# Packages, and a Python's with them where there is none, as apt takes its time to start.
ensure_packages_and_python() {  # ensure_packages_and_python SET PACKAGE...
  if python_is_ready "$1" || find_python; then
    ensure_packages "${@:2}"
  else
    ensure_packages "${@:2}" "${python_packages[@]}"
  fi
}

# The default tier needs what a run does, and the usual kernels of the simulator.
setup_tests() {  # setup_tests WHICH WITH_ROOT
  local needed=("${packages[@]}")
  [[ $1 == default ]] || needed+=("${test_packages[@]}")
  if [[ $2 == asked ]]; then ensure_packages_and_python dev "${needed[@]}"; fi
  if [[ $1 != default ]]; then setup_virtual_kernel; fi
  setup_python dev
  setup_kernels
}

setup_all() {
  ensure_packages_and_python emu "${packages[@]}"
  setup_python emu
}

all_is_there() {  # for the emulation
  local missing
  missing=$(missing_packages "${packages[@]}" 2>/dev/null) && [[ -z $missing ]] && python_is_ready emu
}

# What root wrote into somebody's checkout becomes theirs; the venv has its own rule.
give_back_checkout() {
  [[ $(stat -c %u "$root") != 0 ]] || return 0
  as_root find "$root" -xdev -path "$venv" -prune -o \
    -user root -exec chown -h --reference="$root" {} +
}
