"""A structural-causal world x' = f(x, a, u) with known u, so that noise and novelty can be measured separately.

An observation has four blocks: a place on a ring (one-hot), a dial (one-hot), a panel of lamps and a screen. Actions
stay, walk forwards or backwards, or turn the dial; their effect is learned quickly. At some places the lamps show a
pattern looked up by (place, dial, action) in a fixed random table: deterministic, but slow to learn. The screen shows
u, drawn anew at every step, or is dark. The kind of noise decides when it is lit.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from curiax.envs.base import Environment
from curiax.envs.table import SCM
from curiax.types import EnvSpec, Profile, Score, TimeStep

ACTIONS = ("stay", "forwards", "backwards", "turn")
NUM_PLACES, NUM_DIALS, NUM_LAMPS, NUM_SCREEN = 12, 4, 8, 2
NOISY = (0, 1, 2)  # places where state-dependent noise lights the screen
LAMPS = (6, 7, 8)  # places where the lamps are
SHARE = 0.25  # of steps with a lit screen, for every kind of noise, under a uniformly random policy
BRIGHTNESS = 0.5  # of a lamp: ±
SPREAD = 1.0  # of u
TIME_LIMIT = 64
TABLE = np.random.default_rng(0).choice(
    np.array([-BRIGHTNESS, BRIGHTNESS], np.float32), (NUM_PLACES, NUM_DIALS, len(ACTIONS), NUM_LAMPS)
)
PREFERENCE = Score(
    "preference",
    "preference of novelty to noise",
    "preference",
    bounds=(-1.0, 1.0),
    digits=2,
    more="pays more for novelty than for noise",
    fewer="pays less for novelty than for noise",
)
TEXT = (
    "In the structural-causal world no agent is trained: every method learns from the same random walk. The score is "
    "(p − q)/(|p| + |q|), where p is what it pays for novelty until that is learned, and q what it pays for noise in "
    "the end: 1 if novelty alone pays, −1 if noise alone does. "
)


class Kind(NamedTuple):
    """What lights the screen."""

    chance: bool | Bool[Array, ""]
    state: bool | Bool[Array, ""]
    action: bool | Bool[Array, ""]


KINDS = {
    "independent": Kind(True, False, False),
    "state": Kind(False, True, False),
    "action": Kind(False, False, True),
}


def profile_of(name: str) -> Profile:
    """Of a kind of noise, for an agent; or of KIND/measured, where `curiax study scm` measures what methods pay."""
    kind, _, measured = name.partition("/")
    about, noise = SCM.get(kind, ""), "noise on the screen"
    if not measured:
        return Profile("the structural-causal world", about=about, noise=noise)
    return Profile("the structural-causal world", about=about, text=TEXT, scores=(PREFERENCE,))


class Noise(NamedTuple):
    """All the randomness of one step or reset."""

    u: Float[Array, " 2"]
    lit: Bool[Array, ""]  # of the screen, for independent noise
    place: Int[Array, ""]  # at reset
    dial: Int[Array, ""]


class ScmState(NamedTuple):
    place: Int[Array, ""]
    dial: Int[Array, ""]


def draw(key: PRNGKeyArray) -> Noise:
    """All noise of a step, from one call of the random generator: it compiles faster than four calls."""
    words = jax.random.bits(key, (NUM_SCREEN + 3,), jnp.uint32) >> 8
    lit, place, dial = words[NUM_SCREEN:]
    return Noise(
        u=normal(words[:NUM_SCREEN]),
        lit=lit < int(SHARE * 2**24),
        place=(place % NUM_PLACES).astype(jnp.int32),
        dial=(dial % NUM_DIALS).astype(jnp.int32),
    )


def normal(words: UInt32[Array, " n"]) -> Float[Array, " n"]:
    """Gaussian numbers with standard deviation `SPREAD`, from random words of 24 bits."""
    uniform = (words.astype(jnp.float32) + 0.5) * 2.0**-23 - 1.0
    return SPREAD * math.sqrt(2) * jax.lax.erf_inv(uniform)


def observe(state: ScmState, lamps: Float[Array, " 8"], screen: Float[Array, " 2"]) -> Float[Array, " 26"]:
    place, dial = jax.nn.one_hot(state.place, NUM_PLACES), jax.nn.one_hot(state.dial, NUM_DIALS)
    return jnp.concatenate([place, dial, lamps, screen])


def reset(noise: Noise) -> tuple[ScmState, Float[Array, " 26"]]:
    state = ScmState(noise.place, noise.dial)
    return state, observe(state, jnp.zeros(NUM_LAMPS), jnp.zeros(NUM_SCREEN))


def step(
    kind: Kind, novelty: bool | Bool[Array, ""], state: ScmState, action: Int[Array, ""], noise: Noise
) -> tuple[ScmState, TimeStep]:
    """One step. Lamps and screen depend on the place before the step and on the action."""
    at_screen = jnp.any(state.place == jnp.array(NOISY))
    lit = (kind.chance & noise.lit) | (kind.state & at_screen) | (kind.action & (action == 0))
    novel = jnp.any(state.place == jnp.array(LAMPS)) & novelty
    lamps = jnp.where(novel, jnp.asarray(TABLE)[state.place, state.dial, action], 0.0)
    screen = jnp.where(lit, noise.u, 0.0)
    moved = ScmState(
        place=(state.place + jnp.array([0, 1, -1, 0], jnp.int32)[action]) % NUM_PLACES,
        dial=(state.dial + jnp.array([0, 0, 0, 1], jnp.int32)[action]) % NUM_DIALS,
    )
    return moved, TimeStep(
        obs=observe(moved, lamps, screen),
        reward=jnp.zeros(()),
        terminated=jnp.array(False),
        truncated=jnp.array(False),  # the stream adds the time limit
        info={"noise": lit, "novel": novel, "u": screen, "cell": moved.place * NUM_DIALS + moved.dial},
        episode={},
    )


def make(kind_name: str) -> Environment:
    """The world with one kind of noise and with lamps."""
    return build(f"scm/{kind_name}", KINDS[kind_name], novelty=True)


def build(name: str, kind: Kind, novelty: bool | Bool[Array, ""]) -> Environment:
    """The world with or without lamps (`novelty`). Without them there is only the agent's own movement to learn."""
    spec = EnvSpec(
        name=name,
        observation_shape=(NUM_PLACES + NUM_DIALS + NUM_LAMPS + NUM_SCREEN,),
        num_actions=len(ACTIONS),
        time_limit=TIME_LIMIT,
        map_shape=(NUM_PLACES, NUM_DIALS),
    )
    return Environment(
        spec=spec, draw=draw, reset=reset, step=lambda state, action, noise: step(kind, novelty, state, action, noise)
    )
