"""Curiosity for a stream of few environments: the replay, step-by-step use, sizes that fit, and a look inside."""

import subprocess
import sys
import textwrap
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import curiax
from curiax.dropin import Curiosity
from curiax.dropin.replay import Replay, Rows
from curiax.dropin.watch import UNPAID, Watch
from tests.support.small_curiosity import ACTIONS, RAW, SMALL, SPACE, B, T, equal, make, segment


def rows(first, number, num_envs=2):
    """Steps whose observation is (step, environment)."""
    steps = np.arange(first, first + number)
    obs = np.stack(np.broadcast_arrays(steps[:, None], np.arange(num_envs)), axis=-1).astype(np.float32)
    flags = np.zeros((number, num_envs), bool)
    actions = np.zeros((number, num_envs), np.int32)
    return Rows(obs, actions, obs + np.float32(1), flags, ~flags, obs.copy(), actions, flags.copy())


def steps_of(data, column=0):
    """The steps of one trajectory of a segment, for `observe`."""
    return [tuple(array[step, column] for array in data) for step in range(len(data[0]))]


def test_pieces_are_successive_steps_of_one_environment_with_what_was_before_them():
    replay = Replay.like(rows(0, 1), capacity=20)
    for first in range(0, 21, 3):
        replay.add(rows(first, 3))
    assert (replay.num_steps, replay.count) == (10, 21)
    pieces = replay.sample(np.random.default_rng(0), 4, 500, num_new=0)
    steps, envs = pieces.segment.obs[..., 0], pieces.segment.obs[..., 1]
    assert (np.diff(steps, axis=0) == 1).all() and (envs == envs[0]).all()
    assert set(steps.ravel()) == set(range(11, 21)) and set(envs.ravel()) == {0, 1}  # the last ten steps
    np.testing.assert_array_equal(pieces.belief, pieces.segment.obs[0])


def test_a_quarter_of_the_pieces_at_most_are_the_newest():
    replay = Replay.like(rows(0, 1), capacity=2_000)
    replay.add(rows(0, 1_000))
    starts = replay.sample(np.random.default_rng(0), 2, 16, num_new=100).segment.obs[0, :, 0]
    np.testing.assert_array_equal(starts[:4], [998, 997, 996, 995])
    assert starts[4:].max() < 995


def test_fewer_steps_than_a_piece_repeat_the_last():
    replay = Replay.like(rows(0, 1), capacity=20)
    replay.add(rows(0, 1))
    assert (replay.sample(np.random.default_rng(0), 3, 5, 1).segment.obs[..., 0] == 0).all()


def test_a_cut_ends_the_last_step_only():
    replay = Replay.like(rows(0, 1), capacity=20)
    replay.add(rows(0, 4))
    replay.cut(np.array([True, False]))
    np.testing.assert_array_equal(replay.rows.ended[:5, 0], [False, False, False, True, False])
    assert not replay.rows.ended[:, 1].any()


def test_observing_step_by_step_pays_what_a_segment_would_and_then_learns():
    data = segment(batch_size=1, num_steps=15, ends=((2, 0),))
    whole, stepwise = make("byol-explore", **RAW), make("byol-explore", **RAW)
    paid = [stepwise.observe(*step) for step in steps_of(data)]
    assert stepwise.num_updates == 0 and all(isinstance(reward, float) for reward in paid)
    np.testing.assert_allclose(paid, whole.reward(*data)[:, 0], rtol=1e-4, atol=1e-6)  # beliefs and ends included
    stepwise.observe(*steps_of(data)[0])
    assert stepwise.num_updates == 1 and stepwise.metrics()["replay"] == 16


@pytest.mark.parametrize("method", ["byol-hindsight", "rnd"])
def test_a_loaded_stream_goes_on_to_the_same_bits(method, tmp_path):
    curiosity = make(method)
    for step in steps_of(segment(batch_size=1, num_steps=37)):  # two updates, and five steps that wait
        curiosity.observe(*step)
    curiosity.save(tmp_path / "file")
    loaded = Curiosity.load(tmp_path / "file")
    after = steps_of(segment(1, batch_size=1, num_steps=12))
    assert [loaded.observe(*step) for step in after] == [curiosity.observe(*step) for step in after]
    assert loaded.num_updates == curiosity.num_updates == 3
    assert equal(loaded._replay.rows, curiosity._replay.rows)
    assert equal(loaded._state.world.params, curiosity._state.world.params)


