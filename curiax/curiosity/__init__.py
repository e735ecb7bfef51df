"""A curiosity method is a representation and a measure (Table 1 of the paper)."""

from collections.abc import Callable

from curiax.config import Config
from curiax.curiosity.base import Curiosity, Measure, combine
from curiax.curiosity.dora import dora
from curiax.curiosity.measures.aleatoric import aleatoric
from curiax.curiosity.measures.hindsight import hindsight
from curiax.curiosity.measures.predict import predict
from curiax.curiosity.measures.variants import contrast_paid, separable_critic, with_outcomes, without_contrast
from curiax.curiosity.representations import REPRESENTATIONS
from curiax.curiosity.representations.emi import emi
from curiax.curiosity.rnd import rnd
from curiax.curiosity.table import METHODS
from curiax.errors import UserError, unknown_name
from curiax.types import EnvSpec

MEASURES: dict[str, Callable[[Config], Measure]] = {
    "predict": predict,
    "aleatoric": aleatoric,
    "hindsight": hindsight,
}
MEASURES |= {  # for the studies of appendix B
    "hindsight-outcomes": with_outcomes,
    "hindsight-no-contrast": without_contrast,
    "hindsight-contrast-paid": contrast_paid,
    "hindsight-separable": separable_critic,
}

# Methods that are not a representation and a measure.
OTHERS: dict[str, Callable[[Config, EnvSpec], Curiosity]] = {"rnd": rnd, "dora": dora, "emi": emi}


def resolve(name: str) -> str:
    """The composition that a method's name stands for. Raises a UserError if there is no such method."""
    if name in METHODS:
        return METHODS[name].composition
    representation, plus, measure = name.partition("+")
    if representation in REPRESENTATIONS and measure in MEASURES:
        return name
    if representation in REPRESENTATIONS and plus:
        raise UserError(unknown_name(f"--curiosity {name}: measure", measure, MEASURES))
    if representation in OTHERS and measure in MEASURES:
        raise UserError(
            f"--curiosity {name}: {representation} has a deterministic target: nothing to explain in hindsight; "
            f"+{measure} goes with {', '.join(REPRESENTATIONS)}"
        )
    if measure in MEASURES:
        raise UserError(unknown_name(f"--curiosity {name}: representation", representation, REPRESENTATIONS))
    raise UserError(unknown_name("--curiosity", name, METHODS))


def uses_hindsight(name: str) -> bool:
    """Whether the method contrasts hindsight vectors, which takes at least two trajectories."""
    return resolve(name).partition("+")[2].startswith("hindsight")


def make(config: Config, spec: EnvSpec) -> Curiosity:
    """The method that the config names."""
    composition = resolve(config.curiosity)
    if composition in OTHERS:
        return OTHERS[composition](config, spec)
    representation, measure = composition.split("+")
    return combine(REPRESENTATIONS[representation](config, spec), MEASURES[measure](config))
