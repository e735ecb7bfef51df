"""The structural-causal world: what is noise, what is novel, and that each is where it is said to be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import envs
from curiax.envs import scm
from tests.support.conformance import check, rollout

STAY, FORWARDS, BACKWARDS, TURN = range(4)
LAMPS = slice(-scm.NUM_SCREEN - scm.NUM_LAMPS, -scm.NUM_SCREEN)
SCREEN = slice(-scm.NUM_SCREEN, None)


@pytest.fixture(scope="module", params=scm.KINDS)
def walk(request):
    """The kind of noise and a long random walk, numpy, without its resets."""
    run = jax.tree.map(np.asarray, rollout(scm.make(request.param), jax.random.key(0), 256, 32))
    goes_on = ~run.before.last
    return request.param, jax.tree.map(lambda x: x[goes_on], run._replace(noise=run.noise._asdict()))


@pytest.mark.parametrize("kind", scm.KINDS)
def test_world_conforms(kind):
    check(envs.make(f"scm/{kind}"))


def test_screen_shows_u_where_there_is_noise_and_is_dark_elsewhere(walk):
    _, run = walk
    lit, screen = run.step.info["noise"], run.step.obs[..., SCREEN]
    np.testing.assert_array_equal(screen, run.step.info["u"])
    np.testing.assert_array_equal(screen[lit], run.noise["u"][lit])
    assert not np.any(screen[~lit])


def test_every_kind_lights_the_screen_a_quarter_of_the_time_and_by_its_own_cause(walk):
    kind, run = walk
    lit, place, action = run.step.info["noise"], run.before.state.place, run.action
    np.testing.assert_allclose(lit.mean(), scm.SHARE, atol=0.05)
    cause = {"independent": run.noise["lit"], "state": np.isin(place, scm.NOISY), "action": action == STAY}[kind]
    np.testing.assert_array_equal(lit, cause)


def test_u_is_normal_and_independent_of_what_came_before(walk):
    _, run = walk
    u = run.step.info["u"][run.step.info["noise"]]
    np.testing.assert_allclose(u.mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(np.cov(u.T), scm.SPREAD**2 * np.eye(scm.NUM_SCREEN), atol=0.04)
    np.testing.assert_allclose(np.mean(np.abs(u) < scm.SPREAD), 0.683, atol=0.03)


def test_lamps_are_a_function_of_place_dial_and_action(walk):
    _, run = walk
    novel, lamps = run.step.info["novel"], run.step.obs[..., LAMPS]
    np.testing.assert_array_equal(novel, np.isin(run.before.state.place, scm.LAMPS))
    state = run.before.state
    np.testing.assert_array_equal(lamps[novel], scm.TABLE[state.place, state.dial, run.action][novel])
    assert not np.any(lamps[~novel])


def test_no_two_entries_of_the_table_in_use_are_all_alike():
    used = scm.TABLE[list(scm.LAMPS)].reshape(-1, scm.NUM_LAMPS)
    assert len(np.unique(used, axis=0)) > 0.8 * len(used)
    assert set(np.unique(used)) == {-scm.BRIGHTNESS, scm.BRIGHTNESS}


def test_lamps_may_be_dark_and_nothing_else_changes():
    lit, dark = (scm.build("scm", scm.KINDS["state"], novelty) for novelty in (True, False))
    noise = lit.draw(jax.random.key(0))
    state = scm.ScmState(jnp.int32(scm.LAMPS[0]), jnp.int32(1))
    (state_lit, step_lit), (state_dark, step_dark) = (
        env.step(state, jnp.int32(FORWARDS), noise) for env in (lit, dark)
    )
    assert state_lit == state_dark
    assert step_lit.info["novel"] and not step_dark.info["novel"]
    assert np.any(step_lit.obs[LAMPS]) and not np.any(step_dark.obs[LAMPS])
    np.testing.assert_array_equal(step_lit.obs[: LAMPS.start], step_dark.obs[: LAMPS.start])


def test_actions_walk_the_ring_and_turn_the_dial():
    env = scm.make("state")
    noise = env.draw(jax.random.key(0))
    state = scm.ScmState(jnp.int32(0), jnp.int32(scm.NUM_DIALS - 1))
    after = {action: env.step(state, jnp.int32(action), noise)[0] for action in range(4)}
    places = [int(after[action].place) for action in range(4)]
    dials = [int(after[action].dial) for action in range(4)]
    assert places == [0, 1, scm.NUM_PLACES - 1, 0]
    assert dials == [scm.NUM_DIALS - 1] * 3 + [0]
