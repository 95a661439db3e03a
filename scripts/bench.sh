#!/usr/bin/env bash
# Runs every benchmark: bench/*.sh, then the built programs. Usage: bench.sh BUILD PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
for script in bench/*.sh; do
  echo "== $script"
  bash "$script" "$1" "$2"
done
for program in "$1"/bin/*_bench; do
  echo "== $(basename "$program")"
  "$program"
done
