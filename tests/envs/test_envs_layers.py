"""Noise around JAX environments: the contract holds, and the maze's own noise is found again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.envs import maze
from curiax.envs.noise.layers import add_noise
from tests.support import conformance
from tests.support.noisy_worlds import NUM_ACTIONS, SHAPE, still


@pytest.mark.slow
def test_a_noisy_environment_satisfies_the_contract():
    noisy = add_noise(still(), "random")
    assert noisy.spec.observation_shape == (*SHAPE, 2) and noisy.spec.name == "still+random"
    conformance.check(noisy, num_steps=20, batch_size=2)


@pytest.mark.slow
def test_random_pixels_around_the_still_maze_are_those_of_the_noisy_one():
    """Which shows them one step in four, half of them lit; the tests of the maze check it there."""
    around = conformance.rollout(add_noise(maze.make("baseline"), "random"), jax.random.key(0), 60, 64)
    noise, pixels = np.asarray(around.step.info["noise"]), np.asarray(around.step.obs[..., -1])
    assert not np.any(around.step.obs[..., maze.LAYERS.index("noise")])  # the maze's own
    assert abs(noise.mean() - maze.NOISE_PROBABILITY) < 0.04
    assert abs(pixels[noise].mean() - 0.5) < 0.02 and not pixels[~noise].any() and pixels.max() == 1


def test_an_added_action_is_another_one_below():
    env = add_noise(still(), "on-demand", instead=3)
    assert env.spec.num_actions == NUM_ACTIONS + 1
    draw = env.draw(jax.random.key(0))
    state, _ = env.reset(draw)
    for action, taken in ((0, 0), (NUM_ACTIONS, 3), (1, 1)):
        state, step = env.step(state, jnp.int32(action), draw)
        assert step.obs[0, 0, 0] == taken and bool(step.info["noise"]) == (action == NUM_ACTIONS)


def test_noise_of_the_environment_below_is_told_too():
    env = add_noise(add_noise(still(), "on-demand", action=0), "random", probability=0.0)
    draw = env.draw(jax.random.key(0))
    state, _ = env.reset(draw)
    told = [bool(env.step(state, jnp.int32(action), draw)[1].info["noise"]) for action in (0, 1)]
    assert told == [True, False]
