# Brings requirements.lock up to pyproject.toml: every dependency of every platform, pinned, with
# hashes. What is pinned stays as it is as far as it can; without the file all are the newest.
# Called by dev with the checkout and its Python. uv is fetched for the occasion.
set -euo pipefail
root=$1 python=$2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" -q --disable-pip-version-check --no-cache-dir install uv

cd "$root"
if [[ -f requirements.lock ]]; then cp requirements.lock "$scratch/lock"; fi
"$scratch/venv/bin/uv" -q --no-cache pip compile --universal --generate-hashes --no-header \
  --no-annotate --python-version 3.11 --extra dev pyproject.toml -o "$scratch/lock"
grep -q '^setuptools==' "$scratch/lock"  # the project is built with the locked one
cat "$scratch/lock" >requirements.lock
