"""The settings of a curiosity in somebody's loop: which fields it reads, and which it sizes by itself."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from curiax import curiosity as curiosities
from curiax.config import BonusConfig, Config, validate
from curiax.config.dotted import override, read_options
from curiax.config.presets import read_preset
from curiax.curiosity.representations import REPRESENTATIONS
from curiax.curiosity.reward import rules_for
from curiax.envs.spaces import Actions, Observations
from curiax.errors import CuriosityWarning, UserError
from curiax.types import EnvSpec

# What `options` may set.
READ = ("learning_rate", "network.*", "world.*", "bonus.decay", "bonus.normalise", "bonus.prioritise")

FEATURES = 256  # of a representation, with hindsight
LATENT = (256, 512)  # the paper's z, and the largest that is chosen here
COLUMNS = 16  # with fewer trajectories at a time, updates are made from the replay
STEPS = 16  # of a segment that `observe` collects, with more
PIECES = 112  # transitions of a gradient step from the replay
# Steps from one gradient step to the next. One environment's transition is then seen seven times. Seen twice as often,
# the error of new noise rose, probably because the critic memorises pairs of context and z (docs/one_env.md).
PERIOD = 16
ENOUGH = 2_000  # gradient steps, within a budget
FEW = 500  # gradient steps: too few for z to hold anything
MEMORY_SHARE = 0.05  # of a budget's updates, that the reward statistics remember at most


class Setup(NamedTuple):
    """What never changes: the static argument of the compiled functions."""

    config: Config
    observations: Observations
    actions: Actions
    period: int = PERIOD  # steps from one gradient step from the replay to the next
    capacity: int = 10_000  # transitions in the replay

    @property
    def spec(self) -> EnvSpec:
        shape, scale = self.observations.shape, self.observations.scale
        return EnvSpec("drop-in", shape, self.actions.width, 0, (0, 0), scale, self.actions.parts)

    @property
    def bonus(self) -> BonusConfig:
        """How the errors of the method are paid."""
        return rules_for(self.config.bonus, curiosities.make(self.config, self.spec).signed)

    @property
    def piece(self) -> tuple[int, int]:
        """Length and number of the pieces of a gradient step from the replay."""
        length = 2 if self.config.curiosity == "dora" else self.config.world.horizon  # its targets are a step ahead
        return length, max(COLUMNS, PIECES // length)


def make_setup(
    preset: Any,
    top: Mapping[str, Any],
    options: Any,
    observations: Observations,
    actions: Actions,
    budget: int | None,
    capacity: int,
) -> Setup:
    """The setup, with sizes and schedules that fit the spaces and the budget."""
    config = read_preset(preset, "dropin")
    given = dict(top) | read_options(options, config, READ)
    for field, value in given.items():
        config = override(config, field, value)
    setup = Setup(check_config(config), observations, actions, capacity=check_count("replay", capacity))
    if preset == "laptop":
        setup = setup._replace(config=fit_hindsight(setup, given))
    return setup if budget is None else fit_budget(setup, check_count("budget", budget), given)


def check_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UserError(f"{name}: got {value!r}, expected an integer of at least 1")
    return value


def check_config(config: Config) -> Config:
    """The config, validated. T and B come from the caller's arrays, so those of the config are replaced."""
    try:
        curiosities.require_reward(config.curiosity)
        return validate(replace(config, batch_size=2, unroll=max(2, config.world.horizon)))
    except UserError as error:
        raise UserError(str(error).removeprefix("--")) from None


def fit_hindsight(setup: Setup, given: Mapping[str, Any]) -> Config:
    """The config with sizes that hold noise: at least 256 features, so that noise has some of its own; z as large as
    the target, from 256 to 512; and ε as large as z."""
    config = setup.config
    if not curiosities.uses_hindsight(config.curiosity):
        return config
    if "network.embedding" not in given:
        config = replace(config, network=replace(config.network, embedding=FEATURES))
    if "world.latent" in given:
        return config
    representation = curiosities.resolve(config.curiosity).partition("+")[0]
    target = REPRESENTATIONS[representation](config, setup.spec).sizes.target
    latent = min(max(target, LATENT[0]), LATENT[1])
    noise = config.world.noise if "world.noise" in given else latent
    return replace(config, world=replace(config.world, latent=latent, noise=noise))


def fit_budget(setup: Setup, budget: int, given: Mapping[str, Any]) -> Setup:
    """The setup for a run of so many steps: more gradient steps in a short one, and statistics that do not outlast it.
    Warns of what the run is too short for."""
    period = min(max(budget // ENOUGH, 1), PERIOD)
    num_updates = budget // period
    config, bonus = setup.config, setup.config.bonus
    if "bonus.decay" not in given:
        bonus = replace(bonus, decay=min(bonus.decay, max(1 - 1 / max(MEMORY_SHARE * num_updates, 1), 0.5)))
    for line in too_short(replace(config, bonus=bonus), num_updates):
        warnings.warn(f"budget: {budget} steps are {num_updates} updates: {line}", CuriosityWarning, 5)
    return setup._replace(config=replace(config, bonus=bonus), period=period)


def too_short(config: Config, num_updates: int) -> list[str]:
    """What a run of so many updates is too short for."""
    lines, half_life = [], config.world.half_life
    memory = round(1 / (1 - config.bonus.decay))
    if curiosities.uses_hindsight(config.curiosity) and num_updates < FEW:
        lines.append(f"too few for hindsight to hold noise, which takes about {FEW}")
    if memory > num_updates:
        lines.append(f"the reward statistics remember {memory}; a smaller bonus.decay fits")
    if half_life > num_updates:
        lines.append(f"world.half_life is {half_life}, so the learning rate does not halve once")
    return lines
