"""The paper's networks train in every family of environments."""

import math

import pytest

from curiax.commands.cli import main
from curiax.config.presets import preset_for
from curiax.training.run.directory import read_config
from curiax.training.run.metrics import read_metrics

ENVS = (
    "maze/on-demand",
    "atari/montezuma_revenge",
    "gym/CartPole-v1",
    "craftax/classic-symbolic",
    "gymnax/CartPole-v1",
)
SMALL = ["--batch-size", "2", "--unroll", "8", "--log-every", "1", "--env-steps", "32"]  # two updates


@pytest.mark.slow
@pytest.mark.parametrize("env", ENVS)
def test_the_preset_paper_makes_two_updates_in_every_family(env, tmp_path, capsys):
    assert main(["train", env, "--preset", "paper", "--run-dir", str(tmp_path), *SMALL]) == 0, capsys.readouterr().err
    config, paper = read_config(tmp_path), preset_for("paper", env)
    assert (config.network, config.world, config.vmpo) == (paper.network, paper.world, paper.vmpo)
    rows = list(read_metrics(tmp_path / "metrics.csv"))
    assert [row["update"] for row in rows] == [1, 2]
    losses = {name for name in rows[0] if name.startswith(("loss/", "gradient/"))}
    assert {"loss/reconstruction", "loss/invariance", "loss/policy", "loss/value"} <= losses
    assert all(math.isfinite(row[name]) for row in rows for name in losses)
    assert all(row["gradient/agent"] > 0 and row["gradient/curiosity"] > 0 for row in rows)
