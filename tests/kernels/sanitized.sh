#!/bin/sh
# Run the C core with sanitizers: its tests and whole decodes with those for addresses and undefined behaviour, its threads with the one for races.
#   sanitized.sh BIN, the folder of Python and CMake
set -e
bin=$1
build() {  # build FOLDER SANITIZERS
    CC=gcc "$bin/cmake" -S . -B "$1" -G Ninja -DQCKM_STRICT=ON "-DQCKM_SANITIZE=$2" --log-level=NOTICE
    "$bin/cmake" --build "$1"
}

build build/sanitized-threads thread
for program in threads loop_threads; do
    gcc -std=c11 -g -Wall -Wextra -Werror -fsanitize=thread -Isrc/qckm/kernels/core tests/kernels/$program.c \
        build/sanitized-threads/qckm_core.so -lpthread -o build/sanitized-threads/$program
    build/sanitized-threads/$program
done

build build/sanitized address,undefined
# Python is not built with the sanitizer, so its library is loaded first; Python leaves memory to the system when it ends.
ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(gcc -print-file-name=libasan.so) QCKM_CORE=$PWD/build/sanitized/qckm_core.so \
    "$bin/python" -m pytest -q -n 2 -p no:cacheprovider tests/kernels tests/decoding/model/test_loops.py tests/clustering
