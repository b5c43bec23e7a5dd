"""Loads and stores by address: what numba's arrays would be in the way of."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from qckm.kernels.source.vectors import Vectors


@intrinsic
def load_like(typing_context, address, example):
    """Load a number of the example's type from any address, aligned or not."""

    def generate(context, builder, signature, arguments):
        return Vectors(builder).load(arguments[0], context.get_value_type(example))

    return example(types.int64, example), generate


@intrinsic
def store(typing_context, address, value):
    """Store a number at an address."""

    def generate(context, builder, signature, arguments):
        Vectors(builder).store(arguments[1], arguments[0])
        return context.get_dummy_value()

    return types.void(types.int64, value), generate
