"""Arrays and JSON as text that a page can hold."""

import base64
import json
import zlib
from typing import Any

import numpy as np


def encoded(array: np.ndarray) -> str:
    """The bytes of an array, little-endian, as base64."""
    return base64.b64encode(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def packed(data: dict[str, Any]) -> str:
    """JSON, compressed, as base64."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def rounded(values: np.ndarray) -> list[float | None]:
    """Four significant digits; None for NaN, which JSON does not have."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]
