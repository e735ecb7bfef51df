"""How a report was made: commands that repeat it, and in what its runs differ."""

import dataclasses
import json
import shlex

from curiax.config import to_dict
from curiax.report import made
from curiax.report.read import read_study
from tests.support.report_data import config_of, write_run, write_study_json

ROWS = 4


def write(path, config):
    write_run(path, config, [1.0] * ROWS, [0.0] * ROWS)


def test_a_study_is_repeated_by_its_own_command(tmp_path):
    write(tmp_path / "random" / "rnd" / "0", config_of("random", "rnd", 0, ROWS))
    write_study_json(tmp_path, [("random", "rnd", 0)], command="curiax study maze --seeds 0")
    assert made.commands(read_study(tmp_path)) == ["curiax study maze --seeds 0"]


def test_a_run_alone_is_repeated_by_a_command_that_names_every_change(tmp_path):
    config = config_of("random", "rnd", 3, ROWS)
    config = dataclasses.replace(config, world=dataclasses.replace(config.world, latent=7))
    write(tmp_path / "run", config)
    (command,) = made.commands(read_study(tmp_path))
    words = shlex.split(command)
    assert words[:3] == ["curiax", "train", "maze/random"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options == {
        "--curiosity": "rnd",
        "--seed": "3",
        "--preset": "laptop",
        "--env-steps": str(ROWS * 25 * 1024),
        "--world.latent": "7",
    }


def test_a_config_of_another_version_is_told_not_guessed(tmp_path):
    write(tmp_path / "run", config_of("random", "rnd", 3, ROWS))
    old = to_dict(config_of("random", "rnd", 3, ROWS)) | {"forgotten": 1}
    (tmp_path / "run" / "config.json").write_text(json.dumps(old))
    (command,) = made.commands(read_study(tmp_path))
    assert command.startswith("# ") and "not a config of this version" in command


def test_fields_in_which_runs_differ_are_found_and_what_a_study_varies_is_not(tmp_path):
    first = config_of("random", "rnd", 0, ROWS)
    write(tmp_path / "a", first)
    write(tmp_path / "b", config_of("baseline", "icm", 1, ROWS))
    assert made.mixed_fields(read_study(tmp_path)) == {}
    world = dataclasses.replace(first.world, latent=7)
    write(tmp_path / "c", dataclasses.replace(first, seed=2, learning_rate=0.5, world=world))
    mixed = made.mixed_fields(read_study(tmp_path))
    assert set(mixed) == {"learning_rate", "world.latent"}
    assert set(mixed["world.latent"]) == {first.world.latent, 7}


def test_unlike_runs_and_a_seed_that_counts_twice_are_warned_of(tmp_path):
    first = config_of("random", "rnd", 0, ROWS)
    write(tmp_path / "a", first)
    assert made.warnings(read_study(tmp_path)) == []
    write(tmp_path / "b", dataclasses.replace(first, learning_rate=0.5))
    unlike, twice = made.warnings(read_study(tmp_path))
    assert f"learning_rate is {first.learning_rate} and 0.5" in unlike
    assert "same setting, method and seed" in twice


def test_versions_and_machine_are_named():
    assert {"python", "jax", "numpy"} <= set(made.versions())
    assert "cores" in made.machine()
    assert made.version("no-such-package") == "(not installed)"
