"""PopArt: the statistics worked by hand, and outputs that survive a change of scale."""

import jax
import jax.numpy as jnp
import numpy as np

from curiax.agent.networks import MLP
from curiax.agent.popart import PopArt, art, normalise, pop, popart_init, unnormalise

update = jax.jit(art)


def state(mean, second_moment):
    return PopArt(jnp.float32(mean), jnp.float32(second_moment))


def batch(*rows):
    return jnp.array(rows, jnp.float32)


def everywhere(returns):
    return jnp.ones(returns.shape, bool)


def test_art_golden():
    # Returns 1, 3: mean 2, mean square 5.  μ' = 0.01·2 = 0.02,  ν' = 1 + 0.01 (5 − 1) = 1.04,  σ' = √(1.04 − 0.0004)
    returns = batch([1.0, 3.0])
    new = update(popart_init(), returns, everywhere(returns))
    np.testing.assert_allclose([new.mean, new.second_moment, new.scale], [0.02, 1.04, np.sqrt(1.0396)], rtol=1e-6)
    far = art(popart_init(), returns, everywhere(returns), step_size=0.5)
    np.testing.assert_allclose([far.mean, far.second_moment], [1.0, 3.0], rtol=1e-6)


def test_art_takes_the_mean_of_the_batch_and_not_its_sum():
    one, many = batch([1.0, 3.0]), jnp.tile(batch([1.0, 3.0]), (128, 16))
    few, lots = update(popart_init(), one, everywhere(one)), update(popart_init(), many, everywhere(many))
    np.testing.assert_allclose(few, lots, rtol=1e-5)


def test_4096_targets_do_not_diverge():
    # After n updates towards a constant batch, μ = (1 − 0.99ⁿ) mean and ν = mean² + 0.99ⁿ (1 − …): the batch's own.
    returns = jnp.asarray(np.random.default_rng(0).normal(5, 1, (128, 32)), jnp.float32)
    new = jax.lax.fori_loop(0, 1000, lambda _, state: update(state, returns, everywhere(returns)), popart_init())
    np.testing.assert_allclose([new.mean, new.scale], [returns.mean(), returns.std()], rtol=1e-2)


def test_art_ignores_resets():
    returns = batch([1.0, 3.0, 1e6])
    new = update(popart_init(), returns, jnp.array([[True, True, False]]))
    np.testing.assert_allclose([new.mean, new.second_moment], [0.02, 1.04], rtol=1e-6)


def test_the_scale_grows_when_returns_vary_more_and_shrinks_when_they_vary_less():
    wide, narrow = batch([-10.0, 10.0]), batch([0.1, -0.1])
    assert update(popart_init(), wide, everywhere(wide)).scale > 1
    assert update(popart_init(), narrow, everywhere(narrow)).scale < 1


def test_the_scale_of_constant_returns_is_positive():
    np.testing.assert_allclose(state(3.0, 9.0).scale, 1e-4, rtol=1e-5)


def test_normalise_undoes_unnormalise():
    statistics, x = state(2.0, 13.0), batch([1.0, -4.0])  # σ = 3
    np.testing.assert_allclose(unnormalise(statistics, x), [[5.0, -10.0]], rtol=1e-6)
    np.testing.assert_allclose(normalise(statistics, unnormalise(statistics, x)), x, rtol=1e-6)


def test_pop_leaves_unnormalised_outputs_unchanged():
    head, x = MLP(3, (4,), 1, jax.random.key(0)), jax.random.normal(jax.random.key(1), (5, 3))
    old, new = state(2.0, 13.0), state(-1.0, 26.0)
    popped = pop(head, old, new)
    np.testing.assert_allclose(unnormalise(new, popped(x)), unnormalise(old, head(x)), rtol=1e-5)
    assert not np.allclose(popped(x), head(x))


def test_pop_golden():
    # σ 3 → 5, μ 2 → −1: W' = 0.6 W, b' = (3 b + 2 + 1)/5; b = 0 gives 0.6
    head = MLP(2, (), 1, jax.random.key(0))
    popped = pop(head, state(2.0, 13.0), state(-1.0, 26.0))
    np.testing.assert_allclose(popped.layers[0].weight, 0.6 * head.layers[0].weight, rtol=1e-6)
    np.testing.assert_allclose(popped.layers[0].bias, [0.6], rtol=1e-6)


def test_pop_leaves_both_outputs_unchanged_each_by_its_own_statistics():
    head, x = MLP(3, (4,), 2, jax.random.key(0)), jax.random.normal(jax.random.key(1), (5, 3))
    old, new = (state(2.0, 13.0), state(0.0, 1.0)), (state(-1.0, 26.0), state(0.5, 4.25))  # σ: 3 → 5 and 1 → 2
    stacked = (
        PopArt(*(jnp.stack(pair) for pair in zip(*pair_of_states, strict=True))) for pair_of_states in (old, new)
    )
    popped = pop(head, *stacked)
    for output in range(2):
        before, after = head(x)[:, output], popped(x)[:, output]
        np.testing.assert_allclose(unnormalise(new[output], after), unnormalise(old[output], before), rtol=1e-5)
        assert not np.allclose(after, before)
    np.testing.assert_allclose(popped.layers[-1].weight, head.layers[-1].weight * np.array([[0.6, 0.5]]), rtol=1e-6)
