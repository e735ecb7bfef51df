"""Representations: what x_t and x_{t+1} are. One file each, one line each in the table."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from curiax.config import Config
from curiax.curiosity.deferred import deferred

if TYPE_CHECKING:
    from curiax.curiosity.base import Representation
    from curiax.types import EnvSpec

REPRESENTATIONS: "dict[str, Callable[[Config, EnvSpec], Representation]]" = {
    "byol": deferred("representations.byol.bootstrapped"),
    "icm": deferred("representations.icm.inverse_dynamics"),
    "ae": deferred("representations.ae.autoencoded"),
    "emi": deferred("representations.emi.linear_dynamics"),
    "random": deferred("representations.random_network.random_network"),
    "pixel": deferred("representations.pixel.pixel"),
}
