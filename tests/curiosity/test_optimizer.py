"""The steps of the optimiser: clipped as a whole, and of another size for some parts."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.curiosity.base import SLOWEST, decay_of
from curiax.curiosity.world_model import MAX_GRADIENT_NORM, descend, make_optimizer
from tests.support.small_learner import CONFIG, START, close


def test_a_large_gradient_is_scaled_down_to_the_limit():
    optimizer = make_optimizer(CONFIG)
    grads = jax.tree.map(jnp.ones_like, START.params)
    _, state = descend(optimizer, grads, START.params, optimizer.init(START.params))
    size = sum(leaf.size for leaf in jax.tree.leaves(START.params))
    momentum = next(leaf for leaf in jax.tree.leaves(state) if leaf.shape == (size,))
    np.testing.assert_allclose(jnp.linalg.norm(momentum), 0.1 * MAX_GRADIENT_NORM, rtol=1e-5)  # times 1 − β₁


def test_the_encoder_takes_shorter_strides():
    grads = jax.tree.map(jnp.ones_like, START.params)

    def stride(speed):
        config = replace(CONFIG, network=replace(CONFIG.network, encoder_speed=speed))
        optimizer = make_optimizer(config)
        new, _ = descend(optimizer, grads, START.params, optimizer.init(START.params))
        return jax.tree.map(lambda new, old: new - old, new.agent, START.params.agent)

    full, short = stride(1.0), stride(0.25)
    assert close(short.encoder, jax.tree.map(lambda x: 0.25 * x, full.encoder)) and close(short.core, full.core)


def test_the_world_model_slows_down_and_the_policy_does_not():
    grads = jax.tree.map(jnp.ones_like, START.params)

    def last_stride(trains_beliefs, half_life):
        optimizer = make_optimizer(replace(CONFIG, world=replace(CONFIG.world, half_life=half_life)), trains_beliefs)
        params, state = START.params, optimizer.init(START.params)
        for _ in range(3):
            old, (params, state) = params, descend(optimizer, grads, params, state)
        return jax.tree.map(lambda new, old: new - old, params, old)

    def scaled(tree, factor):
        return jax.tree.map(lambda x: factor * x, tree)

    constant, halved, own = last_stride(True, 0), last_stride(True, 1), last_stride(False, 1)
    assert close(halved.curiosity, scaled(constant.curiosity, 0.25)) and close(own.curiosity, halved.curiosity)
    assert close(halved.agent.core, scaled(constant.agent.core, 0.25)) and close(own.agent.core, constant.agent.core)
    assert close(halved.agent.policy, constant.agent.policy) and close(halved.duals, constant.duals)
    assert decay_of(replace(CONFIG.world, half_life=1))(1000) == pytest.approx(SLOWEST)


def test_only_the_generator_takes_its_own_strides():
    grads = jax.tree.map(jnp.ones_like, START.params)

    def stride(speed):
        optimizer = make_optimizer(replace(CONFIG, world=replace(CONFIG.world, generator_speed=speed)))
        new, _ = descend(optimizer, grads, START.params, optimizer.init(START.params))
        return jax.tree.map(lambda new, old: new - old, new, START.params)

    full, short = stride(1.0), stride(0.25)
    (_, whole), (_, part) = full.curiosity, short.curiosity
    assert close(part["generator"], jax.tree.map(lambda x: 0.25 * x, whole["generator"]))
    assert close(part["reconstructor"], whole["reconstructor"]) and close(short.agent, full.agent)
