"""Vectors of LLVM IR, as few words as the micro-kernels need: load, store, splat, multiply-add.

NumPy-like loops would read better, but LLVM does not vectorise loops over numba arrays that might overlap, and hoists
the sign extensions of a product of int16 so that pmaddwd is never found. Hence vectors, written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ir

from qckm.kernels.instructions import HERE

I64, I32, I16, I8, I1 = (ir.IntType(bits) for bits in (64, 32, 16, 8, 1))
DOUBLE = ir.DoubleType()
Value = Any  # llvmlite has no types of its own for mypy


def constant(kind: Value, number: int | float) -> Value:
    """Return a vector or a scalar constant, every lane the same."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


class Vectors:
    """An IR builder with addresses as integers and int32 vectors of the CPU's width."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.phase = ir.VectorType(I32, HERE.lanes)
        self.halves = ir.VectorType(I16, 2 * HERE.lanes)  # the same bits as a phase vector

    def at(self, address: Value, offset: int | Value) -> Value:
        """Return an address some bytes on."""
        return self.builder.add(address, I64(offset) if isinstance(offset, int) else offset)

    def load(self, address: Value, kind: Value, align: int = 1) -> Value:
        """Load a value of that kind; a multiple of `align` is promised, nothing more."""
        loaded = self.builder.load(self.builder.inttoptr(address, kind.as_pointer()))
        loaded.align = align
        return loaded

    def store(self, value: Value, address: Value, align: int = 1) -> None:
        """Store a value."""
        stored = self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer()))
        stored.align = align

    def splat(self, scalar: Value, kind: Value) -> Value:
        """Return a vector with the scalar in every lane."""
        undefined = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, I32(0))
        return self.builder.shuffle_vector(first, undefined, constant(ir.VectorType(I32, kind.count), 0))

    def call(self, name: str, kind: Value, *arguments: Value) -> Value:
        """Call an LLVM intrinsic by its name."""
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(kind, [a.type for a in arguments]), name=name)
        return self.builder.call(function, arguments)

    def multiply_add(self, total: Value, left: Value, right: Value) -> Value:
        """Return total + left[2i]·right[2i] + left[2i+1]·right[2i+1], the int16 halves of int32 lanes, wrapping.

        LLVM merges pmaddwd and the addition into one vpdpwssd where there is one. No lane pair may be −32768 four times
        over, the only case where pmaddwd wraps: codes and frequencies stay within ±32767.
        """
        builder = self.builder
        if HERE.multiply_add:
            pairs = [builder.bitcast(value, self.halves) for value in (left, right)]
            return builder.add(total, self.call(HERE.multiply_add, self.phase, *pairs))
        sixteen = constant(self.phase, 16)
        for low in (True, False):
            factors = [builder.shl(value, sixteen) if low else value for value in (left, right)]
            total = builder.add(total, builder.mul(*[builder.ashr(value, sixteen) for value in factors]))
        return total

    def loop(self, count: Value, carried: Sequence[Value]) -> Loop:
        """Open a loop that runs `count` ≥ 1 times with values carried from one turn to the next."""
        return Loop(self.builder, count, carried)


class Loop:
    """`turn` and `values` inside the loop; `close` with the next values leaves it and returns them."""

    def __init__(self, builder: Any, count: Value, carried: Sequence[Value]) -> None:
        self.builder, self.count = builder, count
        before = builder.block
        self.body, self.after = builder.append_basic_block("turn"), builder.append_basic_block("after")
        builder.branch(self.body)
        builder.position_at_end(self.body)
        self.turn = builder.phi(I64)
        self.turn.add_incoming(I64(0), before)
        self.values = []
        for value in carried:
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            self.values.append(phi)

    def close(self, values: Sequence[Value]) -> Sequence[Value]:
        """End the body."""
        builder = self.builder
        following = builder.add(self.turn, I64(1))
        self.turn.add_incoming(following, self.body)
        for phi, value in zip(self.values, values, strict=True):
            phi.add_incoming(value, self.body)
        builder.cbranch(builder.icmp_signed("<", following, self.count), self.body, self.after)
        builder.position_at_end(self.after)
        return values
