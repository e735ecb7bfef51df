"""Every pytree that crosses a file.

Data are ``[T, B, ...]``: time, then trajectories of the batch. A rollout is a *stream*: the final observation of an
episode is a time step of its own, followed by the first observation of the next episode. The step in between is not a
transition; ``Trajectory.valid`` is false there, and nothing may learn from it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

Params = Any  # a pytree of arrays
State = Any  # a pytree of arrays


class Score(NamedTuple):
    """A metric that says how well an agent does in an environment."""

    metric: str  # its column in metrics.csv
    title: str  # on the axis of a figure
    label: str  # in a line of progress
    bounds: tuple[float, float] | None = None  # None: from zero to the largest
    accumulates: bool = False  # over the whole run: its newest value counts, not its mean


RETURN = Score("return", "return of an episode", "return")


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
    scores: tuple[Score, ...] = (RETURN,)  # the first is the one that a study reports
    derive: Callable[[dict[str, float]], dict[str, float]] = nothing_derived  # scores made from the means of metrics


class TimeStep(NamedTuple):
    """What an environment answers to an action. `obs` is the observation *before* any reset."""

    obs: Shaped[Array, "*batch_obs"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    truncated: Bool[Array, "*batch"]
    info: dict[str, Array]  # of this step: "noise", "cell"
    episode: dict[str, Array]  # of the episode so far; its value at the last step is the episode's


class Trajectory(NamedTuple):
    """T steps of B streams; T+1 observations."""

    obs: Shaped[Array, "T1 B *obs"]
    first: Bool[Array, "T1 B"]  # obs is the first of an episode
    last: Bool[Array, "T1 B"]  # obs is the final one of an episode: the step after it is a reset
    action: Shaped[Array, "T B *action"]  # a number, or a vector
    logits: Float[Array, "T B A"]  # of the acting policy; of a Gaussian one whatever its head gives
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

    In pairs, with `next_obs`, every step is a transition, and the reset after an episode's end is no step of its own.
    """

    obs: Shaped[Array, "T1 B *obs"]  # T in pairs
    action: Shaped[Array, "T B *action"]  # a number, or a vector
    valid: Bool[Array, "T B"]
    belief: Any = None  # Float[Array, "T1 B D"], T in pairs; None where the method trains no beliefs
    action_embedding: Any = None  # Float[Array, "T B E"]
    next_obs: Shaped[Array, "T B *obs"] | None = None  # before any reset
    ended: Bool[Array, "T B"] | None = None  # in pairs: step t+1 belongs to another episode


class Loss(NamedTuple):
    """A per-step loss, where it counts, and its weight in the sum. The mean is taken once, in `world_model`."""

    value: Float[Array, "*any"]
    mask: Bool[Array, "*any"]
    weight: float = 1.0


class CuriosityOutput(NamedTuple):
    losses: dict[str, Loss]  # unreduced: "reconstruction", "invariance", …
    error: Float[Array, "T B"]  # what becomes reward
    metrics: dict[str, Array]
    critic: State = ()  # after its step


class Agent(NamedTuple):
    """Everything the policy and value losses train, and what the acting copy holds."""

    encoder: Params
    action_embedding: Float[Array, "A E"]  # a row for each action, or for each coordinate of one
    core: Params
    policy: Params
    value: Params


class LearnerParams(NamedTuple):
    agent: Agent
    duals: dict[str, Float[Array, ""]]  # V-MPO's temperature η and KL multipliers α
    curiosity: Params


class LearnerState(NamedTuple):
    """All that a run is: nothing learned, counted or random lives outside it."""

    params: LearnerParams
    acting: Agent  # V-MPO's target network
    critic: State  # the curiosity's adversary and its optimiser; () where there is none
    targets: State  # the curiosity's own state: EMA copies, frozen nets, whitening statistics
    optimizer: State
    bonus: State  # statistics of intrinsic and extrinsic rewards
    popart: State
    stream: State
    key: PRNGKeyArray
    num_updates: Int[Array, ""]
