# Sourced by dev: sets a machine up so that `sudo python -m emu.run` works as typed.
#
# sudo looks for commands in its secure_path, which holds /usr/local/bin; what it finds there
# is a wrapper that starts the venv's Python. The venv lies outside a synced folder.

wrapper=/usr/local/bin/python
profile=/etc/profile.d/netcosim.sh
mark="# Made by netcosim's ./dev provision"

ours_or_absent() {
  [[ ! -e $1 && ! -L $1 ]] || grep -qsxF "$mark" "$1" ||
    refuse 3 "$1: is not of this project's making; move it away first"
}

install_text() {  # install_text MODE PATH, the text on standard input
  install -D -m "$1" /dev/stdin "$2"
}

provision() {
  ((EUID == 0)) || refuse 3 "provision needs root"
  venv=$(realpath -ms "${NETCOSIM_VENV:-/opt/netcosim/venv}")
  python="$venv/bin/python"
  umask 022  # everybody may use the environment
  ours_or_absent "$wrapper"
  ours_or_absent "$profile"
  setup_all
  install_text 0755 "$wrapper" <<TEXT
#!/bin/sh
$mark
export PYTHONDONTWRITEBYTECODE=1  # no files of root's in the checkout
# root imports nothing from the folder in which it happens to be
if [ "\$(id -u)" = 0 ] && [ "\${1-}" = -m ]; then set -- -P "\$@"; fi
exec "$python" "\$@"
TEXT
  install_text 0644 "$profile" <<TEXT
$mark
export NETCOSIM_VENV="$venv"
TEXT
}
