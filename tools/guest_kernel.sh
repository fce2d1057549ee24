# Unpacks a distribution's kernel for a virtual machine: guest_kernel.sh FOLDER
#
# It is not installed: no hook runs, nothing is written to /boot, and the machine goes on booting
# what it did. What a network of the tests may take is kept of it, about 50 MB:
#
#   FOLDER/vmlinuz, FOLDER/lib/modules/VERSION   the kernel and its modules
#   FOLDER/version                               VERSION, written last
#
# Needs apt's lists to be fresh.
set -euo pipefail
export LC_ALL=C

folder=$1
kept='^\./boot/vmlinuz-|/lib/modules/[^/]+/(modules\.|kernel/(net|lib|fs/(9p|netfs|fscache)|drivers/(virtio|net/veth))\b)'

# The newest for machines like this one: what Debian's or Ubuntu's package of no content depends on.
newest() {
  local meta
  for meta in linux-image-amd64 linux-image-generic; do
    apt-cache depends "$meta" 2>/dev/null |
      sed -n 's/^ *Depends: linux-image-\([0-9][^ ]*\)$/\1/p' | head -n 1 | grep . && return
  done
  echo "apt has no kernel" >&2
  return 1
}

packages() {  # Debian has all in one, Ubuntu in three
  local name
  for name in linux-image linux-modules linux-modules-extra; do
    if apt-cache show "$name-$1" >/dev/null 2>&1; then echo "$name-$1"; fi
  done
}

unpack() {  # unpack PACKAGE.deb TO
  dpkg-deb --fsys-tarfile "$1" | tar -t | { grep -E "$kept" || true; } | grep -v '/$' >"$2/files"
  dpkg-deb --fsys-tarfile "$1" |
    tar -x -C "$2" --no-same-owner --transform='s,^\./usr/lib/,./lib/,' -T "$2/files"
  rm "$2/files"
}

fetch() {  # fetch VERSION TO
  local file names
  mapfile -t names < <(packages "$1")
  mkdir "$2/download"
  (cd "$2/download" && apt-get -q -o APT::Sandbox::User=root download "${names[@]}")
  for file in "$2"/download/*.deb; do unpack "$file" "$2"; done
  mv "$2/boot/vmlinuz-$1" "$2/vmlinuz"
  rm -r "$2/boot" "$2/download"
  depmod -b "$2" "$1"
}

main() {
  local version
  mkdir -p "$folder"
  exec 9<"$folder"
  flock 9
  [[ ! -f $folder/version ]] || return 0
  version=$(newest)
  rm -rf "${folder:?}"/*
  fetch "$version" "$folder"
  modprobe -d "$folder" -S "$version" --show-depends -a 9p sch_netem sch_htb veth >/dev/null
  echo "$version" >"$folder/version.new"
  mv "$folder/version.new" "$folder/version"
}

main
