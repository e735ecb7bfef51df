"""The table of methods: a representation and a measure each (Table 1 of the paper)."""

from collections.abc import Callable
from typing import NamedTuple

from curiax.config import Config
from curiax.curiosity.base import Curiosity, Measure, Representation, combine
from curiax.curiosity.hindsight import hindsight
from curiax.curiosity.predict import predict
from curiax.curiosity.representations import bootstrapped, inverse_dynamics
from curiax.curiosity.rnd import rnd
from curiax.errors import UserError
from curiax.suggest import unknown_name
from curiax.types import EnvSpec

MEASURES: dict[str, Callable[[Config], Measure]] = {"predict": predict, "hindsight": hindsight}

REPRESENTATIONS: dict[str, Callable[[Config, EnvSpec], Representation]] = {
    "byol": bootstrapped,
    "icm": inverse_dynamics,
}

# Methods that score a transition without predicting X_{t+1} from (X_t, A_t).
OTHERS: dict[str, Callable[[Config, EnvSpec], Curiosity]] = {"rnd": rnd}


class Method(NamedTuple):
    """A row of the table."""

    name: str  # as the paper calls it
    composition: str  # representation+measure, or a name of OTHERS
    about: str


METHODS = {
    "byol-explore": Method("BYOL-Explore", "byol+predict", "bootstrapped embeddings, prediction error (Guo 2022)"),
    "byol-hindsight": Method("BYOL-Hindsight", "byol+hindsight", "the same, paid for what hindsight cannot explain"),
    "icm": Method("ICM", "icm+predict", "inverse-dynamics features, prediction error (Pathak 2017)"),
    "icm+hindsight": Method("ICM + hindsight", "icm+hindsight", "the same, paid for what hindsight cannot explain"),
    "rnd": Method("RND", "rnd", "error in copying a random network (Burda 2019)"),
}


def resolve(name: str) -> str:
    """The composition behind a method's name, or a clear error."""
    if name in METHODS:
        return METHODS[name].composition
    representation, _, measure = name.partition("+")
    if representation in OTHERS and measure:
        raise UserError(
            f"--curiosity {name}: {representation} has a deterministic target: nothing to explain in hindsight; "
            f"+{measure} goes with {', '.join(REPRESENTATIONS)}"
        )
    if representation in REPRESENTATIONS and measure in MEASURES:
        return name
    raise UserError(unknown_name("--curiosity", name, METHODS))


def make(config: Config, spec: EnvSpec) -> Curiosity:
    """The method that the config names."""
    composition = resolve(config.curiosity)
    if composition in OTHERS:
        return OTHERS[composition](config, spec)
    representation, measure = composition.split("+")
    return combine(REPRESENTATIONS[representation](config, spec), MEASURES[measure](config))
