#!/usr/bin/env bash
# Runs each fuzzer for a while. Usage: fuzz.sh FOLDER SECONDS. New inputs go to build/corpus/.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
fuzzers=("$1"/*_fuzz)
[ ${#fuzzers[@]} -gt 0 ] || { echo "no fuzzer in test/fuzz yet"; exit 0; }
export ASAN_OPTIONS=detect_container_overflow=0
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer")
  mkdir -p "build/corpus/$name" build/crashes
  seeds=()
  [ -d "test/fuzz/corpus/$name" ] && seeds=("test/fuzz/corpus/$name")
  echo "== $name for $2 s"
  "$fuzzer" "build/corpus/$name" "${seeds[@]}" -max_total_time="$2" -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="build/crashes/$name-" -print_final_stats=1 -verbosity=0
done
