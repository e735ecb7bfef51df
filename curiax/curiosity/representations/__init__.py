"""Representations: what x_t and x_{t+1} are. One file each, one line each in the table."""

from collections.abc import Callable

from curiax.config import Config
from curiax.curiosity.base import Representation
from curiax.curiosity.representations.ae import autoencoded
from curiax.curiosity.representations.byol import bootstrapped
from curiax.curiosity.representations.emi import linear_dynamics
from curiax.curiosity.representations.icm import inverse_dynamics
from curiax.curiosity.representations.pixel import pixel
from curiax.curiosity.representations.random_network import random_network
from curiax.types import EnvSpec

REPRESENTATIONS: dict[str, Callable[[Config, EnvSpec], Representation]] = {
    "byol": bootstrapped,
    "icm": inverse_dynamics,
    "ae": autoencoded,
    "emi": linear_dynamics,
    "random": random_network,
    "pixel": pixel,
}
