"""Spaces of integers, settings and files of a curiosity in one's own loop: what is read, and what is one clear line."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from curiax.config import LAPTOP, PRESETS
from curiax.config.dotted import read_options
from curiax.config.presets import read_preset
from curiax.dropin import READ, Curiosity
from curiax.envs.spaces import Box, Discrete, check_observations, read_action_space, read_observation_space
from curiax.errors import UserError
from curiax.training import memory
from tests.support.small_curiosity import B, T, equal, make, segment

ROOT = Path(__file__).parents[2]


def one_hots(space, x):
    return check_observations("obs", read_observation_space(space, None), np.array(x), None)


@pytest.mark.parametrize("space", [spaces.Discrete(3, start=5), Discrete(3, start=5)])
def test_discrete_observations_become_one_hot(space):
    np.testing.assert_array_equal(one_hots(space, [[5, 7]]), [[[1, 0, 0], [0, 0, 1]]])


def test_multi_discrete_observations_become_one_hot_vectors_side_by_side():
    space = spaces.MultiDiscrete([[2, 3]])
    np.testing.assert_array_equal(one_hots(space, [[[[1, 0]], [[0, 2]]]]), [[[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]])


def test_multi_binary_observations_stay_zeros_and_ones():
    x = np.array([[[1, 0], [0, 0]]], np.int8)
    np.testing.assert_array_equal(one_hots(spaces.MultiBinary(2), x), x)
    assert read_observation_space(spaces.MultiBinary([2, 3]), None)[:3] == ((2, 3), "int8", 1.0)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([[0, 4]], "obs: got 4 at step 0, trajectory 1, expected 0 to 3"),
        ([[0, -1]], "obs: got -1 at step 0, trajectory 1, expected 0 to 3"),
        ([[0.0, 1.0]], "obs: got float64, expected integers"),
        ([[[0], [1]]], "obs: got shape [1, 2, 1], expected [T, B]"),
    ],
)
def test_integers_that_are_not_in_the_space_are_refused(x, words):
    with pytest.raises(UserError) as caught:
        one_hots(spaces.Discrete(4), x)
    assert str(caught.value) == words


def test_a_curiosity_of_integers_pays_learns_and_is_saved(tmp_path):
    curiosity = make("rnd", space=spaces.MultiDiscrete([3, 2]))
    _, *rest = segment()
    rest[1] = np.random.default_rng(0).integers(0, (3, 2), (T, B, 2))
    data = (rest[1][::-1], *rest)
    assert curiosity.reward(*data).shape == (T, B)
    curiosity.update(*data)
    curiosity.save(tmp_path / "file")
    loaded = Curiosity.load(tmp_path / "file")
    assert loaded._setup == curiosity._setup
    assert equal(loaded.reward(*data), curiosity.reward(*data))


BAD_SPACES = [Box(4), Box(("a",)), Box((2,), "colour"), Box((2,), "int32", 0, 10**400), None, 4, [4], Discrete(2.5)]


@pytest.mark.parametrize("space", BAD_SPACES, ids=repr)
@pytest.mark.parametrize("read", [lambda space: read_observation_space(space, None), read_action_space])
def test_what_is_no_space_is_one_line_with_what_is_expected(space, read):
    with pytest.raises(UserError, match=r"^(observation|action)_space: got .*, expected .*Discrete, MultiDiscrete"):
        read(space)


def test_rewards_that_are_not_finite_are_refused_as_in_update():
    curiosity, (obs, actions, next_obs, *ends) = make("pixel+predict"), segment()
    huge = (obs, actions, next_obs * np.float32(1e19), *ends)
    with pytest.raises(UserError, match=r"^reward: got (nan|inf) at step \d, trajectory \d, expected finite numbers$"):
        curiosity.reward(*huge)
    with pytest.raises(UserError, match="is not finite; nothing was changed"):
        curiosity.update(*huge)
    assert np.isfinite(curiosity.reward(obs, actions, next_obs, *ends)).all()


@pytest.mark.parametrize("preset", [["laptop"], 3, None])
def test_a_preset_is_a_name_or_a_config(preset):
    with pytest.raises(UserError, match=r"^preset: got .*, expected laptop or paper, or a curiax.config.Config$"):
        read_preset(preset, "dropin")
    assert read_preset(PRESETS["paper"], "dropin") is PRESETS["paper"]


@pytest.mark.parametrize("options", [["world.latent"], 3, "world.latent", {3: 4}, [("world.latent", 3)]])
def test_options_are_names_with_values(options):
    with pytest.raises(UserError, match=r"^options: got .*, expected names with values, such as {'world.latent': 64}$"):
        read_options(options, LAPTOP, READ)


def test_options_may_be_spelled_as_on_the_command_line():
    options = {"world.reconstruction-weight": 2.0, "learning-rate": 0.01}
    assert read_options(options, LAPTOP, READ) == {"world.reconstruction_weight": 2.0, "learning_rate": 0.01}
    with pytest.raises(UserError, match=r"options: batch_size: a curiosity in your own loop does not read it"):
        read_options({"batch-size": 3}, LAPTOP, READ)
    made = make("rnd", options={"world.reconstruction-weight": 2.0})
    assert made._setup.config.world.reconstruction_weight == 2.0


def test_a_file_that_cannot_be_read_or_written_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"cannot be read \(not a file\)$"):
        Curiosity.load(tmp_path)
    curiosity = make("rnd")
    with pytest.raises(UserError, match=r"^path .*missing/file: cannot be written \(No such file or directory\)$"):
        curiosity.save(tmp_path / "missing" / "file")
    with pytest.raises(UserError, match=r"cannot be written \(Is a directory\)$"):
        curiosity.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_networks_that_cannot_fit_are_refused_before_they_are_made(monkeypatch):
    with pytest.raises(UserError, match=r"^options, with these spaces: needs at least [\d,]+ GB .*; this machine has"):
        make("icm", options={"world.hidden": (65536, 65536, 65536)})
    with pytest.raises(UserError, match=r"needs at least [\d,]+ GB"):
        make("icm", space=Discrete(10**12))
    monkeypatch.setattr(memory, "ram", lambda: 1000)
    with pytest.raises(UserError, match="needs at least 0 GB"):
        make("icm")


@pytest.mark.slow
def test_in_a_program_of_ones_own_mistakes_of_type_are_one_line_and_compiled_programs_are_cached(tmp_path):
    """In a process of its own: in this one, arguments of other types than annotated are errors of the test."""
    mistakes = ["preset=['laptop']", "preset=3", "options=['world.latent']", "options=3", "observation_scale='x'"]
    program = f"""
        import curiax, jax
        make = lambda **settings: curiax.Curiosity("rnd", curiax.Box((3,)), curiax.Discrete(2), **settings)
        for mistake in {mistakes}:
            try:
                eval(f"make({{mistake}})")
            except curiax.UserError as error:
                print(error)
        make()
        print(jax.config.jax_compilation_cache_dir)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    env |= {"XDG_CACHE_HOME": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    *lines, directory = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [mistake.split("=")[0] for mistake in mistakes]
    assert directory == str(tmp_path / "curiax" / "jax") and Path(directory).is_dir()
