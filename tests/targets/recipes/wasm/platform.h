/* A WebAssembly module: bytes go to a function of JavaScript's, which imports are. */
__attribute__((import_module("host"), import_name("emit"))) void host_emit(int byte);

static void platform_start(void)
{
}

static void platform_emit(uint8_t byte)
{
    host_emit(byte);
}

static void platform_finish(void)
{
}