def test_environments_side_by_side_are_observed_together():
    curiosity, data = make(**RAW), segment()
    rewards = [curiosity.observe(*step) for step in zip(*data, strict=True)]
    assert np.shape(rewards) == (T, B) and curiosity.num_updates == 0  # six of 16 steps
    np.testing.assert_allclose(rewards[:3], make(**RAW).reward(*data)[:3], rtol=1e-4)


def test_many_environments_are_learned_from_without_a_replay():
    curiosity = make(**RAW)
    for step in zip(*segment(num_steps=16, batch_size=16), strict=True):
        curiosity.observe(*step)
    assert curiosity.num_updates == 1 and curiosity.replay_bytes == 0


def test_another_number_of_trajectories_starts_the_replay_anew():
    curiosity = make()
    curiosity.update(*segment())
    curiosity.update(*segment(batch_size=1))
    assert curiosity.metrics()["replay"] == T


def test_the_replay_is_bounded():
    curiosity = make(replay=10)
    for seed in range(4):
        curiosity.update(*segment(seed, batch_size=1))
    held = curiosity.replay_bytes
    curiosity.update(*segment(5, batch_size=1))
    assert curiosity.metrics()["replay"] == 10 and curiosity.replay_bytes == held > 0


def test_what_came_by_observe_is_not_mixed_with_segments():
    curiosity, data = make(), segment(batch_size=1)
    curiosity.observe(*steps_of(data)[0])
    with pytest.raises(curiax.UserError, match=r"^update: got a segment, but the last 1 steps came by observe"):
        curiosity.update(*data)
    with pytest.raises(curiax.UserError, match=r"^obs: got 3 environments, expected 1 as before, or a reset first$"):
        curiosity.observe(*(array[0] for array in segment()))
    with pytest.raises(
        curiax.UserError, match=r"^obs: got shape \[2\], expected \[3\], or \[B, 3\] of B environments$"
    ):
        curiosity.observe(np.zeros(2, np.float32), *steps_of(data)[0][1:])


def test_a_reset_between_two_steps_starts_an_episode():
    data = steps_of(segment(batch_size=1, num_steps=8, ends=()))
    curiosity, alone = make("byol-explore", **RAW), make("byol-explore", **RAW)
    curiosity.observe(*data[0])
    curiosity.reset()
    np.testing.assert_allclose(curiosity.observe(*data[1]), alone.observe(*data[1]), rtol=1e-5)
    for step in data[2:] + data:
        curiosity.observe(*step)
    np.testing.assert_array_equal(curiosity._replay.rows.ended[:3, 0], [True, False, False])


@pytest.mark.parametrize(("target", "latent"), [(3, 256), (300, 300), (900, 512)])
def test_z_is_as_large_as_the_target_within_bounds(target, latent):
    curiosity = Curiosity("pixel+hindsight", curiax.Box((target,)), ACTIONS["discrete"])
    world = curiosity._setup.config.world
    assert (world.latent, world.noise) == (latent, latent)


def test_sizes_that_are_given_stay():
    world = make("pixel+hindsight", options=SMALL | {"world.latent": 7})._setup.config.world
    assert (world.latent, world.noise) == (7, SMALL["world.noise"])


def test_a_budget_makes_more_updates_of_a_short_run_and_a_shorter_memory():
    short, long = make(budget=8_000)._setup, make(budget=10**6)._setup
    assert (short.period, short.config.bonus.decay) == (4, 0.99)
    assert (long.period, long.config.bonus.decay) == (16, 0.99)
    assert make(budget=1_000)._setup.config.bonus.decay == pytest.approx(0.98)  # a twentieth of 1,000 updates


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"budget": 400}, "budget: 400 steps are 400 updates: too few for hindsight to hold noise"),
        ({"budget": 1_000, "options": {"world.half_life": 2_000}}, "the learning rate does not halve once"),
        ({"budget": 1_000, "options": {"bonus.decay": 0.9999}}, "the reward statistics remember 10000"),
    ],
)
def test_a_run_too_short_for_a_setting_is_one_line(settings, words):
    with pytest.warns(curiax.CuriosityWarning, match=words) as caught:
        make("icm+hindsight", **settings)
    assert len(caught) == 1 and "\n" not in str(caught[0].message)


@pytest.mark.parametrize("settings", [{"budget": 0}, {"replay": 0}, {"replay": True}])
def test_counts_are_checked(settings):
    name, value = next(iter(settings.items()))
    with pytest.raises(curiax.UserError, match=f"^{name}: got {value}, expected an integer of at least 1$"):
        make(**settings)


