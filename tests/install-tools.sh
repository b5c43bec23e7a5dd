#!/bin/sh
# Install the compilers and emulators that the core and tests need and that are missing: Debian packages, if we may.
# Where we may not, say so: the tests that need them skip, and say so too.
#   install-tools.sh compiler|host|cpus|cortex-m|avr|riscv|wasm|verilog|peers ...
packages=
need() {  # need PACKAGES COMMAND...: ask for the packages if a command is missing
    wanted=$1
    shift
    for command in "$@"; do
        command -v "$command" >/dev/null || { packages="$packages $wanted"; return; }
    done
}
for target in "$@"; do
    case $target in
        compiler) need "gcc libc6-dev" gcc ;;
        cpus)
            need "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" aarch64-linux-gnu-gcc
            need "gcc-s390x-linux-gnu libc6-dev-s390x-cross" s390x-linux-gnu-gcc
            need qemu-user-static qemu-aarch64-static qemu-s390x-static
            ;;
        host)
            need "gcc libc6-dev" gcc
            need g++ g++
            echo 'int main(void) { return 0; }' | clang -fsanitize=address -x c - -o /dev/null 2>/dev/null ||
                packages="$packages clang libclang-rt-dev"
            ;;
        cortex-m) need "gcc-arm-none-eabi qemu-system-arm" arm-none-eabi-gcc qemu-system-arm ;;
        avr) need "gcc-avr avr-libc simavr" avr-gcc simavr ;;
        riscv) need "gcc-riscv64-unknown-elf qemu-system-misc" riscv64-unknown-elf-gcc qemu-system-riscv32 ;;
        peers)
            [ -n "$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null)" ] || packages="$packages postgresql"
            [ -x /usr/sbin/mosquitto ] || packages="$packages mosquitto"
            ;;
        wasm)
            need "clang lld" clang wasm-ld
            need nodejs node
            ;;
        verilog) need "iverilog yosys" iverilog yosys ;;
        *) echo "install-tools.sh: unknown target $target" >&2; exit 2 ;;
    esac
done
[ -z "$packages" ] && exit 0
sudo=
[ "$(id -u)" = 0 ] || sudo="sudo -n"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! command -v apt-get >/dev/null ||
    ! { $sudo apt-get -o DPkg::Lock::Timeout=120 update -qq &&
        $sudo apt-get -o DPkg::Lock::Timeout=120 install --yes -qq --no-install-recommends $packages >/dev/null; }; then
    echo "Not installed, and we may not:$packages. The tests that need them will skip." >&2
fi
