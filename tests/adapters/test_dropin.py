"""Curiosity beside a loop of one's own: what is paid, what moves when, and what survives a trip to disk."""

import contextlib
import functools
import io
import re
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import curiax
from curiax import curiosity as curiosities
from curiax import dropin
from curiax.agent.distributions import distribution_for
from curiax.agent.networks import ImageEncoder
from curiax.agent.policy import believe, make_agent
from curiax.agent.popart import popart_init
from curiax.agent.vmpo import init_duals
from curiax.agent.vmpo_sparse import FORMS
from curiax.curiosity import MEASURES, METHODS, REPRESENTATIONS
from curiax.curiosity.reward import bonus_init, moments_init
from curiax.dropin import Curiosity, DropInState, Memory
from curiax.envs.spaces import Segment
from curiax.training.learner import learner_losses
from curiax.types import Experience, LearnerParams, LearnerState, Trajectory

PAGE = Path(__file__).parents[2] / "docs" / "dropin.md"
QUICK = {"xla_backend_optimization_level": 0}  # compiling these programs is what costs, not running them
for name in ("initial_state", "reward", "update"):
    setattr(dropin, name, jax.jit(getattr(dropin, name).__wrapped__, static_argnums=0, compiler_options=QUICK))

T, B = 6, 3
SPACE = curiax.Box((3,))
ACTIONS = {
    "discrete": curiax.Discrete(4),
    "several": curiax.MultiDiscrete((3, 2)),
    "real": curiax.Box((2,), "float32", -1, 1),
}
SMALL = {
    "network.encoder_hidden": (),
    "network.embedding": 4,
    "network.belief": 4,
    "world.hidden": (5,),
    "world.critic_hidden": (5,),
    "world.latent": 2,
    "world.noise": 2,
}
RAW = {"normalise": False, "prioritise": False}


def make(method="icm", actions="discrete", space=SPACE, **settings) -> Curiosity:
    options = SMALL | settings.pop("options", {})
    return Curiosity(method, space, ACTIONS[actions], options=options, **settings)


def segment(seed=0, num_steps=T, batch_size=B, actions="discrete", ends=((2, 1), (T - 1, 0))):
    """A random walk of observations; after an end (t, b) obs[t+1] is a first observation, and next_obs[t] is not it."""
    rng = np.random.default_rng(seed)
    obs = rng.standard_normal((num_steps + 1, batch_size, 3)).astype(np.float32)
    next_obs = obs[1:].copy()
    terminated, truncated = np.zeros((2, num_steps, batch_size), bool)
    for kind, index in enumerate(index for index in ends if index[0] < num_steps and index[1] < batch_size):
        next_obs[index] = rng.standard_normal(3)
        (terminated if kind % 2 else truncated)[index] = True
    action = {
        "discrete": lambda: rng.integers(0, 4, (num_steps, batch_size)),
        "several": lambda: rng.integers(0, (3, 2), (num_steps, batch_size, 2)),
        "real": lambda: rng.uniform(-2, 2, (num_steps, batch_size, 2)),
    }[actions]()
    return obs[:-1], action, next_obs, terminated, truncated


def equal(left, right) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, left, right))


def raw(state: DropInState) -> DropInState:
    return state._replace(key=jax.random.key_data(state.key))


def check_contract(method, actions):
    curiosity = make(method, actions)
    data = segment(actions=actions)
    before = curiosity._state
    first = curiosity.reward(*data)
    assert isinstance(first, np.ndarray) and first.shape == (T, B) and np.isfinite(first).all()
    assert (first >= 0).all()
    assert first.max() > 0 or method == "dora"  # to which all is equally new at first, and nothing above the mean
    assert curiosity._state is before and curiosity._memory is None  # paying does not train
    np.testing.assert_array_equal(curiosity.reward(*data), first)
    metrics = curiosity.update(*data)
    assert any(name.startswith("loss/") for name in metrics) and curiosity.num_updates == 1
    assert curiosity._state.moments.count == 1
    assert not equal(curiosity._state.world.params.curiosity, before.world.params.curiosity)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "random+aleatoric", "emi+hindsight", "byol+aleatoric"])
def test_every_method_pays_without_training_and_trains_without_paying(method):
    check_contract(method, "discrete")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "actions"),
    [("icm", "several"), ("icm", "real"), ("emi", "real"), ("dora", "several"), ("byol-explore", "real")],
)
def test_actions_may_be_vectors(method, actions):
    check_contract(method, actions)


