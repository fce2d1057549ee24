# Builds the kernel of runs in virtual time: virtual_kernel.sh FOLDER [VERSION]
#
# User-mode Linux, an ordinary program, from the newest linux-source that the distribution has, or from
# linux-source-VERSION: Debian's with that of the next release's backports, if they can be reached.
# Nothing is installed.
#
#   FOLDER/HASH/linux         the kernel
#   FOLDER/HASH/kernel.json   what it was made of, written last
#   FOLDER/HASH/config        its whole configuration
#   FOLDER/current            HASH of the one that runs take: one of a VERSION only if there was none
#
# HASH stands for the source, the patches and the configuration (emu/guest/kernel_build): equal ones run
# equally on any machine. 400 MB are fetched and 2.5 GB taken while it builds.
set -euo pipefail
export LC_ALL=C

folder=$(realpath -m "$1")  # apt takes no relative ones
wanted=${2:-}
inputs=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")/emu/guest/kernel_build
oldest=6.12
backports=trixie-backports

note() { echo "virtual-kernel: $*" >&2; }
fail() { note "$@"; exit 3; }

# The machine's own lists, and on Debian those of the backports beside them, in a folder of our own.
apt_options() {  # apt_options FOLDER
  local uri
  mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/sources.d"
  find /etc/apt/sources.list /etc/apt/sources.list.d/ -type f \( -name '*.list' -o -name '*.sources' \) -exec cp -t "$1/sources.d" {} + 2>/dev/null || true
  uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m1 '/debian/$' || true)
  if [[ $(source /etc/os-release && echo "$ID") == debian ]]; then
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${uri:-http://deb.debian.org/debian/} $backports main" >"$1/sources.d/backports.list"
  fi
  options=(-q -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$1/sources.d"
    -o "Dir::State::Lists=$1/lists" -o "Dir::Cache=$1/cache" -o APT::Sandbox::User=root)
}

named_source() {  # named_source VERSION
  dpkg --compare-versions "$1" ge "$oldest" || fail "$1: must be $oldest or newer"
  apt-cache "${options[@]}" pkgnames linux-source- | grep -qxF "linux-source-$1" || fail "apt has no linux-source-$1"
  echo "$1"
}

newest_source() {  # newest_source: the version of the newest one
  local name version best=
  while read -r name; do
    version=${name#linux-source-}
    [[ $version =~ ^[0-9.]+$ ]] || continue
    if dpkg --compare-versions "$version" ge "$oldest" && dpkg --compare-versions "$version" gt "${best:-0}"; then
      best=$version
    fi
  done < <(apt-cache "${options[@]}" pkgnames linux-source-)
  [[ -n $best ]] || fail "apt has no linux-source of $oldest or newer"
  echo "$best"
}

field() {  # field NAME: of the package's newest version
  apt-cache "${options[@]}" show --no-all-versions "linux-source-$version" | sed -n "s/^$1: //p"
}

patches() {  # patches VERSION: those of the newest folder that is not newer
  local each best=
  for each in "$inputs"/patches/*/; do
    each=$(basename "$each")
    if dpkg --compare-versions "$each" le "$1" && dpkg --compare-versions "$each" gt "${best:-0}"; then
      best=$each
    fi
  done
  printf '%s\n' "$inputs/patches/$best"/*.patch
}

unpack() {  # unpack DEB TO
  local tarball
  tarball=$(dpkg-deb --fsys-tarfile "$1" | tar -t | grep -m1 -E '\.tar\.(xz|bz2|zst)$')
  dpkg-deb --fsys-tarfile "$1" | tar -xO "$tarball" >"$2/source"
  mkdir "$2/tree"
  tar -x -f "$2/source" -C "$2/tree" --strip-components=1 --no-same-owner \
    --exclude='*/drivers/gpu/*.[ch]' --exclude='*/Documentation/*/*' --exclude='*/tools/testing/*'
  rm "$2/source"
}

configure() {  # configure TREE
  local line lacking=()
  "${make[@]}" -C "$1" KCONFIG_ALLCONFIG="$inputs/config" allnoconfig >/dev/null
  while read -r line; do
    [[ $line != CONFIG_* ]] || grep -qxF "$line" "$1/.config" || lacking+=("$line")
  done <"$inputs/config"
  ((${#lacking[@]} == 0)) || fail "linux-source-$version does not take: ${lacking[*]}"
}

build() {  # build TO
  local patch deb
  note "fetching linux-source-$version $(field Version)"
  (cd "$1" && apt-get "${options[@]}" download "linux-source-$version" >/dev/null)
  deb=("$1"/*.deb)
  note "unpacking"
  unpack "${deb[0]}" "$1"
  for patch in $(patches "$version"); do
    patch -s -p1 -d "$1/tree" <"$patch" || fail "$(basename "$patch") does not fit linux-source-$version"
  done
  configure "$1/tree"
  note "building; takes two processors about two minutes"
  "${make[@]}" -C "$1/tree" linux >"$1/log" 2>&1 || { tail -n 20 "$1/log" >&2; fail "the build failed"; }
  strip -o "$1/linux" "$1/tree/linux"
  cp "$1/tree/.config" "$1/config"
}

record() {  # record TO
  local release seccomp=false
  release=$(cat "$1/tree/include/config/kernel.release")
  [[ ! -f $1/tree/arch/um/kernel/skas/stub_exe.c ]] || ! grep -q seccomp "$1/tree/arch/um/kernel/skas/stub_exe.c" || seccomp=true
  cat >"$1/kernel.json" <<JSON
{
  "hash": "$hash",
  "release": "$release",
  "source": "linux-source-$version $(field Version)",
  "source_sha256": "$(field SHA256)",
  "patches": [$(patches "$version" | xargs -n 1 basename | sed 's/.*/"&"/' | paste -sd ,)],
  "compiler": "$(gcc --version | head -n 1)",
  "seccomp": $seccomp
}
JSON
}

main() {
  local hash work options version make
  [[ ! -e $folder/kernel.json ]] || fail "$folder: is a kernel; a folder of kernels is needed"
  mkdir -p "$folder"
  exec 9<"$folder"
  flock 9
  rm -rf "$folder"/build.*  # of builds that were killed
  work=$(mktemp -d "$folder/build.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  apt_options "$work/apt"
  apt-get "${options[@]}" update >"$work/apt/log" 2>&1 || true  # without the backports, what there is
  version=$(if [[ -n $wanted ]]; then named_source "$wanted"; else newest_source; fi)
  # shellcheck disable=SC2046
  hash=$({ field SHA256; cat "$inputs/config" $(patches "$version"); } | sha256sum | cut -c1-16)
  if [[ ! -f $folder/$hash/kernel.json ]]; then
    make=(make -s -j "$(nproc)" ARCH=um KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_VERSION=1
      KBUILD_BUILD_USER=netcosim KBUILD_BUILD_HOST=netcosim)
    mkdir "$work/kernel"
    build "$work/kernel"
    record "$work/kernel"
    rm -rf "${folder:?}/$hash" "$work/kernel/tree" "$work/kernel"/*.deb "$work/kernel/log"
    mv "$work/kernel" "$folder/$hash"
  fi
  if [[ -z $wanted || ! -f $folder/current ]]; then
    echo "$hash" >"$folder/current.new"
    mv "$folder/current.new" "$folder/current"
  fi
  note "$folder/$hash: $(sed -n 's/^  "release": "\(.*\)",$/\1/p' "$folder/$hash/kernel.json")"
}

main
