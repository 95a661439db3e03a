#!/usr/bin/env bash
# Formats every C++ file of the checkout in place; --check only says which would change.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=-i
[ "${1:-}" = --check ] && mode="--dry-run -Werror"
git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' '*.hpp' '*.c' |
  while IFS= read -r -d '' file; do [ -f "$file" ] && printf '%s\0' "$file"; done |
  xargs -0 -r -n 50 -P 2 "${CLANG_FORMAT:-clang-format-19}" $mode