def test_the_methods_above_are_all_there_are():
    used = {curiosities.resolve(method).partition("+")[0] for method in [*METHODS, "random+aleatoric"]}
    assert used == {*REPRESENTATIONS, "rnd", "dora"}
    assert {measure.partition("-")[0] for measure in MEASURES} == {"predict", "aleatoric", "hindsight"}


def test_errors_and_rewards_are_those_of_the_training_program():
    """A segment in which no episode ends is a stream."""
    setup = make("byol-hindsight")._setup
    config, spec, key = setup.config, setup.spec, jax.random.key(5)
    agent = make_agent(config.network, spec, jax.random.key(1))
    world = dropin.model_of(setup).init(jax.random.key(2), agent)
    obs, action, *_ = segment(ends=())
    none = jnp.zeros((T + 1, B), bool)
    trajectory = Trajectory(
        obs=jnp.asarray(np.concatenate([obs, obs[:1]])),
        first=none,
        last=none,
        action=jnp.asarray(action, jnp.int32),
        logits=jnp.zeros((T, B, 4)),
        reward=jnp.zeros((T, B)),
        terminated=none[1:],
        belief=jnp.full((B, config.network.belief), 0.5),
        previous_action=jnp.ones(B, jnp.int32),
        info={"noise": none[1:]},
        episode={},
    )
    duals = init_duals(FORMS[config.vmpo.form], distribution_for(spec))
    params = LearnerParams(agent, duals, world.params.curiosity)
    theirs = LearnerState(
        params, agent, world.critic, world.targets, (), bonus_init(), popart_init(), (), key, jnp.int32(0)
    )
    losses = functools.partial(learner_losses, config, curiosities.make(config, spec))
    _, scored = jax.jit(losses, compiler_options=QUICK)(params, theirs, trajectory, jax.random.split(key)[1])

    state = DropInState(world, moments_init(), key)
    memory = Memory(trajectory.belief, trajectory.previous_action, none[0])
    pairs = Segment(trajectory.obs[:-1], trajectory.action, trajectory.obs[1:], none[1:])
    rewards = dropin.reward(setup, state, memory, pairs)
    after, _, metrics = dropin.update(setup, state, memory, pairs)
    np.testing.assert_allclose(rewards, scored.intrinsic, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(metrics["error"], np.mean(scored.error), rtol=1e-5)
    np.testing.assert_allclose(after.moments, scored.bonus.intrinsic, rtol=1e-5)  # of errors and of their squares
    assert rewards.max() > 0.5


@pytest.mark.parametrize("method", ["byol-explore", "icm", "dora"])
def test_an_episode_that_ends_within_is_scored_as_in_a_stream(method):
    """All trajectories end at step 2: a stream then holds their final observations as a step of its own."""
    setup = make(method, options={"world.horizon": 2})._setup
    curiosity = curiosities.make(setup.config, setup.spec)
    world = dropin.initial_state(setup).world
    obs, action, next_obs, terminated, truncated = segment(ends=[(2, b) for b in range(B)])
    ended = terminated | truncated
    memory = dropin.fresh_memory(setup, B)

    stream = np.concatenate([obs[:3], next_obs[2:3], obs[3:], next_obs[-1:]])
    acted = jnp.asarray(np.concatenate([action[:3], action[:1], action[3:]]), jnp.int32)
    valid = jnp.ones((T + 1, B), bool).at[3].set(False)
    first = jnp.zeros((T + 2, B), bool).at[np.array([0, 4])].set(True)

    def by_stream(params):
        belief = embedded = None
        if curiosity.trains_beliefs:
            previous = jnp.concatenate([memory.previous_action[None], acted])
            belief = believe(params.agent, memory.belief, jnp.asarray(stream), previous, first)
            embedded = params.agent.action_embedding[acted]
        experience = Experience(jnp.asarray(stream), acted, valid, belief, embedded)
        return curiosity.score(params.curiosity, world.critic, world.targets, experience, jax.random.key(0))

    def by_pairs(params):
        pairs = Segment(jnp.asarray(obs), jnp.asarray(action, jnp.int32), jnp.asarray(next_obs), jnp.asarray(ended))
        experience_of = functools.partial(dropin.experience_of, memory=memory, segment=pairs)
        return dropin.model_of(setup).score(world._replace(params=params), experience_of, jax.random.key(0))

    expected, got = (jax.jit(f, compiler_options=QUICK)(world.params) for f in (by_stream, by_pairs))
    np.testing.assert_allclose(got.error, np.delete(expected.error, 3, axis=0), rtol=1e-4, atol=1e-6)
    for name, loss in got.losses.items():
        masked, right = (np.where(x.mask, x.value, 0.0) for x in (loss, expected.losses[name]))
        np.testing.assert_allclose(masked, np.delete(right, 3, axis=-2), rtol=1e-4, atol=1e-6, err_msg=name)


def test_rewards_are_errors_less_their_mean_in_units_of_their_spread():
    data = segment()
    error = make(**RAW).reward(*data)
    mean, spread = error.mean(), error.std()
    np.testing.assert_allclose(make().reward(*data), np.maximum((error - mean) / spread, 0), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(make(prioritise=False).reward(*data), error / spread, rtol=1e-3)
    np.testing.assert_allclose(make(normalise=False).reward(*data), np.maximum(error - mean, 0), rtol=1e-3, atol=1e-6)


def test_what_follows_an_end_is_next_obs_and_not_the_reset_observation():
    curiosity, data = make(**RAW), segment()
    rewards = curiosity.reward(*data)
    other = [array.copy() for array in data]
    other[2][2, 1] += 1  # the final observation of the episode that ends there
    changed = curiosity.reward(*other) != rewards
    assert changed[2, 1] and changed.sum() == 1


def test_beliefs_go_on_from_segment_to_segment():
    data = segment(ends=((1, 0),))
    early, late = ([array[part] for array in data] for part in (slice(0, 3), slice(3, T)))
    still = make("byol-explore", learning_rate=1e-12, **RAW)  # learns nothing, but moves on
    whole, alone = still.reward(*data)[3:], still.reward(*late)
    assert np.abs(whole - alone).min() > 1e-4  # beliefs matter
    still.update(*early)
    np.testing.assert_allclose(still.reward(*late), whole, rtol=1e-4, atol=1e-5)
    still.reset()
    np.testing.assert_allclose(still.reward(*late), alone, rtol=1e-4, atol=1e-5)
    early[3][-1] = True  # every episode ends with the first segment
    still.update(*early)
    np.testing.assert_allclose(still.reward(*late), alone, rtol=1e-4, atol=1e-5)


def test_another_number_of_trajectories_starts_afresh():
    curiosity = make("byol-explore", **RAW)
    curiosity.update(*segment())
    two = segment(1, batch_size=2)
    rewards = curiosity.reward(*two)
    curiosity.reset()
    np.testing.assert_array_equal(curiosity.reward(*two), rewards)


@pytest.mark.parametrize("method", ["byol-hindsight", "rnd"])
def test_a_loaded_curiosity_goes_on_to_the_same_bits(method, tmp_path):
    curiosity = make(method, seed=3, normalise=False)
    curiosity.update(*segment())
    curiosity.save(tmp_path / "curiosity")
    loaded = Curiosity.load(tmp_path / "curiosity")
    assert [path.name for path in tmp_path.iterdir()] == ["curiosity"]
    assert equal(raw(loaded._state), raw(curiosity._state)) and equal(loaded._memory, curiosity._memory)
    for seed in (1, 2):
        data = segment(seed)
        np.testing.assert_array_equal(loaded.reward(*data), curiosity.reward(*data))
        assert loaded.update(*data) == curiosity.update(*data)
    assert equal(raw(loaded._state), raw(curiosity._state)) and loaded._setup == curiosity._setup


def test_the_seed_is_the_one_source_of_randomness():
    data = segment()
    one, same, other = (make("icm+hindsight", seed=seed).reward(*data) for seed in (0, 0, 1))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


def test_it_learns_what_can_be_learned():
    curiosity, data = make("pixel+predict", learning_rate=0.01, **RAW), segment()  # whose targets do not move
    before = curiosity.update(*data)
    for _ in range(200):
        after = curiosity.update(*data)
    assert after["loss/prediction"] < 0.5 * before["loss/prediction"]


@pytest.mark.parametrize("method", ["icm", "rnd"])
def test_images_are_read_by_convolutions_and_stay_bytes_until_then(method):
    rng = np.random.default_rng(0)
    options = {"network.channels": (2, 3)}
    curiosity = make(method, space=curiax.Box((17, 16, 2), "uint8", 0, 255), options=options)
    obs, next_obs = rng.integers(0, 256, (2, 2, 2, 17, 16, 2), np.uint8)
    data = (obs, np.zeros((2, 2), int), next_obs, np.zeros((2, 2), bool), np.zeros((2, 2), bool))
    params = curiosity._state.world.params.curiosity
    encoder = params if method == "rnd" else params[0]["encoder"]
    assert isinstance(encoder, ImageEncoder) and encoder.scale == (1 if method == "rnd" else 255)
    curiosity.update(*data)
    rewards = curiosity.reward(*data)
    assert rewards.shape == (2, 2) and np.isfinite(rewards).all()


def test_one_step_of_one_trajectory_is_enough_but_not_for_hindsight():
    one = segment(num_steps=1, batch_size=1)
    assert make(**RAW).reward(*one).shape == (1, 1)
    make(**RAW).update(*one)
    hindsight = make("icm+hindsight")
    for call in (hindsight.reward, hindsight.update):
        with pytest.raises(curiax.UserError, match="obs: got B = 1, expected at least 2: hindsight contrasts"):
            call(*one)


def test_a_mistake_leaves_everything_as_it_was():
    curiosity, data = make(), segment()
    curiosity.update(*data)
    state, memory = curiosity._state, curiosity._memory
    with pytest.raises(curiax.UserError, match="next_obs: got nan at step 0, trajectory 0"):
        curiosity.update(*data[:2], data[2] * np.float32(np.nan), *data[3:])
    assert curiosity._state is state and curiosity._memory is memory


def test_a_loss_that_is_not_finite_is_refused_and_nothing_changes():
    curiosity, data = make("ama"), segment()
    state = curiosity._state
    with pytest.raises(curiax.UserError, match=r"update: .* is not finite; nothing was changed"):
        curiosity.update(*data[:2], data[2] * np.float32(1e30), *data[3:])
    assert curiosity._state is state


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "icn"}, ("curiosity icn", "Did you mean icm")),
        ({"method": "rnd+hindsight"}, ("deterministic target",)),
        ({"preset": "desktop"}, ("preset desktop", "laptop", "paper")),
        ({"learning_rate": 3.0}, ("learning-rate 3", "above 0 and below 1")),
        ({"seed": -1}, ("seed -1",)),
        ({"options": {"world.latnt": 3}}, ("world.latnt", "Did you mean world.latent?")),
        ({"options": {"world.latent": "many"}}, ("world.latent", "'many'", "an integer")),
        ({"options": {"vmpo.discount": 0.5}}, ("vmpo.discount", "a curiosity in your own loop does not read it")),
        ({"options": {"unroll": 8}}, ("unroll", "does not read it")),
        ({"options": {"bonus.intrinsic_weight": 1.0}}, ("bonus.intrinsic_weight", "does not read it")),
    ],
)
def test_a_wrong_setting_is_one_line(settings, words):
    with pytest.raises(curiax.UserError) as error:
        make(**settings)
    assert "\n" not in str(error.value) and not str(error.value).startswith("--")
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_config_may_be_given_whole():
    config = replace(dropin.PRESETS["paper"], learning_rate=0.25)
    assert (
        Curiosity("rnd", SPACE, ACTIONS["discrete"], preset=config, options=SMALL)._setup.config.learning_rate == 0.25
    )


def test_files_that_are_none_of_ours_are_refused(tmp_path):
    with pytest.raises(curiax.UserError, match="does not exist"):
        Curiosity.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    curiosity = make()
    curiosity.save(tmp_path / "cut")
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:500])
    for name in ("text", "other.npz", "cut"):
        with pytest.raises(curiax.UserError, match="expected a file that this version's `save` wrote"):
            Curiosity.load(tmp_path / name)


@pytest.mark.slow
def test_the_example_of_the_page_runs_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, output = {}, io.StringIO()
    with contextlib.redirect_stdout(output):
        for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S):
            exec(compile(block, str(PAGE), "exec"), names)
    assert names["rewards"].shape == (names["T"], names["B"])
    assert np.isfinite([float(word) for word in output.getvalue().split()]).all() and output.getvalue()
    assert names["curiosity"].num_updates == names["NUM_SEGMENTS"]
