"""Hadamard transforms of int32, wrapping: additions and subtractions only, n·log n of them.

The first stages run on eight vectors in registers: those within a vector shuffle its lanes, three more add and subtract
whole vectors. The other stages come three at a time as well, on vectors further apart.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
from numba import types
from numba.extending import intrinsic

from qckm.kernels.instructions import HERE
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.vectors import I1, I16, I32, I64, Value, Vectors, constant

LANES = HERE.lanes
GROUP = 8 * LANES  # numbers transformed together in registers
VECTOR_BYTES = 4 * LANES


def _transform_lanes(vectors: Vectors, value: Value) -> Value:
    """Transform within a vector: each lane meets those whose number differs in one bit."""
    builder, lanes = vectors.builder, range(LANES)
    distance = 1
    while distance < LANES:
        order = ir.Constant(ir.VectorType(I32, LANES), [lane ^ distance for lane in lanes])
        partner = builder.shuffle_vector(value, value, order)
        upper = ir.Constant(ir.VectorType(I1, LANES), [int(bool(lane & distance)) for lane in lanes])
        value = builder.select(upper, builder.sub(partner, value), builder.add(partner, value))
        distance *= 2
    return value


def _transform_vectors(vectors: Vectors, values: list[Value]) -> list[Value]:
    """Transform between vectors, a power of two of them."""
    builder, distance = vectors.builder, 1
    values = list(values)
    while distance < len(values):
        for low in range(len(values)):
            if not low & distance:
                a, b = values[low], values[low | distance]
                values[low], values[low | distance] = builder.add(a, b), builder.sub(a, b)
        distance *= 2
    return values


def _store_group(vectors: Vectors, values: list[Value], target: Value) -> None:
    transformed = _transform_vectors(vectors, [_transform_lanes(vectors, value) for value in values])
    for v, value in enumerate(transformed):
        vectors.store(value, vectors.at(target, v * VECTOR_BYTES), 4)


@intrinsic
def _enter(typing_context, codes, factors, target):
    """Multiply a group of int16 codes by int32 factors, transform it and store it."""

    def generate(context, builder, signature, arguments):
        vectors, narrow = Vectors(builder), ir.VectorType(I16, LANES)
        codes, factors, target = arguments
        values = []
        for v in range(8):
            code = builder.sext(vectors.load(vectors.at(codes, 2 * v * LANES), narrow, 2), vectors.phase)
            factor = vectors.load(vectors.at(factors, v * VECTOR_BYTES), vectors.phase, 4)
            values.append(builder.mul(code, factor))
        _store_group(vectors, values, target)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def _flip(typing_context, target, signs):
    """Negate the numbers of a group whose sign is −1 (not 0), transform it and store it back."""

    def generate(context, builder, signature, arguments):
        vectors = Vectors(builder)
        values = []
        for v in range(8):
            places = (vectors.at(address, v * VECTOR_BYTES) for address in arguments)
            value, sign = (vectors.load(place, vectors.phase, 4) for place in places)
            values.append(builder.sub(builder.xor(value, sign), sign))
        _store_group(vectors, values, arguments[0])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def _clear(typing_context, target):
    """Set a group to 0."""

    def generate(context, builder, signature, arguments):
        vectors = Vectors(builder)
        for v in range(8):
            vectors.store(constant(vectors.phase, 0), vectors.at(arguments[0], v * VECTOR_BYTES), 4)
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _stages(count: int) -> Any:
    """Make the intrinsic of some stages at once, on 2**count vectors that are `distance` bytes apart."""

    @intrinsic
    def stages(typing_context, start, distance):
        def generate(context, builder, signature, arguments):
            vectors = Vectors(builder)
            start, distance = arguments
            places = [vectors.at(start, builder.mul(distance, I64(v))) for v in range(1 << count)]
            values = [vectors.load(place, vectors.phase, 4) for place in places]
            for value, place in zip(_transform_vectors(vectors, values), places, strict=True):
                vectors.store(value, place, 4)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return stages


_one_stage, _two_stages, _three_stages = _stages(1), _stages(2), _stages(3)


@compiled
def _transform_groups(values, size):
    """Do the stages between groups."""
    distance = 4 * GROUP
    while distance < 4 * size:
        left = 4 * size // distance  # 2 to the number of stages left
        stride = distance * min(8, left)
        for start in range(values, values + 4 * size, stride):
            for at in range(start, start + distance, VECTOR_BYTES):
                if left >= 8:
                    _three_stages(at, distance)
                elif left == 4:
                    _two_stages(at, distance)
                else:
                    _one_stage(at, distance)
        distance = stride


@compiled
def project_block(codes, n, size, factors, signs, values):
    """Write t = H·S₃·H·S₂·H·(factors ∘ codes), int32 (size,), of one row; the codes are taken as 0 from n on.

    `signs` are S₂ and S₃ as 0 and −1. `factors` (size,) are 0 from n on, so that what a group reads past the last code
    does not matter.
    """
    for k in range(0, size, GROUP):
        if k < n:
            _enter(codes + 2 * k, factors + 4 * k, values + 4 * k)
        else:
            _clear(values + 4 * k)
    _transform_groups(values, size)
    for turn in range(2):
        for k in range(0, size, GROUP):
            _flip(values + 4 * k, signs + 4 * (turn * size + k))
        _transform_groups(values, size)
