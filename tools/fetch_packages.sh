# Fetches what ./dev sim and ./dev run install into FOLDER: Debian packages in archives/, wheels in
# wheels/. For ./dev bare SUITE --fetched; changes the machine, so only in a root that is thrown away.
set -euo pipefail
folder=$1

refuse() { echo "dev: $2" >&2; exit "$1"; }
root=$PWD
source tools/setup.sh

mkdir -p "$folder/archives" "$folder/wheels"
quietly apt update
quietly apt install -y --no-install-recommends --download-only "${packages[@]}" "${python_packages[@]}"
cp /var/cache/apt/archives/*.deb "$folder/archives/"
quietly apt install -y --no-install-recommends ca-certificates "${python_packages[@]}"
find_python
"$base_python" -m venv --without-pip /tmp/fetching
/tmp/fetching/bin/python "$pip_wheel/pip" -q download --no-deps --only-binary :all: --require-hashes \
  -r requirements/emu.lock -d "$folder/wheels"
