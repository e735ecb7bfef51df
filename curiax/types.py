"""Types that are shared between packages.

Data are ``[T, B, ...]``: time, then trajectories of the batch. A rollout is a *stream*: the final observation of an
episode is a time step of its own, followed by the first observation of the next episode. The step in between is not a
transition; ``Trajectory.valid`` is false there, and nothing may learn from it.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

Params = Any  # a pytree of arrays
State = Any  # a pytree of arrays


class Score(NamedTuple):
    """A metric that says how well an agent does in an environment."""

    metric: str  # its column in metrics.csv
    title: str  # on the axis of a figure
    label: str  # in a progress line
    bounds: tuple[float, float] = (-math.inf, math.inf)  # its possible values
    accumulates: bool = False  # over the whole run: the newest value counts, not the mean
    digits: int = 0  # after the point, in a sentence
    more: str = "scores more"  # in "A scores more than B"
    fewer: str = "scores less"
    parts: tuple[tuple[str, str], ...] = ()  # metric and title of each: the share of episodes that reached it


RETURN = Score(
    "return",
    "return of an episode",
    "return",
    more="has a higher return per episode",
    fewer="has a lower return per episode",
)
RETURN_TEXT = (
    "The score is the return of an episode: the environment's own rewards, neither clipped nor scaled. "
    "With intrinsic rewards only, the agent never sees them."
)


class Profile(NamedTuple):
    """What an environment says of itself. Its name is enough to know it: nothing has to be made or installed."""

    title: str  # in a sentence
    about: str = ""  # how it differs from the others of its family; "" if its name says it
    text: str = RETURN_TEXT  # what a reader must know of it
    scores: tuple[Score, ...] = (RETURN,)  # the first is the one that a study reports
    noise: str = ""  # what its own noise is called; "" if it has none
    frames: int = 1  # of the game in one time step
    human: tuple[float, float] | None = None  # return of a random policy, and of a person
    map: Any = None  # for pictures: `report.kinds` lists the types of map that it can draw


def nothing_derived(means: dict[str, float]) -> dict[str, float]:
    return {}


class EnvSpec(NamedTuple):
    """What a program must know of an environment before it runs."""

    name: str
    observation_shape: tuple[int, ...]
    num_actions: int  # or the length of an action vector, see `action_parts`
    time_limit: int
    map_shape: tuple[int, int] = (0, 0)  # of `info["cell"]`, where the environment has positions
    observation_scale: float = 1.0  # what divides an observation to make its numbers of size 1: 255 for grey values
    # None: an action is a number. Else it is a vector: one-hot parts of these lengths, or () for real numbers.
    action_parts: tuple[int, ...] | None = None
    derive: Callable[[dict[str, float]], dict[str, float]] = nothing_derived  # scores made from the means of metrics
    tallied: tuple[str, ...] = ()  # statistics of episodes that `derive` gets as means over all episodes of the run


class TimeStep(NamedTuple):
    """What an environment returns for an action. `obs` is the observation *before* any reset."""

    obs: Shaped[Array, "*batch_obs"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    truncated: Bool[Array, "*batch"]
    info: dict[str, Array]  # of this step: "noise", "cell"
    episode: dict[str, Array]  # statistics of the episode so far; those at its last step are logged


class Trajectory(NamedTuple):
    """T steps of B streams; T+1 observations."""

    obs: Shaped[Array, "T1 B *obs"]
    first: Bool[Array, "T1 B"]  # obs is the first of an episode
    last: Bool[Array, "T1 B"]  # obs is the final one of an episode: the step after it is a reset
    action: Shaped[Array, "T B *action"]  # a number, or a vector
    logits: Float[Array, "T B A"]  # outputs of the acting policy's head, also if it is Gaussian
    reward: Float[Array, "T B"]  # extrinsic
    terminated: Bool[Array, "T B"]
    belief: Float[Array, "B D"]  # of the acting network, before the first observation
    previous_action: Shaped[Array, "B *action"]
    info: dict[str, Shaped[Array, "T B *any"]]
    episode: dict[str, Shaped[Array, "T B *any"]]

    @property
    def valid(self) -> Bool[Array, "T B"]:
        """True where step t is a transition, false where it is the reset after an episode's end."""
        return ~self.last[:-1]


class Experience(NamedTuple):
    """A trajectory as a curiosity method sees it: a stream of T+1 observations, or T pairs of them.

    With pairs, where `next_obs` is set, resets need not be steps.
    """

    obs: Shaped[Array, "T1 B *obs"]  # T with pairs
    action: Shaped[Array, "T B *action"]  # a number, or a vector
    valid: Bool[Array, "T B"]  # false where step t is no transition
    belief: Any = None  # Float[Array, "T1 B D"], T with pairs; None if the method trains no beliefs
    action_embedding: Any = None  # Float[Array, "T B E"]
    next_obs: Shaped[Array, "T B *obs"] | None = None  # before any reset
    ended: Bool[Array, "T B"] | None = None  # with pairs: step t+1 belongs to another episode


class Loss(NamedTuple):
    """A per-step loss, the mask of valid steps, and its weight in the sum. `world_model` takes the mean."""

    value: Float[Array, "*any"]
    mask: Bool[Array, "*any"]
    weight: float = 1.0


class CuriosityOutput(NamedTuple):
    losses: dict[str, Loss]  # unreduced: "reconstruction", "invariance", …
    error: Float[Array, "T B"]  # what becomes reward
    metrics: dict[str, Array]
    critic: State = ()  # after its own gradient step


class Agent(NamedTuple):
    """The agent's networks: trained by the policy and value losses, and copied for acting."""

    encoder: Params
    action_embedding: Float[Array, "A E"]  # a row per action, or per coordinate of an action vector
    core: Params
    policy: Params
    value: Params


class LearnerParams(NamedTuple):
    agent: Agent
    duals: dict[str, Float[Array, ""]]  # V-MPO's temperature η and KL multipliers α
    curiosity: Params


class LearnerState(NamedTuple):
    """The complete state of a run: parameters, statistics, counters, environments and random key."""

    params: LearnerParams
    acting: Agent  # V-MPO's target network
    critic: State  # the critic of hindsight and its optimiser; () if there is none
    targets: State  # the curiosity's own state: EMA copies, frozen nets, whitening statistics
    optimizer: State
    bonus: State  # statistics of intrinsic and extrinsic rewards
    popart: State
    stream: State
    key: PRNGKeyArray
    num_updates: Int[Array, ""]
    tally: State = ()  # number of episodes so far, and sums of `EnvSpec.tallied` over them; () if there is nothing
