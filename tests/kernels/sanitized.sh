#!/bin/sh
# Build the C core with sanitizers and run tests with it. Python is not built with them, so their library is loaded first.
#   sanitized.sh BIN SANITIZERS LIBRARY PYTEST-ARGUMENTS...
set -e
bin=$1 sanitizers=$2 library=$3
shift 3
build=build/sanitized-$library
CC=gcc "$bin/cmake" -S . -B "$build" -G Ninja -DQCKM_STRICT=ON "-DQCKM_SANITIZE=$sanitizers" --log-level=NOTICE
"$bin/cmake" --build "$build"
# Python itself leaves memory to the system when it ends.
ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(gcc "-print-file-name=lib$library.so") QCKM_CORE=$PWD/$build/qckm_core.so \
    "$bin/python" -m pytest -q -p no:cacheprovider "$@"
