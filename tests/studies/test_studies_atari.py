"""The paper's Atari figures as studies: which runs there are, and what they are estimated to cost."""

import dataclasses

import pytest

from curiax.config.presets import ATARI_LAPTOP, ATARI_PAPER
from curiax.studies import STUDIES
from curiax.studies.atari import HARD
from curiax.studies.base import Member, base_config, changes, member_config, members
from curiax.studies.runner.measure import kind_of, measurement, shortened, size
from curiax.studies.runner.progress import amount, duration

BOTH = {"byol-hindsight", "byol-explore"}
EIGHT = {f"{game}-{regime}" for game in ("sticky", "non-sticky") for regime in ("intrinsic", "mixed")}


def configs(name):
    study = STUDIES[name]
    return {member: member_config(study, base_config(study, "laptop"), member) for member in members(study)}


def test_figure_7_is_bank_heist_with_and_without_sticky_actions_in_both_regimes():
    runs = configs("bank-heist")
    assert {run.method for run in runs} == BOTH and {run.seed for run in runs} == {0, 1, 2} and len(runs) == 4 * 2 * 3
    assert {config.env for config in runs.values()} == {"atari/bank_heist"}
    assert {(config.atari.sticky, config.reward) for config in runs.values()} == {
        (0.0, "intrinsic"),
        (0.0, "mixed"),
        (0.1, "intrinsic"),
        (0.1, "mixed"),
    }
    traps = Member("natural-traps-mixed", "byol-explore", 1)
    assert changes(runs[traps]) == {"curiosity": "byol-explore", "seed": 1, "reward": "mixed"}


@pytest.mark.parametrize("name", ["montezuma", "montezuma-temperature", "montezuma-outcomes"])
def test_figures_8_10_and_13_to_16_are_montezumas_revenge_in_four_settings_of_three_seeds(name):
    runs = configs(name)
    assert {run.setting for run in runs} == EIGHT and {run.seed for run in runs} == {0, 1, 2}
    assert {config.env for config in runs.values()} == {"atari/montezuma_revenge"}
    for run, config in runs.items():
        assert config.atari.sticky == (0.0 if run.setting.startswith("non") else 0.1)
        assert config.reward == run.setting.rpartition("-")[2]


def test_temperatures_and_outcomes_are_hindsights():
    temperatures = configs("montezuma-temperature").values()
    assert len({config.world.temperature for config in temperatures}) == 5
    assert {config.curiosity for config in temperatures} == {"byol-hindsight"}
    assert {config.curiosity for config in configs("montezuma-outcomes").values()} == {"byol+hindsight-outcomes"}


def test_figures_9_17_and_18_are_ten_games_and_qbert_of_one_seed_with_sticky_actions():
    runs = configs("atari")
    assert len(HARD) == 10 and len(runs) == 11 * 2 * 2 and {run.method for run in runs} == BOTH
    assert {config.env for config in runs.values()} == {f"atari/{game}" for game in (*HARD, "qbert")}
    assert {(config.atari.sticky, config.seed) for config in runs.values()} == {(0.1, 0)}


def test_figures_11_and_12_are_persistive_noise_and_none():
    runs = configs("montezuma-noise")
    assert {(config.atari.noise, config.reward) for config in runs.values()} == {
        (noise, regime) for noise in ("none", "persistive") for regime in ("intrinsic", "mixed")
    }
    assert len(runs) == 24 and {config.atari.sticky for config in runs.values()} == {0.0}


def test_the_laptops_study_is_four_runs_of_two_million_steps():
    runs = configs("atari-laptop").values()
    assert sorted((config.env, config.curiosity) for config in runs) == [
        (f"atari/{game}", method) for game in ("bank_heist", "montezuma_revenge") for method in sorted(BOTH)
    ]
    for config in runs:
        assert (config.atari.sticky, config.reward, config.seed) == (0.1, "intrinsic", 0)
        assert config.num_updates * config.steps_per_update >= 2_000_000


def test_at_paper_size_a_run_has_three_million_learner_steps():
    study = STUDIES["montezuma"]
    config = member_config(study, base_config(study, "paper"), Member("sticky-mixed", "byol-hindsight", 2))
    assert changes(config) == {"atari.sticky": 0.1, "reward": "mixed", "seed": 2}
    assert config.num_updates == 3_000_000
    assert size(config, config.num_updates * config.steps_per_update) == "12.3 G agent steps (49.2 G frames)"


def test_runs_that_cost_the_same_are_measured_once():
    for name, kinds in (("montezuma", 2), ("montezuma-temperature", 1), ("atari", 2), ("montezuma-noise", 2)):
        assert len({kind_of(config) for config in configs(name).values()}) == kinds
    assert len({kind_of(config) for config in configs("dimensions").values()}) == 7  # each is another network


def test_a_large_update_is_measured_on_shorter_unrolls_of_the_same_batch(tmp_path):
    assert shortened(ATARI_LAPTOP) == ATARI_LAPTOP  # its runs find what it compiles
    short = shortened(ATARI_PAPER)
    assert (short.batch_size, short.unroll, short.log_every) == (32, 8, 1)
    assert dataclasses.replace(short, unroll=128, log_every=5) == ATARI_PAPER
    wide = dataclasses.replace(ATARI_PAPER, batch_size=512)
    assert shortened(wide).unroll == wide.world.horizon  # no unroll is shorter than the horizon
    words = measurement("name", tmp_path, dataclasses.replace(ATARI_PAPER, env="atari/hero")).words
    assert words[words.index("--env-steps") + 1] == str(2 * 32 * 8)
    assert "--sync" in words  # collecting counts


@pytest.mark.parametrize(("number", "text"), [(640, "640"), (3200, "3.2 k"), (2.0e6, "2.0 M"), (12.288e9, "12.3 G")])
def test_an_amount_is_told_in_thousands_millions_and_milliards(number, text):
    assert amount(number) == text


@pytest.mark.parametrize(("days", "text"), [(3, "72 h 00 min"), (30, "30 days"), (4018, "11 years")])
def test_long_durations_are_told_in_days_and_years(days, text):
    assert duration(86_400.0 * days) == text
