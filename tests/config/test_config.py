"""The paper's numbers, a config's trip through JSON, what concerns several fields, mistakes on the command line."""

import dataclasses
import json

import jax
import pytest

from curiax.agent.policy import ACTION_EMBEDDING, make_agent
from curiax.agent.vmpo import TOP_FRACTION
from curiax.agent.vmpo_sparse import FORMS
from curiax.commands.bench import BenchCommand
from curiax.commands.cli import main
from curiax.commands.parsing import parse
from curiax.commands.play import PlayCommand
from curiax.commands.train import TrainCommand
from curiax.config import LAPTOP, PAPER, PRESETS, Config, from_dict, get, retired, to_dict, validate
from curiax.config.dotted import flag, names, replaced
from curiax.config.presets import preset_of
from curiax.config.schema import RETIRED
from curiax.curiosity import MEASURES, resolve
from curiax.curiosity.base import Sizes
from curiax.curiosity.measures.critic import Concat
from curiax.curiosity.representations.byol import DECAY
from curiax.errors import UserError
from curiax.types import EnvSpec
from tests.support.files import contents

# The paper's appendix C as spec.md has it: §1 sizes, §2 losses, §3 mixing, §4 V-MPO.
PAPER_NUMBERS = {
    "network.embedding": 512,
    "network.encoder_speed": 1.0,
    "network.belief": 256,
    "world.hidden": (512, 512, 512),
    "world.critic_hidden": (512, 512, 512),
    "world.noise": 256,
    "world.latent": 256,
    "world.horizon": 1,
    "world.temperature": 0.5,
    "world.reconstruction_weight": 1.0,  # 1/λ
    "world.contrast_share": 1.0,
    "bonus.decay": 0.99,
    "bonus.normalise": True,
    "bonus.prioritise": True,
    "bonus.intrinsic_weight": 0.2,
    "vmpo.form": "paper",
    "vmpo.discount": 0.999,
    "vmpo.return_lambda": 1.0,
    "vmpo.epsilon_temperature": 0.01,
    "vmpo.epsilon_alpha": 0.005,
    "vmpo.target_period": 10,
    "vmpo.entropy_weight": 0.001,
    "learning_rate": 1e-4,
    "batch_size": 32,
    "unroll": 128,
}

# Those of them that cannot be set.
PAPER_CONSTANTS = {
    "size of the embedding of an action": (ACTION_EMBEDDING, 32),
    "memory of the targets": (DECAY, 0.99),
    "share of the batch that is followed": (TOP_FRACTION, 0.5),
    "first temperature": (FORMS["paper"].temperature, 0.5),
    "first multiplier of the KL": (FORMS["paper"].alpha, 0.5),
    "weight of the value's loss": (FORMS["paper"].value_weight, 0.5),
}


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_the_paper_preset_has_the_papers_number(name):
    assert get(PAPER, name) == PAPER_NUMBERS[name]


@pytest.mark.parametrize("name", PAPER_CONSTANTS)
def test_a_constant_is_the_papers_number(name):
    found, expected = PAPER_CONSTANTS[name]
    assert found == expected


def test_the_papers_heads_have_one_hidden_layer_of_256():
    spec = EnvSpec("", observation_shape=(3,), num_actions=5, time_limit=1)
    agent = jax.eval_shape(lambda: make_agent(PAPER.network, spec, jax.random.key(0)))
    for head, num_outputs in ((agent.policy, 5), (agent.value, 1)):
        assert [layer.weight.shape for layer in head.layers] == [(256, 256), (256, num_outputs)]


def test_the_papers_method_is_plain_hindsight_with_one_critic_of_everything():
    assert resolve(PAPER.curiosity) == "byol+hindsight"  # none of its variants, which have names of their own
    measure = MEASURES["hindsight"](PAPER)
    _, critic = jax.eval_shape(lambda: measure.init(jax.random.key(0), Sizes(state=4, action=3, target=2)))
    assert isinstance(critic.params, Concat)


def test_the_paper_preset_makes_100_000_learner_steps():
    assert PAPER.num_updates == 100_000


def test_presets_are_valid_and_named_as_they_say():
    assert {name: validate(config).preset for name, config in PRESETS.items()} == {"laptop": "laptop", "paper": "paper"}


@pytest.mark.parametrize("name", PRESETS)
def test_the_command_line_takes_every_default_from_the_preset(name):
    args = ["maze/on-demand", "--preset", name]
    assert parse(TrainCommand, args, "train", TrainCommand(preset_of(args))).config == PRESETS[name]


def test_a_flag_beats_the_preset_and_changes_nothing_else():
    args = ["maze/random", "--preset=paper", "--unroll", "64", "--world.hidden", "9", "8"]
    config = parse(TrainCommand, args, "train", TrainCommand(preset_of(args))).config
    expected = dataclasses.replace(PAPER, unroll=64, env="maze/random")
    assert config == replaced(expected, {"world.hidden": (9, 8)})


def test_the_horizon_is_at_most_the_unroll():
    with pytest.raises(UserError, match=r"--world.horizon 17: must be from 1 to the unroll, 16"):
        validate(replaced(LAPTOP, {"world.horizon": 17}))
    validate(replaced(LAPTOP, {"world.horizon": 16}))


OPTIONS_OF_FAMILIES = {
    "atari.sticky": 0.1,
    "atari.noise": "patches",
    "atari.full_actions": True,
    "gym.kwargs": ("size=8",),
    "gym.kinds": 11,
    "gym.vectorization": "sync",
}


def test_every_option_of_a_family_is_tried():
    assert list(OPTIONS_OF_FAMILIES) == [name for name in names(LAPTOP) if name.startswith(("atari.", "gym."))]


@pytest.mark.parametrize("env", ["maze/random", "gym/CartPole-v1", "craftax/symbolic", "atari/hero"])
@pytest.mark.parametrize("name", OPTIONS_OF_FAMILIES)
def test_what_is_for_one_family_is_refused_elsewhere(env, name):
    value, family = OPTIONS_OF_FAMILIES[name], name.partition(".")[0]
    config = replaced(LAPTOP, {name: value, "env": env})
    if env.startswith(f"{family}/"):
        assert validate(config) == config
        return
    with pytest.raises(UserError) as caught:
        validate(config)
    assert str(caught.value) == f"{flag(name)} {value}: is for {family}/… only, not for {env}"


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_a_config_survives_json(preset):
    changed = replaced(preset, {"seed": 7, "world.hidden": (9, 8)})
    restored = from_dict(json.loads(json.dumps(to_dict(changed))))
    assert restored == changed
    assert hash(restored) == hash(changed)  # lists became tuples again


def test_a_config_from_before_a_part_was_added_has_its_defaults():
    old = {name: value for name, value in to_dict(PAPER).items() if name not in ("atari", "gym")}
    assert from_dict(old) == PAPER


def saved_with(*names):
    """A config of an older version as JSON has it, with these fields beside today's."""
    values = json.loads(json.dumps(to_dict(PAPER)))
    for name in names:
        group, _, field = name.rpartition(".")
        (values[group] if group else values)[field] = {"rate": 0.1} if name == "method" else 3
    return values


def test_a_saved_config_with_all_retired_fields_loads_without_them_and_they_are_named():
    saved = saved_with(*RETIRED)
    assert from_dict(saved) == PAPER
    assert sorted(retired(saved)) == sorted(RETIRED)


@pytest.mark.parametrize("name", [*sorted(RETIRED), None])
def test_no_other_field_is_named_as_retired(name):
    expected = [] if name is None else [name]
    saved = saved_with(*expected)
    assert retired(saved) == expected and from_dict(saved) == PAPER


def test_no_field_of_today_is_retired():
    assert RETIRED.isdisjoint(names(LAPTOP))
    assert {"coin_reward", "method", "network.head_hidden", "vmpo.alpha", "gym.autoreset"} <= RETIRED


def test_a_renamed_field_of_an_older_version_keeps_its_value():
    values = to_dict(PAPER)
    values["vmpo"]["lambda_"] = values["vmpo"].pop("return_lambda")
    assert from_dict(values) == PAPER


@pytest.mark.parametrize("name", ["colour", "world.colour", "lambda_", "network.coin_reward", "world.method"])
def test_a_saved_field_that_never_was_one_is_refused(name):
    saved = saved_with(name)
    assert retired(saved) == []
    with pytest.raises(ValueError, match=f"'{name}' is no field"):
        from_dict(saved)


def test_json_holds_every_field():
    def leaves(values, prefix=""):
        for name, value in values.items():
            yield from leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]

    assert list(leaves(json.loads(json.dumps(to_dict(LAPTOP))))) == names(LAPTOP)


