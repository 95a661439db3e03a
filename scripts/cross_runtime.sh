#!/usr/bin/env bash
# Builds the runtime for another processor, as a static library:
#
#   scripts/cross_runtime.sh aarch64-linux-gnu OUTDIR     -> OUTDIR/libtenfold_runtime.a
#
# Needs that triple's g++ (Debian: g++-aarch64-linux-gnu, g++-riscv64-linux-gnu) and fmt's headers.
set -euo pipefail
triple=${1:?usage: cross_runtime.sh TRIPLE OUTDIR}
out=$(realpath -m "${2:?usage: cross_runtime.sh TRIPLE OUTDIR}")
cd "$(dirname "$0")/.."
mkdir -p "$out/obj" "$out/include"
# fmt's headers alone: the rest of the host's include folder is not for the other processor.
ln -sfn "${FMT_INCLUDE:-/usr/include}/fmt" "$out/include/fmt"
version=$(sed -n 's/^project(tenfold VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
launcher=$(command -v ccache || true)
objects=()
for source in src/base/*.cc src/array/dtype.cc src/runtime/*.cc; do
  object=$out/obj/$(basename "$(dirname "$source")")_$(basename "$source" .cc).o
  $launcher "$triple-g++" -std=c++20 -Os -DNDEBUG -fPIC -ffunction-sections -fdata-sections -pthread \
    -ffp-contract=off -fvisibility=hidden -DFMT_HEADER_ONLY "-DTENFOLD_VERSION=\"$version\"" \
    -Isrc -Iinclude "-I$out/include" -c "$source" -o "$object"
  objects+=("$object")
done
rm -f "$out/libtenfold_runtime.a"
"$triple-ar" rcs "$out/libtenfold_runtime.a" "${objects[@]}"
