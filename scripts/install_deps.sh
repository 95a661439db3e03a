#!/usr/bin/env bash
# Installs what the given stages need: Debian packages that are missing, and Python packages into
# build/venv (or $TENFOLD_VENV). Quick when nothing is missing.
#
#   scripts/install_deps.sh [build] [test] [demo] [bench]
#
# A stage is a pair of files, either may be absent: apt-STAGE.txt, requirements-STAGE.txt; and
# models-STAGE.txt, Python packages taken without their dependencies, for the model files they hold.
# Set TENFOLD_NO_APT=1 where packages are managed by other means.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
venv=${TENFOLD_VENV:-build/venv}
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(build)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_apt() {
  local wanted missing
  mapfile -t wanted < <(cat "$@" | sed -e 's/#.*//' | tr -s ' \t' '\n' | grep .)
  # A package counts as there when dpkg says "installed"; unknown names print nothing.
  missing=$(comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
      sed -n 's/^installed //p' | sort -u))
  [ -n "$missing" ] || return 0
  echo "installing Debian packages:" $missing
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get update -qq
  # shellcheck disable=SC2086 # one word a package
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}

install_python() {
  local stage=$1 file stamp
  mkdir -p "$(dirname "$venv")"
  if [ ! -x "$venv/bin/python" ]; then
    "${PYTHON:-/usr/bin/python3}" -m venv "$venv"
  fi
  for file in "requirements-$stage.txt" "models-$stage.txt"; do
    [ -f "$here/$file" ] || continue
    stamp="$venv/.installed-$file"
    cmp -s "$here/$file" "$stamp" && continue
    echo "installing Python packages: $file"
    if [ "${file%%-*}" = models ]; then
      "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$here/$file"
    else
      "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$here/$file"
    fi
    cp "$here/$file" "$stamp"
  done
}

if [ -z "${TENFOLD_NO_APT:-}" ] && command -v apt-get >/dev/null; then
  lists=()
  for stage in "${stages[@]}"; do
    [ -f "$here/apt-$stage.txt" ] && lists+=("$here/apt-$stage.txt")
  done
  [ ${#lists[@]} = 0 ] || install_apt "${lists[@]}"
fi

# One at a time: worktrees share the environment.
mkdir -p build
exec 9>"$(dirname "$(readlink -f "$venv")")/.venv.lock"
flock 9
for stage in "${stages[@]}"; do
  install_python "$stage"
done
