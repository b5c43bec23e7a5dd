#!/bin/sh
# Run a command with a C compiler: the one that is there; else Debian's gcc, if we may install it; else zig, from PyPI.
#   with-compiler.sh PYTHON COMMAND...
has_compiler() { [ -n "$CC" ] || command -v cc || command -v gcc || command -v clang; } >/dev/null
python=$1
shift
has_compiler || "$(dirname "$0")/install-tools.sh" compiler
if ! has_compiler && "$python" -m pip install --quiet ziglang; then
    # The program itself: a build that pip isolates has no module ziglang. By itself it would use all that this CPU has.
    CC="$("$python" -c 'import ziglang; print(*ziglang.__path__)')/zig cc -mcpu=baseline"
    export CC
fi
exec "$@"
