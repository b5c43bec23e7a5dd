"""Compilation that users do not notice: numba compiles a function once, its machine code is kept on disk.

A later process loads it with LLVM alone, in a few milliseconds, and never imports numba. Calls go through ctypes, which
lets go of the GIL. Where no folder is writable, each process compiles for itself, in silence.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from qckm.kernels.instructions import HERE, TARGET

_SYMBOL = "qckm_kernel"
_CHECKSUM = hashlib.sha256().digest_size
_NUMBERS = {"float32": ctypes.c_float, "float64": ctypes.c_double}

_loaded: dict[tuple[Any, ...], Callable[..., int]] = {}
_engines: list[Any] = []  # they own the machine code


def call(name: str, *arguments: Any) -> int:
    """Call a function of `source`, "module.function", with whole numbers, None or, for a number's type, a dtype.

    Each combination of types is a function of its own, compiled or loaded when it is first called.
    """
    key = (name, *map(type, arguments))
    function = _loaded.get(key)
    if function is None:
        function = _loaded[key] = _load(name, [_kind(argument) for argument in arguments])
    return function(*arguments)


def _kind(argument: Any) -> str:
    if isinstance(argument, np.dtype):
        return argument.name
    return "none" if argument is None else "int64"


def _load(name: str, kinds: list[str]) -> Callable[..., int]:
    file = f"qckm-{name}-{_digest(name, *kinds)}.o"
    code = _read(file)
    if code is None:
        code = _compile(name, kinds)
        _write(file, code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), TARGET.machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    # Numba's own convention: where to put the result, where to put an exception (there are none), the arguments.
    types: list[Any] = [_NUMBERS.get(kind) or getattr(ctypes, f"c_{kind}", ctypes.c_void_p) for kind in kinds]
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)(
        engine.get_function_address(_SYMBOL)
    )

    def function(*arguments: Any) -> int:
        result, exception = ctypes.c_int64(), ctypes.c_void_p()
        native(ctypes.byref(result), ctypes.byref(exception), *arguments)
        return result.value

    def function_of_types(*arguments: Any) -> int:  # a type alone matters, the number that stands for it does not
        return function(*(0 if isinstance(argument, np.dtype) else argument for argument in arguments))

    return function if set(kinds) <= {"int64", "none"} else function_of_types


def _compile(name: str, kinds: list[str]) -> bytes:
    from numba import config

    # Kernels are no Python: who debugs other code with NUMBA_DISABLE_JIT=1 has them compiled all the same.
    disabled, config.DISABLE_JIT = config.DISABLE_JIT, 0
    try:
        return _compile_anyway(name, kinds)
    finally:
        config.DISABLE_JIT = disabled


def _compile_anyway(name: str, kinds: list[str]) -> bytes:
    from numba import types

    module, function = name.split(".")
    dispatcher = getattr(import_module(f"qckm.kernels.source.{module}"), function)
    signature = tuple(getattr(types, kind) for kind in kinds)
    dispatcher.compile(signature)
    code = llvm.parse_assembly(dispatcher.inspect_llvm(signature))
    code.get_function(dispatcher.overloads[signature].fndesc.llvm_func_name).name = _SYMBOL
    emitted: bytes = TARGET.machine().emit_object(code)
    return emitted


@cache
def _sources() -> str:
    """Return what compiled code depends on: the sources here, the compilers, the CPU."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    versions = [metadata.version(package) for package in ("numba", "llvmlite")]
    return " ".join([digest.hexdigest(), *versions, HERE.name, TARGET.triple, TARGET.cpu, TARGET.features])


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join([_sources(), *parts]).encode()).hexdigest()[:32]


def _folders() -> Iterator[Path]:
    """Yield the folders for machine code in order of preference; the first one that can be written to is used."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"])
        return
    yield Path(__file__).parent / "__pycache__"
    if sys.platform == "win32":
        yield Path(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")) / "qckm"
    elif sys.platform == "darwin":
        yield Path(os.path.expanduser("~/Library/Caches")) / "qckm"
    else:
        yield Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "qckm"


def _read(file: str) -> bytes | None:
    for folder in _folders():
        try:
            data = (folder / file).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(data[_CHECKSUM:]).digest() == data[:_CHECKSUM]:
            return data[_CHECKSUM:]
    return None


def _write(file: str, code: bytes) -> None:
    for folder in _folders():
        temporary = folder / f".{file}.{secrets.token_hex(6)}.tmp"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(hashlib.sha256(code).digest() + code)
            os.replace(temporary, folder / file)
            return
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
