"""A curiosity method is a representation and a measure (Table 1 of the paper)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from curiax.config import Config
from curiax.curiosity.deferred import deferred
from curiax.curiosity.representations import REPRESENTATIONS
from curiax.curiosity.table import METHODS, RANDOM_POLICY, Method
from curiax.errors import UserError, unknown_name

if TYPE_CHECKING:
    from curiax.curiosity.base import Curiosity, Measure
    from curiax.types import EnvSpec

MEASURES: "dict[str, Callable[[Config], Measure]]" = {
    "predict": deferred("measures.predict.predict"),
    "aleatoric": deferred("measures.aleatoric.aleatoric"),
    "hindsight": deferred("measures.hindsight.hindsight"),
    "hindsight-averaged": deferred("measures.averaged.averaged"),
    "lpm": deferred("measures.lpm.lpm"),
    "critic": deferred("measures.curiosity_critic.curiosity_critic"),
    "lbs": deferred("measures.lbs.latent_surprise"),
    "disagreement": deferred("measures.disagreement.disagreement"),
    "progress": deferred("measures.progress.progress"),
}
MEASURES |= {  # for the studies of appendix B
    "hindsight-outcomes": deferred("measures.variants.with_outcomes"),
    "hindsight-no-contrast": deferred("measures.variants.without_contrast"),
    "hindsight-contrast-paid": deferred("measures.variants.contrast_paid"),
}

# Methods that are not a representation and a measure.
OTHERS: "dict[str, Callable[[Config, EnvSpec], Curiosity]]" = {
    "rnd": deferred("rnd.rnd"),
    "dora": deferred("dora.dora"),
    "emi": deferred("representations.emi.emi"),
    RANDOM_POLICY: deferred("random_policy.random_policy"),
}

BUILT_IN = frozenset(METHODS)


def register(name: str, method: "str | Callable[[Config, EnvSpec], Curiosity]", about: str = "") -> None:
    """Adds a named method: REPRESENTATION+MEASURE, or a function that makes a `Curiosity`. `about` is its line in
    `curiax list methods`."""
    if name in BUILT_IN or "+" in name or not name:
        raise UserError(f"register {name}: must be a new name without +; there are: {', '.join(METHODS)}")
    if not isinstance(method, str):
        OTHERS[name] = method
    METHODS[name] = Method(name, resolve(method) if isinstance(method, str) else name, about)


def resolve(name: str) -> str:
    """The composition that a method's name stands for. Raises a UserError if there is no such method."""
    if name in METHODS:
        return METHODS[name].composition
    representation, plus, measure = name.partition("+")
    if representation in REPRESENTATIONS and measure in MEASURES:
        return name
    if representation in REPRESENTATIONS and plus:
        raise UserError(unknown_name(f"--curiosity {name}: measure", measure, MEASURES))
    if representation in OTHERS and representation != RANDOM_POLICY and measure in MEASURES:
        raise UserError(
            f"--curiosity {name}: {representation} has a deterministic target: nothing to explain in hindsight; "
            f"+{measure} goes with {', '.join(REPRESENTATIONS)}"
        )
    if measure in MEASURES:
        raise UserError(unknown_name(f"--curiosity {name}: representation", representation, REPRESENTATIONS))
    raise UserError(unknown_name("--curiosity", name, METHODS))


def require_reward(name: str) -> None:
    """Raises a UserError for the one method that has no reward."""
    if resolve(name) == RANDOM_POLICY:
        raise UserError(f"--curiosity {name}: is a policy without a reward, for curiax train and studies only")


def uses_hindsight(name: str) -> bool:
    """Whether the method contrasts hindsight vectors, which takes at least two trajectories."""
    return resolve(name).partition("+")[2].startswith("hindsight")


def make(config: Config, spec: "EnvSpec") -> "Curiosity":
    """The method that the config names."""
    from curiax.curiosity.base import combine

    if uses_hindsight(config.curiosity) and config.batch_size < 2:
        raise UserError("--batch-size 1: hindsight contrasts trajectories with each other and needs at least 2")
    composition = resolve(config.curiosity)
    if composition in OTHERS:
        return OTHERS[composition](config, spec)
    representation, measure = composition.split("+")
    return combine(REPRESENTATIONS[representation](config, spec), MEASURES[measure](config))
