"""A request goes in, an operator comes out: what is measured of a row, as integers. Laws, signatures, drawing."""

from qckm.operator.operator import Operator

__all__ = ["Operator"]
