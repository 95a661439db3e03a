#!/usr/bin/env bash
# clang-tidy on the given sources, or on those that differ from main. Usage: tidy.sh BUILD [FILE…]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
if [ $# -eq 0 ]; then
  mapfile -t files < <({ git diff --name-only main -- '*.cc'; git ls-files -o --exclude-standard -- '*.cc'; } |
    sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done)
else
  files=("$@")
fi
[ ${#files[@]} -gt 0 ] || { echo "no source differs from main; name some with FILES="; exit 0; }
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P 2 "${CLANG_TIDY:-clang-tidy-19}" -p "$build" --quiet
