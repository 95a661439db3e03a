#!/usr/bin/env bash
# Makes a second checkout on a branch of its own, ready to build:
#
#   scripts/new_worktree.sh NAME        -> ../wt/NAME beside the main checkout, branch NAME
#
# It shares the Python environment (a link) and, through the compiler launcher, every ccache hit.
set -euo pipefail
name=${1:?usage: new_worktree.sh NAME}
cd "$(dirname "$0")/.."
main=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")
target=$(dirname "$main")/wt/$name
if git -C "$main" show-ref --verify --quiet "refs/heads/$name"; then
  git -C "$main" worktree add "$target" "$name"
else
  git -C "$main" worktree add -b "$name" "$target"
fi
mkdir -p "$target/build" "$main/build"
ln -sfn "$(realpath -m --relative-to="$target/build" "$main/build/venv")" "$target/build/venv"
echo "$target: cd there and run make build"
