"""Curiosity beside a loop of one's own: what is paid, what moves when, and what survives a trip to disk."""

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import curiax
from curiax import curiosity as curiosities
from curiax.agent.networks import ImageEncoder
from curiax.config import PRESETS
from curiax.curiosity import MEASURES, METHODS, REPRESENTATIONS
from curiax.dropin import Curiosity
from curiax.dropin.functions import DropInState
from tests.support.small_curiosity import ACTIONS, RAW, SMALL, SPACE, B, T, equal, make, segment

PAGE = Path(__file__).parents[2] / "docs" / "dropin.md"


REWARDED = {name: method for name, method in METHODS.items() if name != "random-policy"}
LATER = {name for name, method in REWARDED.items() if not method.in_paper}


def raw(state: DropInState) -> DropInState:
    return state._replace(key=jax.random.key_data(state.key))


def check_contract(method, actions):
    curiosity = make(method, actions)
    data = segment(actions=actions)
    before = curiosity._state
    first = curiosity.reward(*data)
    assert isinstance(first, np.ndarray) and first.shape == (T, B) and np.isfinite(first).all()
    if not curiosities.make(curiosity._setup.config, curiosity._setup.spec).signed:
        assert (first >= 0).all()
    # To DORA all is equally new at first, and nothing above the mean; lpm and progress need a past.
    assert first.max() > 0 or method in ("dora", "lpm", "progress")
    assert curiosity._state is before and curiosity._memory is None  # paying does not train
    np.testing.assert_array_equal(curiosity.reward(*data), first)
    metrics = curiosity.update(*data)
    assert any(name.startswith("loss/") for name in metrics) and curiosity.num_updates == 1
    assert curiosity._state.moments.count == 1
    assert not equal(curiosity._state.world.params.curiosity, before.world.params.curiosity)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*REWARDED, "random+aleatoric", "emi+hindsight", "byol+aleatoric"])
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
    used = {curiosities.resolve(method).partition("+")[0] for method in [*REWARDED, "random+aleatoric"]}
    assert used == {*REPRESENTATIONS, "rnd", "dora"}
    assert {measure.partition("-")[0] for measure in MEASURES} == {"predict", "aleatoric", "hindsight", *LATER}


def test_rewards_are_errors_less_their_mean_in_units_of_their_spread():
    data = segment()
    error = make(**RAW).reward(*data)
    mean, spread = error.mean(), error.std()
    np.testing.assert_allclose(make().reward(*data), np.maximum((error - mean) / spread, 0), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(make(prioritise=False).reward(*data), error / spread, rtol=1e-3)
    np.testing.assert_allclose(make(normalise=False).reward(*data), np.maximum(error - mean, 0), rtol=1e-3, atol=1e-6)


def test_signed_errors_are_paid_with_their_sign():
    curiosity = make("progress")
    for seed in range(20):
        curiosity.update(*segment(seed))
    data = segment(20)
    told = curiosity.explain(*data)
    assert told.predicted.min() < 0 < told.predicted.max()
    np.testing.assert_allclose(told.reward, told.predicted / told.scale, rtol=1e-4)
    assert curiosity.metrics()["error"] * curiosity.metrics()["reward"] > 0


@pytest.mark.parametrize("method", ["byol-hindsight", "rnd", "lpm", "critic"])
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


@pytest.mark.slow
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


@pytest.mark.parametrize("method", ["icm", "icm+hindsight", "dora"])
def test_one_step_of_one_trajectory_is_enough(method):
    one = segment(num_steps=1, batch_size=1)
    curiosity = make(method, **RAW)
    assert curiosity.reward(*one).shape == (1, 1)
    assert all(np.isfinite(value) for value in curiosity.update(*one).values())


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
    config = replace(PRESETS["paper"], learning_rate=0.25)
    assert (
        Curiosity("rnd", SPACE, ACTIONS["discrete"], preset=config, options=SMALL)._setup.config.learning_rate == 0.25
    )


def test_files_that_are_none_of_ours_are_refused(tmp_path):
    with pytest.raises(curiax.UserError, match=r"nothing: cannot be read \(No such file or directory\)"):
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
    assert names["curiosity"].num_updates == 2 * names["NUM_SEGMENTS"]  # one for eight steps