def test_rewards_begin_within_the_first_dozen_updates_though_errors_fall_a_hundredfold():
    curiosity, rng = make("pixel+predict", learning_rate=0.03), np.random.default_rng(0)
    paid = []
    for _ in range(30):
        data = segment(int(rng.integers(1 << 30)), num_steps=8, batch_size=16, ends=())
        paid.append(curiosity.reward(*data).mean())
        curiosity.update(*data)
    assert min(paid) > 0


def test_warnings_are_given_once_and_only_for_what_lasts():
    watch = Watch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            for _ in range(UNPAID - 1):
                watch.rewards(0.0)
            watch.rewards(0.5)
        watch.hindsight(1.0, 0.95, 1.0)
        watch.hindsight(0.01, 0.01, 1.0)  # all is predicted: there is nothing to hold
        watch.hindsight(1.0, 0.95, 1.0)
    with pytest.warns(curiax.CuriosityWarning, match="z holds nothing: with it the error is 0.95, without it 1;"):
        watch.hindsight(1.0, 0.95, 1.0)
    with pytest.warns(curiax.CuriosityWarning, match="rewards: all were zero for 100 updates") as caught:
        for _ in range(3 * UNPAID):
            watch.rewards(0.0)
    assert len(caught) == 1


@pytest.mark.parametrize("method", ["icm+hindsight", "byol+hindsight-averaged", "rnd"])
def test_an_explanation_holds_the_reward_and_what_it_is_made_of(method):
    curiosity, data = make(method), segment()
    curiosity.update(*data)
    before = curiosity._state
    told = curiosity.explain(*data)
    np.testing.assert_allclose(told.reward, curiosity.reward(*data), rtol=1e-5)
    expected = np.maximum((told.reconstructed - told.mean) / told.scale, 0)
    np.testing.assert_allclose(told.reward, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(told.noise, told.predicted - told.reconstructed, rtol=1e-6)
    assert told.z.shape == (T, B, 0 if method == "rnd" else SMALL["world.latent"])
    assert curiosity._state is before


def test_without_hindsight_nothing_is_taken_away():
    told = make("icm").explain(*segment())
    assert not told.noise.any()


@pytest.mark.slow
def test_hindsight_takes_the_noise_and_leaves_what_is_predicted(optimised):
    """The first number of an observation is noise; the others never change."""
    curiosity = Curiosity("pixel+hindsight", SPACE, ACTIONS["discrete"], **RAW)
    rng = np.random.default_rng(0)

    def data(num_steps=8):
        obs = np.zeros((num_steps + 1, 16, 3), np.float32)
        obs[..., 0] = rng.standard_normal(obs.shape[:2])
        never = np.zeros((num_steps, 16), bool)
        return obs[:-1], rng.integers(0, 4, never.shape), obs[1:], never, never

    for _ in range(400):
        curiosity.update(*data())
    told = curiosity.explain(*data())
    assert told.predicted.mean() == pytest.approx(1 / 3, rel=0.3)  # the variance of the noise, over three numbers
    assert told.reconstructed.mean() < 0.1 * told.predicted.mean()


def test_arrays_come_back_as_they_came():
    torch = pytest.importorskip("torch")
    data, curiosity = segment(), make()
    rewards = curiosity.reward(*data)
    tensors = [torch.from_numpy(np.array(array)) for array in data]
    jax_arrays = [jnp.asarray(array) for array in data]
    of_torch, of_jax = curiosity.reward(*tensors), curiosity.reward(*jax_arrays)
    assert isinstance(of_torch, torch.Tensor) and isinstance(of_jax, jax.Array)
    assert of_torch.device == tensors[0].device and of_jax.devices() == jax_arrays[0].devices()
    np.testing.assert_array_equal(of_torch.numpy(), rewards)
    np.testing.assert_array_equal(of_jax, rewards)
    with_graph = tensors[0].requires_grad_()
    assert isinstance(curiosity.observe(with_graph[0], *(x[0] for x in tensors[1:])), torch.Tensor)


def test_a_tensor_is_read_without_a_copy():
    torch = pytest.importorskip("torch")
    from curiax.dropin.arrays import like, to_numpy

    tensor, rewards = torch.zeros(3), np.zeros(3)
    assert np.shares_memory(to_numpy(tensor), tensor.numpy())
    assert np.shares_memory(like(tensor)(rewards).numpy(), rewards)


@pytest.mark.slow
def test_torch_is_not_imported_unless_a_tensor_comes_in():
    program = """
        import sys
        import numpy as np
        import curiax
        curiosity = curiax.Curiosity("rnd", curiax.Box((3,)), curiax.Discrete(2))
        curiosity.observe(np.zeros(3, np.float32), 0, np.ones(3, np.float32), False, False)
        print("torch" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr
