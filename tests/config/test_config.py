"""The paper's numbers, what each field may be, a config's trip through JSON, and mistakes on the command line."""

import dataclasses
import json
import math

import pytest

from curiax.commands.bench import BenchCommand
from curiax.commands.cli import main
from curiax.commands.parsing import parse
from curiax.commands.play import PlayCommand
from curiax.commands.train import TrainCommand
from curiax.config import LAPTOP, PAPER, PRESETS, RANGES, Config, from_dict, get, to_dict, validate
from curiax.config.presets import preset_of
from curiax.errors import UserError
from tests.support.files import contents

# The paper's appendix C as spec.md has it: §1 sizes, §2 losses, §3 mixing, §4 V-MPO.
PAPER_NUMBERS = {
    "network.embedding": 512,
    "network.encoder_speed": 1.0,
    "network.action_embedding": 32,
    "network.belief": 256,
    "network.head_hidden": (256,),
    "world.hidden": (512, 512, 512),
    "world.critic_hidden": (512, 512, 512),
    "world.noise": 256,
    "world.latent": 256,
    "world.horizon": 1,
    "world.target_decay": 0.99,
    "world.temperature": 0.5,
    "world.reconstruction_weight": 1.0,  # 1/λ
    "world.contrast_share": 1.0,
    "world.critic": "concat",
    "bonus.decay": 0.99,
    "bonus.prioritise": True,
    "bonus.include_invariance": False,
    "bonus.intrinsic_weight": 0.2,
    "vmpo.discount": 0.999,
    "vmpo.lambda_": 1.0,
    "vmpo.top_fraction": 0.5,
    "vmpo.temperature": 0.5,
    "vmpo.alpha": 0.5,
    "vmpo.epsilon_temperature": 0.01,
    "vmpo.epsilon_alpha": 0.005,
    "vmpo.target_period": 10,
    "vmpo.value_weight": 0.5,
    "vmpo.entropy_weight": 0.001,
    "learning_rate": 1e-4,
    "batch_size": 32,
    "unroll": 128,
}

EXEMPT = {
    "world.horizon": "its highest value is another field, the unroll; it has a rule of its own",
}


def names_of(config, prefix=""):
    """Dotted names of all fields."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from names_of(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_sizes(value):
    return isinstance(value, tuple) and len(value) > 0 and all(map(is_number, value))


NUMBERS = [name for name in names_of(LAPTOP) if is_number(get(LAPTOP, name))]
FLOATS = [name for name in NUMBERS if isinstance(get(LAPTOP, name), float)]
SIZES = [name for name in names_of(LAPTOP) if is_sizes(get(LAPTOP, name))]


def with_value(config, name, value):
    """A copy with one field, given by its dotted name, set."""
    first, _, rest = name.partition(".")
    if rest:
        value = with_value(getattr(config, first), rest, value)
    return dataclasses.replace(config, **{first: value})


def outside(name):
    """Values just beyond the ends of a field's range."""
    low, high, closed = RANGES[name]
    step = 1 if isinstance(get(LAPTOP, name), int) else 1e-6
    values = [low - step, high + step] if closed else [low, high]
    return [type(get(LAPTOP, name))(value) for value in values if math.isfinite(value)]


def ends(name):
    """The values at the ends of a field's range, or just inside."""
    low, high, closed = RANGES[name]
    values = [low, high] if closed else [low + 1e-6, high - 1e-6]
    return [type(get(LAPTOP, name))(value) for value in values if math.isfinite(value)]


def flag(name):
    return "--" + name.replace("_", "-")


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_the_paper_preset_has_the_papers_number(name):
    assert get(PAPER, name) == PAPER_NUMBERS[name]


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
    assert config == with_value(expected, "world.hidden", (9, 8))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in RANGES for value in outside(name)])
def test_a_value_outside_its_range_is_refused_by_name_value_and_what_is_allowed(name, value):
    low = RANGES[name][0]
    with pytest.raises(UserError) as caught:
        validate(with_value(LAPTOP, name, value))
    message = str(caught.value)
    assert message.startswith(f"{flag(name)} {value}: must be ")
    assert f"{low:.9g}" in message.split("must be")[1]
    assert "\n" not in message


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in RANGES for value in ends(name)])
def test_the_ends_of_a_range_are_allowed(name, value):
    env = "atari/hero" if name.startswith("atari.") else LAPTOP.env
    config = dataclasses.replace(LAPTOP, env=env, curiosity="byol-explore")  # hindsight needs a batch of two
    validate(with_value(with_value(config, "world.horizon", 1), name, value))


@pytest.mark.parametrize("name", [name for name in FLOATS if name in RANGES])
def test_not_a_number_is_refused(name):
    with pytest.raises(UserError, match=rf"{flag(name)} nan: must be"):
        validate(with_value(LAPTOP, name, float("nan")))


def test_infinity_is_refused():
    for name in FLOATS:
        with pytest.raises(UserError, match=rf"{flag(name)} inf: must be"):
            validate(with_value(LAPTOP, name, float("inf")))


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [(0,), (8, -3)])
def test_hidden_layers_of_no_size_are_refused(name, value):
    with pytest.raises(UserError, match=flag(name)):
        validate(with_value(LAPTOP, name, value))


@pytest.mark.parametrize("horizon", [0, 17])
def test_the_horizon_is_at_least_one_and_at_most_the_unroll(horizon):
    with pytest.raises(UserError, match=f"--world.horizon {horizon}: must be from 1 to the unroll, 16"):
        validate(with_value(LAPTOP, "world.horizon", horizon))
    validate(with_value(LAPTOP, "world.horizon", 16))


@pytest.mark.parametrize("env", ["maze/random", "gym/CartPole-v1", "craftax/symbolic"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("sticky", 0.1), ("noise", "patches"), ("noops", 0), ("frame_limit", 400), ("full_actions", True)],
)
def test_what_is_for_atari_is_refused_elsewhere(env, name, value):
    config = with_value(LAPTOP, f"atari.{name}", value)
    with pytest.raises(UserError, match=f"{flag('atari.' + name)} {value}: .* {env} is not a game of Atari"):
        validate(dataclasses.replace(config, env=env))
    validate(dataclasses.replace(config, env="atari/hero"))


@pytest.mark.parametrize("curiosity", ["byol-hindsight", "icm+hindsight"])
def test_hindsight_needs_two_trajectories(curiosity):
    one = dataclasses.replace(LAPTOP, batch_size=1, curiosity=curiosity)
    with pytest.raises(UserError, match=r"--batch-size 1: .* at least 2"):
        validate(one)
    validate(dataclasses.replace(one, batch_size=2))
    validate(dataclasses.replace(one, curiosity="rnd"))


def test_paying_for_invariance_needs_every_step_contrasted():
    config = with_value(with_value(LAPTOP, "bonus.include_invariance", True), "world.contrast_share", 0.5)
    with pytest.raises(UserError, match=r"--bonus.include-invariance: .* --world.contrast-share 1"):
        validate(config)
    validate(with_value(config, "world.contrast_share", 1.0))


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_has_a_range_or_a_reason_for_none(name):
    assert (name in RANGES) != (name in EXEMPT)


def test_every_range_and_every_exemption_is_of_a_number_that_exists():
    assert set(RANGES) | set(EXEMPT) == set(NUMBERS)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_a_config_survives_json(preset):
    changed = with_value(dataclasses.replace(preset, seed=7), "world.hidden", (9, 8))
    restored = from_dict(json.loads(json.dumps(to_dict(changed))))
    assert restored == changed
    assert hash(restored) == hash(changed)  # lists became tuples again


def test_a_config_from_before_a_part_was_added_has_its_defaults():
    old = {name: value for name, value in to_dict(PAPER).items() if name != "method"}
    assert from_dict(old) == PAPER


def test_json_holds_every_field():
    def leaves(values, prefix=""):
        for name, value in values.items():
            yield from leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]

    assert list(leaves(json.loads(json.dumps(to_dict(LAPTOP))))) == list(names_of(LAPTOP))


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
    "out of range": ("train --learning-rate 2", "--learning-rate 2.0", "from 0 to 1, neither included"),
    "out of a nested range": ("train --vmpo.discount -0.5", "--vmpo.discount -0.5", "from 0 to 1"),
    "unknown preset": ("train --preset papers", "--preset papers", "Did you mean paper?", "laptop"),
    "no preset": ("train --preset", "--preset", "laptop, paper"),
    "too many words": ("train maze/random maze/brownian", "maze/brownian"),
    "foreign directory": ("train --run-dir mine", "mine: holds files but no config.json", "left alone"),
    "foreign directory, fresh": ("train --run-dir mine --fresh", "mine: holds files but no config.json"),
    "unwritable directory": ("train --run-dir mine/file/run", "mine/file/run: cannot be written"),
    "unknown command": ("trian", "trian", "Did you mean train?", "list"),
    "unknown list": ("list method", "method", "Did you mean methods?", "envs"),
    "nothing to list": ("list", "envs, methods or studies"),
    "sticky maze": ("train maze/random --sticky 0.1", "--atari.sticky 0.1", "maze/random is not a game of Atari"),
    "noisy study": ("study maze --noise patches", "--atari.noise patches", "is not a game of Atari"),
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
        ("train --help", ["--curiosity", "--world.latent", "--vmpo.discount", "--run-dir", "--fresh", "one at least"]),
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
