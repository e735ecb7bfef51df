"""Studies as data: which runs there are, in which order, and how each is asked for."""

import dataclasses

import pytest

from curiax import curiosity, envs
from curiax.commands.cli import main
from curiax.commands.train import parse_train
from curiax.config import LAPTOP, PAPER, validate
from curiax.config.presets import ATARI_LAPTOP, ATARI_PAPER, preset_for
from curiax.errors import UserError
from curiax.studies import MEASURED, STUDIES
from curiax.studies.base import (
    Member,
    base_config,
    changes,
    member_config,
    members,
    setting_fields,
    train_words,
)
from curiax.studies.runner.run import make_plan

MAZE, DEMO = STUDIES["maze"], STUDIES["demo"]


def test_the_maze_study_is_the_papers_figure():
    runs = members(MAZE)
    assert len(set(runs)) == len(runs) == 4 * 2 * 5 + 4 * 2 * 3
    assert {run.setting for run in runs} == {"baseline", "brownian", "random", "on-demand"}
    assert {run.method for run in runs} == {"byol-hindsight", "byol-explore", "rnd", "icm"}
    for method, num_seeds in {"byol-hindsight": 5, "byol-explore": 5, "rnd": 3, "icm": 3}.items():
        assert {run.seed for run in runs if run.method == method} == set(range(num_seeds))


def test_the_most_telling_runs_come_first():
    first = members(MAZE)[:4]
    assert {(run.setting, run.method) for run in first} == {
        (setting, method) for setting in ("on-demand", "brownian") for method in ("byol-hindsight", "byol-explore")
    }
    assert first[0].setting == first[1].setting == "on-demand" and {run.seed for run in first} == {0}


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_every_run_of_every_study_can_be_trained(study, preset):
    for member in members(study):
        config = validate(member_config(study, base_config(study, preset), member))
        assert config.env in envs.ENVS or envs.spec_of(config).name == config.env
        assert (config.seed, config.preset) == (member.seed, preset)
        assert config.env == setting_fields(study, member.setting)["env"]
        assert config.world.horizon == preset_for(preset, config.env).world.horizon
        curiosity.resolve(config.curiosity)


@pytest.mark.parametrize("name", ["outcomes", "temperature", "losses", "dimensions", "critic"])
def test_the_variants_of_an_analysis_differ_from_each_other_in_what_it_varies_alone(name):
    study = STUDIES[name]
    configs = [member_config(study, LAPTOP, Member("on-demand", label, 0)) for label in study.variants]
    assert len({repr(config) for config in configs}) == len(configs)
    allowed = {
        "outcomes": {"curiosity"},
        "temperature": {"world.temperature"},
        "losses": {
            *("curiosity", "world.reconstruction_weight", "world.latent", "bonus.normalise", "bonus.prioritise"),
            "world.contrast_share",  # where the critic only measures
        },
        "dimensions": {"world.latent", "world.noise"},
        "critic": {
            *("curiosity", "world.critic", "world.contrast_share", "world.critic_steps", "world.generator_speed"),
        },
    }
    measures = {
        "outcomes": {"hindsight-outcomes"},
        "losses": {"hindsight", "hindsight-no-contrast", "hindsight-contrast-paid"},
        "critic": {"hindsight", "hindsight-averaged"},
    }
    assert set().union(*(changes(config) for config in configs)) <= allowed[name]
    methods = {curiosity.resolve(config.curiosity) for config in configs}
    assert methods == {f"byol+{measure}" for measure in measures.get(name, {"hindsight"})}
    assert name == "outcomes" or any(not changes(config) for config in configs)  # one of them is the preset


def test_the_study_of_the_preset_changes_one_thing_at_a_time():
    study = STUDIES["preset"]
    configs = {name: member_config(study, LAPTOP, Member("on-demand", name, 0)) for name in study.variants}
    assert {name: len(changes(config)) for name, config in configs.items()} == {
        name: int(name != "preset") for name in study.variants
    }


@pytest.mark.parametrize(("name", "env"), [("values", "gym/MiniGrid-DoorKey-8x8-v0"), ("values-atari", "atari/qbert")])
def test_the_studies_of_values_change_the_value_functions_alone_and_are_mixed(name, env):
    study = STUDIES[name]
    (setting,) = study.settings
    configs = [
        member_config(study, base_config(study, "laptop"), Member(setting, label, 0)) for label in study.variants
    ]
    assert {(config.env, config.reward, config.curiosity) for config in configs} == {(env, "mixed", "byol-hindsight")}
    single, separate, endless = (dict(changes(config)) for config in configs)
    assert separate == single | {"value": "separate"}
    assert endless == separate | {"vmpo.intrinsic_episodic": False}


