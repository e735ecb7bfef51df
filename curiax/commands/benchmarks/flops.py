"""Floating-point operations of a function's matrix products and convolutions, counted from the shapes in its trace.

Each matrix product or convolution counts 2 · M · N · K, times the length of the loops around it. K of a convolution is
height × width × channels of its kernel, also at the edges. A product that occurs twice with the same operands counts
once: the compiler removes the second. Products whose result is unused do not count, nor does anything else, such as
activations, Adam and random numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.interpreters.partial_eval import dce_jaxpr


def matmul_flops(function: Callable, *args: Any) -> int:
    """The floating-point operations of one call."""
    jaxpr = jax.make_jaxpr(function)(*args).jaxpr
    live, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))  # removes unused operations, also inside loops
    return _count(live)


def _count(jaxpr: Jaxpr) -> int:
    names: dict[Any, Any] = {}  # a variable -> the first variable that holds the same value
    seen: dict[Any, Any] = {}  # an equation -> the outputs of its first occurrence
    total = 0
    for equation in jaxpr.eqns:
        inputs = tuple(names.get(v, v) if not isinstance(v, Literal) else str(v) for v in equation.invars)
        identity = (equation.primitive.name, inputs, str(equation.params))
        if identity in seen:
            names.update(zip(equation.outvars, seen[identity], strict=True))
            continue
        seen[identity] = equation.outvars
        total += _equation_flops(equation)
    return total


def _equation_flops(equation: Any) -> int:
    if equation.primitive.name == "dot_general":
        (contracting, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return 2 * math.prod(equation.outvars[0].aval.shape) * math.prod(shape[axis] for axis in contracting)
    if equation.primitive.name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        features = kernel[equation.params["dimension_numbers"].rhs_spec[0]]  # of the output
        return 2 * math.prod(equation.outvars[0].aval.shape) * math.prod(kernel) // features
    repeats = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
    return repeats * sum(_count(inner) for inner in _inner(equation.params))


def _inner(params: dict[str, Any]) -> list[Jaxpr]:
    found = []
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, ClosedJaxpr):
                found.append(item.jaxpr)
            elif isinstance(item, Jaxpr):
                found.append(item)
    return found
