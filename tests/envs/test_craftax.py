"""Craftax through the adapter. It compiles slowly: one compiled rollout serves all tests of the game itself."""

from dataclasses import replace
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import envs
from curiax.config import LAPTOP
from curiax.config.presets import preset_for
from curiax.envs import achievements, craftax
from curiax.envs.base import Environment
from curiax.errors import UserError
from curiax.training.learner import step_metrics
from curiax.training.train import summarise
from curiax.types import Trajectory
from tests.support.conformance import check_flags, check_info, same, step_all

NUM_STEPS, BATCH, LIMIT = 10, 3, 4


class Walk(NamedTuple):
    env: Environment
    run: object  # of `conformance`
    again: object


@pytest.fixture(scope="module")
def walk() -> Walk:
    """The classic game under random actions, with a time limit of a few steps; twice."""
    env = envs.make("craftax/classic-symbolic")
    env = env._replace(spec=env.spec._replace(time_limit=LIMIT))
    key_noise, key_action = jax.random.split(jax.random.key(0))
    noise = jax.vmap(jax.vmap(env.draw))(jax.random.split(key_noise, (NUM_STEPS + 1, BATCH)))
    action = jax.random.randint(key_action, (NUM_STEPS, BATCH), 0, env.spec.num_actions)
    return Walk(env, step_all(env, noise, action), step_all(env, noise, action))


@pytest.mark.slow
def test_the_same_key_gives_the_same_stream(walk):
    same(walk.run, walk.again, "the same key gives the same stream")


@pytest.mark.slow
def test_flags_info_and_shapes_are_those_of_the_contract(walk):
    check_flags(walk.run)
    check_info(walk.run)
    assert walk.run.step.obs.shape == (NUM_STEPS, BATCH, 1345) == (NUM_STEPS, BATCH, *walk.env.spec.observation_shape)
    assert not np.any(walk.run.step.info["noise"])
    assert walk.env.spec.num_actions == 17 and walk.env.spec.name == "craftax/classic-symbolic"


@pytest.mark.slow
def test_the_final_observation_is_of_the_world_that_ended_and_the_next_of_a_new_one(walk):
    from craftax.craftax_classic.renderer import render_craftax_symbolic

    run = walk.run
    last, first = np.asarray(run.after.last), np.asarray(run.after.first)
    assert last.any() and first.any()
    np.testing.assert_array_equal(np.asarray(run.after.state.timestep)[first], 0)
    assert np.all(np.asarray(run.after.state.timestep)[last] > 0)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        seen = jax.jit(jax.vmap(jax.vmap(render_craftax_symbolic)))(run.after.state)
    np.testing.assert_array_equal(run.step.obs, seen)
    worlds = np.asarray(run.after.state.map).reshape(NUM_STEPS, BATCH, -1)
    for time, stream in np.argwhere(first):
        assert np.any(worlds[time, stream] != worlds[time - 1, stream]), "a new episode has a new world"


@pytest.mark.slow
def test_a_time_limit_truncates_and_does_not_terminate(walk):
    ended = np.asarray(walk.run.after.last)
    assert ended.any() and not np.any(walk.run.step.terminated)
    np.testing.assert_array_equal(np.asarray(walk.run.step.truncated), ended)


@pytest.mark.slow
def test_metrics_are_shares_of_the_episodes_that_ended(walk):
    """Four steps in the middle of the walk wake nobody up: the last state of every episode is given an achievement."""
    run = walk.run
    ended, number = np.asarray(run.after.last), np.arange(NUM_STEPS)[:, None] % 2
    woke = np.where(ended, number, 1.0).astype(np.float32)  # what is not the end of an episode does not count
    trajectory = Trajectory(
        obs=jnp.concatenate([run.before.obs[:1], run.step.obs]),
        first=jnp.concatenate([run.before.first[:1], run.after.first]),
        last=jnp.concatenate([run.before.last[:1], run.after.last]),
        action=run.action,
        logits=jnp.zeros((NUM_STEPS, BATCH, walk.env.spec.num_actions)),
        reward=run.step.reward,
        terminated=run.step.terminated,
        belief=jnp.zeros((BATCH, 1)),
        previous_action=jnp.zeros(BATCH, jnp.int32),
        info=run.step.info,
        episode=run.step.episode | {"achievement/wake_up": jnp.asarray(woke)},
    )
    row = summarise(step_metrics(trajectory, *jnp.zeros((2, NUM_STEPS, BATCH))), replace(LAPTOP, log_every=1))
    assert row["achievement/wake_up"] == pytest.approx(woke[ended].mean())
    assert row["achievement/collect_diamond"] == 0
    assert row["length"] == pytest.approx(np.asarray(run.step.episode["length"])[ended].mean())
    assert achievements.score(row)["score"] > 0


def test_achievements_of_a_state_made_by_hand():
    classic = craftax.constants(craftax.GAMES["classic-symbolic"]).Achievement
    found = jnp.zeros(len(classic), bool).at[jnp.array([classic.COLLECT_WOOD.value, classic.EAT_COW.value])].set(True)
    named = {f"achievement/{one.name.lower()}": one.value for one in classic}
    episode = {name: float(value) for name, value in craftax.achievements(named, found).items()}
    assert len(episode) == 1 + 22
    assert episode.pop("achievements") == 2
    unlocked = {name for name, value in episode.items() if value}
    assert unlocked == {"achievement/collect_wood", "achievement/eat_cow"}


def test_pictures_become_bytes():
    picture = jnp.array([0.0, 0.5, 1.0, 1.001]).reshape(2, 2, 1)
    np.testing.assert_array_equal(craftax.to_bytes(jnp.repeat(picture, 3, axis=-1))[..., 0], [[0, 128], [255, 255]])


def test_textures_go_to_the_users_cache_where_the_package_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module = ModuleType("constants")
    module.TEXTURE_CACHE_FILE = "/proc/craftax/textures.pbz2"
    craftax.keep_textures(module)
    assert str(tmp_path / "curiax" / "craftax" / "textures.pbz2") == module.TEXTURE_CACHE_FILE
    mine = tmp_path / "textures.pbz2"
    module.TEXTURE_CACHE_FILE = str(mine)
    craftax.keep_textures(module)
    assert str(mine) == module.TEXTURE_CACHE_FILE


def test_the_achievements_of_the_run_are_tallied():
    spec = envs.make("craftax/classic-symbolic").spec
    assert len(spec.tallied) == 22 and "achievement/eat_cow" in spec.tallied
    assert envs.scores_of(spec.name)[0].metric == "score" and envs.scores_of(spec.name)[0].accumulates


def test_an_unknown_game_is_told_the_known_ones():
    with pytest.raises(UserError, match="craftax/classic-symbolic"):
        envs.check_name("craftax/classic")


def test_presets_cut_pictures_into_the_cells_of_the_game():
    assert preset_for("laptop", "craftax/classic-pixels").network.patch == 7
    assert preset_for("laptop", "craftax/pixels").network.patch == 10
