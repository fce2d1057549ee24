# Tries a command in a bare Debian of its own: ./dev bare SUITE [--keep] [--user] [--] COMMAND...
#
# A debootstrapped minbase is entered with own mount, PID, IPC and UTS namespaces and pivot_root
# (in a plain chroot, unshare fails inside). It shares the network, which set-up needs. The
# machine's way to packages is carried in: apt's mirror and Acquire settings, pip's settings,
# added certificates.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./dev bare SUITE [--keep] [--user] [--fetched] [--] COMMAND...

Runs COMMAND in a bare Debian (SUITE: bookworm, trixie) from the top of a fresh git clone.
Needs root and debootstrap. What is not committed is not in the clone.

  --keep     enter the root as the last command left it, clone included
  --user     as an ordinary user who may use sudo; else as root
  --fetched  with all packages of ./dev sim and ./dev run in the root's caches: apt's archives, and
             a folder of wheels that pip takes instead of an index

Roots are kept under $NETCOSIM_BARE (/tmp/bare): SUITE.pristine, which is made when it is not
there, SUITE, its copy that the last command ran in, and SUITE.fetched, the packages.
TEXT
}

fail() { echo "dev: bare: $1" >&2; exit "${2:-2}"; }

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
checkout=$(dirname "$here")
base=$(realpath -ms "${NETCOSIM_BARE:-/tmp/bare}")
keep=no user=root fetched=no

parse() {
  case ${1:---help} in -h | --help) usage; exit ;; esac
  suite=$1
  shift
  [[ $suite =~ ^[a-z]+$ ]] || fail "$suite: not a Debian suite"
  while (($#)); do
    case $1 in
      --keep) keep=yes ;;
      --user) user=person ;;
      --fetched) fetched=yes ;;
      --) shift; break ;;
      -*) fail "$1: no such option" ;;
      *) break ;;
    esac
    shift
  done
  (($#)) || fail "no command"
  command=("$@")
}

# --- the machine's way to packages ---------------------------------------------------------

mirror() {
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian \(.*\/debian\/\?\)$/\1/p' | head -n 1
}

pip_settings() {  # of files and of PIP_ variables, as one file; local folders stay outside
  echo "[global]"
  "${NETCOSIM_VENV:-$checkout/.venv}/bin/python" -m pip config list 2>/dev/null |
    sed -nE "s/^(global|:env:)\.([a-z-]+)='(.*)'$/\2 = \3/p" |
    grep -vE '^(find-links|constraint|.*= *(file:|/opt/))|file://' | sort -u -t= -k1,1 || true
}

carry_settings() {
  local root=$1
  apt-config dump | grep -E '^Acquire::(http|https|Check|Retries)' \
    >"$root/etc/apt/apt.conf.d/99carried" || true
  pip_settings >"$root/etc/pip.conf"
  mkdir -p "$root/usr/local/share/ca-certificates"
  find /usr/local/share/ca-certificates -name '*.crt' \
    -exec cp -t "$root/usr/local/share/ca-certificates" {} +
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
}

# --- the root ------------------------------------------------------------------------------

make_pristine() {
  local pristine=$base/$suite.pristine from
  [[ ! -e $pristine ]] || return 0
  command -v debootstrap >/dev/null || fail "needs debootstrap" 3
  mkdir -p "$base"
  rm -rf "$pristine.new"
  from=$(mirror)
  debootstrap --variant=minbase "$suite" "$pristine.new" ${from:+"$from"} >"$base/$suite.log" 2>&1 ||
    fail "debootstrap failed; see $base/$suite.log" 3
  mv "$pristine.new" "$pristine"
}

make_root() {
  make_pristine
  rm -rf --one-file-system "${base:?}/$suite"
  cp -a "$base/$suite.pristine" "$base/$suite"
  carry_settings "$base/$suite"
  git clone -q --no-hardlinks "$checkout" "$base/$suite/srv/netcosim"
}

# --- packages fetched beforehand -----------------------------------------------------------

packages_key() {  # what is fetched hangs on the locks and the list of Debian packages
  cat "$checkout"/requirements/*.lock "$here/setup.sh" | sha256sum
}

fetch() {
  local store=$base/$suite.fetched
  [[ ! -f $store/key || $(<"$store/key") != "$(packages_key)" ]] || return 0
  echo "dev: bare: fetching packages for $suite" >&2
  make_root
  enter_root root bash tools/fetch_packages.sh /srv/fetched >&2 || fail "packages can't be fetched" 3
  rm -rf "$store"
  mv "$base/$suite/srv/fetched" "$store"
  packages_key >"$store/key"
}

take_fetched() {
  local root=$base/$suite
  cp "$base/$suite.fetched"/archives/*.deb "$root/var/cache/apt/archives/"
  cp -r "$base/$suite.fetched/wheels" "$root/srv/wheels"
  printf '[global]\nno-index = true\nfind-links = /srv/wheels\n' >"$root/etc/pip.conf"
}

# --- inside --------------------------------------------------------------------------------

enter() {  # runs in the new namespaces
  local root=$1
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=755 run "$root/run"
  cd "$root"
  mkdir -p .outside
  pivot_root . .outside
  umount -l /.outside
  cd /srv/netcosim
  local as=()
  if [[ $2 != root ]]; then
    make_user "$2" >/dev/null 2>&1
    as=(runuser -u "$2" -- env HOME="/home/$2")
  fi
  # Not exec: this shell is process 1 here, and buries what the command orphans.
  local status=0
  "${as[@]}" "${@:3}" || status=$?
  exit "$status"
}

make_user() {
  if ! id "$1" 2>/dev/null; then
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends sudo
    useradd --create-home --shell /bin/bash "$1"
    echo "$1 ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$1"
  fi
  chown -R "$1:" /srv/netcosim
}

enter_root() {  # enter_root USER COMMAND...
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" ${CI:+"CI=$CI"} \
    unshare --mount --pid --ipc --uts --fork --kill-child \
    "$BASH" "$here/bare.sh" --inside "$base/$suite" "$@"
}

main() {
  if [[ ${1:-} == --inside ]]; then enter "${@:2}"; fi
  parse "$@"
  ((EUID == 0)) || fail "needs root" 3
  if [[ $keep == no || ! -d $base/$suite/srv/netcosim ]]; then
    if [[ $fetched == yes ]]; then fetch; fi
    make_root
    if [[ $fetched == yes ]]; then take_fetched; fi
  fi
  enter_root "$user" "${command[@]}"
}

main "$@"