def test_patterns_choose_runs_by_setting_and_method_and_seed():
    chosen = members(MAZE, only=["on-demand/byol-*", "random/icm/2"])
    assert len(chosen) == 2 * 5 + 1
    assert {run.name for run in chosen if run.setting == "random"} == {"random/icm/2"}
    assert members(MAZE, seeds=[7, 7], only=["baseline/rnd"]) == [Member("baseline", "rnd", 7)]


@pytest.mark.parametrize("pattern", ["on-demand/byol-explor", "baseline", "random/icm/3", "*/nothing"])
def test_a_pattern_that_chooses_nothing_is_a_mistake(pattern):
    with pytest.raises(UserError, match="--only"):
        members(MAZE, only=["brownian/*", pattern])


@pytest.mark.parametrize(
    "config",
    [
        LAPTOP,
        PAPER,
        dataclasses.replace(
            ATARI_PAPER, env="atari/pitfall", atari=dataclasses.replace(PAPER.atari, sticky=0.1, noise="persistive")
        ),
        dataclasses.replace(
            LAPTOP,
            env="maze/random",
            curiosity="icm+hindsight",
            seed=3,
            reward="mixed",
            learning_rate=1.5e-7,
            network=dataclasses.replace(LAPTOP.network, encoder_hidden=(), belief=7),
            world=dataclasses.replace(LAPTOP.world, layer_norm=False, critic="separable", critic_hidden=(8, 9)),
            vmpo=dataclasses.replace(LAPTOP.vmpo, return_lambda=0.5, form="sparse"),
        ),
    ],
)
def test_the_words_for_a_config_are_read_as_that_config(config):
    words = train_words(config)
    assert words[0] == "train"
    assert parse_train(words[1:]).config == config


def test_only_what_differs_from_the_preset_is_said():
    assert changes(dataclasses.replace(ATARI_LAPTOP, env="atari/hero")) == {}
    assert changes(PAPER) == {} and train_words(PAPER)[-2:] == ["--preset", "paper"]
    longer = dataclasses.replace(PAPER, env_steps=5, world=dataclasses.replace(PAPER.world, latent=3))
    assert changes(longer) == {"env_steps": 5, "world.latent": 3}
    assert train_words(longer)[-4:] == ["--env-steps", "5", "--world.latent", "3"]


def test_a_plan_shares_cores_where_there_are_more_jobs(monkeypatch):
    monkeypatch.setattr("curiax.studies.runner.run.available_cores", lambda: [3, 5])
    assert make_plan("maze", LAPTOP).cores == [3, 5]
    assert make_plan("maze", LAPTOP, num_jobs=1).cores == [3]
    assert make_plan("maze", LAPTOP, num_jobs=3).cores == [3, 5, 3]


def test_studies_are_listed(capsys):
    assert main(["list", "studies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*STUDIES, *MEASURED]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mase"], "study mase: unknown. Did you mean maze?"),
        (["maze", "--job", "2"], "--job"),
        (["maze", "--jobs", "0"], "--jobs 0: must be at least 1"),
        (["maze", "--seeds", "-1"], "--seeds"),
        (["maze", "--seed", "1"], "environment, method and seed are the study's"),
        (["maze", "--curiosity", "rnd"], "environment, method and seed are the study's"),
        (["maze", "maze/random"], "environment, method and seed are the study's"),
        (["maze", "--batch-size", "0"], "--batch-size 0: must be from 1"),
        (["maze", "--preset", "laptob"], "Did you mean laptop?"),
        (["maze", "--only", "on-demand/byol"], "--only on-demand/byol: unknown."),
        (["temperature", "--world.temperature", "3"], "--world.temperature is what the study varies"),
        (["montezuma", "--sticky", "0.3"], "--atari.sticky is what the study varies: choose with --only"),
        (["montezuma", "--reward", "mixed"], "--reward is what the study varies: choose with --only"),
    ],
)
def test_a_mistake_is_one_clear_line_before_anything_is_written(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["study", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and message in err
    assert list(tmp_path.iterdir()) == []