def test_a_run_is_whole_log_intervals_and_at_least_one():
    config = Config(batch_size=2, unroll=4, log_every=3)
    for env_steps, num_updates in [(1, 3), (24, 3), (40, 6), (240, 30)]:
        assert dataclasses.replace(config, env_steps=env_steps).num_updates == num_updates


MISTAKES = {
    "unknown environment": ("train maze/brownien", "maze/brownien", "Did you mean maze/brownian?", "maze/random"),
    "unknown method": ("train --curiosity byol-hindsite", "byol-hindsite", "Did you mean byol-hindsight?", "rnd"),
    "hindsight for rnd": ("train --curiosity rnd+hindsight", "rnd+hindsight", "deterministic target"),
    "hindsight for dora": ("train --curiosity dora+hindsight", "dora+hindsight", "deterministic target"),
    "unknown measure": ("train --curiosity ae+hindsite", "measure hindsite", "Did you mean hindsight?", "aleatoric"),
    "misspelled flag": ("train --baych-size 3", "--baych-size", "Perhaps you meant: --batch-size"),
    "wrong type": ("train --batch-size many", "--batch-size", "'many'"),
    "wrong choice": ("train --reward mix", "--reward", "'mix'", "'intrinsic', 'mixed'"),
    "missing value": ("train --batch-size", "--batch-size"),
    "out of range": ("train --learning-rate 2", "--learning-rate 2.0", "must be above 0 and below 1"),
    "out of a nested range": ("train --vmpo.discount -0.5", "--vmpo.discount -0.5", "from 0 to 1"),
    "unknown preset": ("train --preset papers", "--preset papers", "Did you mean paper?", "laptop"),
    "no preset": ("train --preset", "--preset", "laptop, paper"),
    "too many words": ("train maze/random maze/brownian", "maze/brownian"),
    "foreign directory": ("train --run-dir mine", "mine: holds files, but no run of curiax", "left alone"),
    "foreign directory, fresh": ("train --run-dir mine --fresh", "mine: holds files, but no run of curiax"),
    "unwritable directory": ("train --run-dir mine/file/run", "mine/file/run: cannot be written"),
    "unknown command": ("trian", "trian", "Did you mean train?", "list"),
    "unknown list": ("list method", "method", "Did you mean methods?", "envs"),
    "nothing to list": ("list", "envs, methods or studies"),
    "sticky maze": (
        "train maze/random --sticky 0.1",
        "--atari.sticky 0.1",
        "is for atari/… only, not for maze/random",
    ),
    "two values of one stream": ("train --value separate", "--value separate: is for --reward mixed only"),
    "a discount of no stream": (
        "train --reward mixed --vmpo.intrinsic-discount 0.9",
        "--vmpo.intrinsic-discount 0.9: is for --value separate only, not for single",
    ),
    "an end of no stream": (
        "train --reward mixed --vmpo.no-intrinsic-episodic",
        "--vmpo.intrinsic-episodic False: is for --value separate only",
    ),
    "noisy study": ("study maze --noise patches", "--atari.noise patches", "is for atari/… only"),
    "unknown maze": ("play maze/brown", "maze/brown", "Did you mean maze/brownian?"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line_and_exit_code_2(mistake, tmp_path, monkeypatch, capsys):
    command, *words = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("mine")
    assert main(command.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("curiax: ") and err.count("\n") == 1
    assert [word for word in words if word not in err] == [], err
    assert list(contents(tmp_path).values()) == [b"mine"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", ["curiax train ENV", "curiax list"]),
        ("--help", ["curiax train ENV", "curiax list"]),
        ("list envs", ["maze/baseline", "maze/brownian", "maze/random", "maze/on-demand", "atari/GAME", "gym/ID"]),
        ("list methods", ["byol-explore", "byol-hindsight", "icm+hindsight", "ama", "(Kim 2019)", "dynamics-", "✗"]),
        (
            "train --help",
            ["--curiosity", "--world.latent", "--vmpo.discount", "--run-dir", "--fresh", "{paper,sparse}"],
        ),
    ],
)
def test_help_and_lists_say_what_there_is(command, words, capsys):
    try:
        code = main(command.split())
    except SystemExit as stop:
        code = stop.code or 0
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert [word for word in words if word not in out] == []


def test_commands_ask_for_no_more_than_they_need():
    assert parse(PlayCommand, ["maze/random"], "play") == PlayCommand("maze/random", seed=0)
    assert parse(BenchCommand, [], "bench") == BenchCommand(json=None)
