#!/usr/bin/env bash
# The demo. Usage: demo.sh TENFOLD PYTHON (make demo builds both first).
set -euo pipefail
exec "$2" "$(dirname "$0")/demo.py" "$1"
