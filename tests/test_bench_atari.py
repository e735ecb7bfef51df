"""The three ratios: that both sides do the same work, and that they are printed as they are."""

import builtins
import dataclasses
import io
import json

import jax
import pytest
from host_maze import HOST, on_host
from rich.console import Console
from test_train import TINY

from curiax import bench_atari, envs
from curiax.agent.policy import make_encoder
from curiax.cli import main
from curiax.presets import ATARI_PAPER

RESULT = {"encoder_ms": 100.0, "torch_encoder_ms": 85.0, "encoder_vs_torch": 0.85, "frames": 128}
RESULT |= {"agent_steps_per_s": 620.0, "in_step_steps_per_s": 500.0, "ahead_vs_in_step": 1.24}
RESULT |= {"cores": 2, "cores_busy": 1.9, "in_step_cores_busy": 1.5}


def shown(result):
    console = Console(file=io.StringIO(), width=200)
    bench_atari.show(console, result)
    return console.file.getvalue()


def test_show_says_every_ratio_and_whether_it_reaches_its_bar():
    encoder, ahead, busy, speed = shown(RESULT).splitlines()
    assert "100 ms, PyTorch 85 ms, 0.85 × its speed  (bar 0.8: reached)" in encoder
    assert "620 agent steps/s, in step 500, 1.24 × as fast  (bar 1.3: missed)" in ahead
    assert "1.50 of 2 cores are busy in step, 1.90 when collecting ahead" in busy
    assert "620 agent steps/s  (bar 500: reached)" in speed


def test_without_pytorch_the_comparison_is_left_out_and_said():
    assert "PyTorch is not installed" in shown(RESULT | {"encoder_vs_torch": None, "torch_encoder_ms": None})


@pytest.mark.slow
def test_the_command_measures_training_ahead_and_in_step(tmp_path, monkeypatch, capsys):
    imported = builtins.__import__

    def no_torch(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_torch)
    monkeypatch.setitem(envs.HOSTS, "host", HOST)
    config = dataclasses.replace(on_host(TINY), curiosity="byol-explore", log_every=1)
    for name, value in {"LEARNING": config, "ROUNDS": 1, "TURNS": 1, "NUM_FRAMES": 1}.items():
        monkeypatch.setattr(bench_atari, name, value)
    assert main(["bench", "atari", "--json", str(tmp_path / "bench.json")]) == 0
    result = json.loads((tmp_path / "bench.json").read_text())
    assert result["encoder_ms"] > 0 and result["encoder_vs_torch"] is None
    assert result["ahead_vs_in_step"] == pytest.approx(result["agent_steps_per_s"] / result["in_step_steps_per_s"])
    assert result["cores_busy"] > 0 and result["in_step_cores_busy"] > 0
    assert "PyTorch is not installed" in capsys.readouterr().out


def test_pytorchs_encoder_has_the_same_layers():
    torch = pytest.importorskip("torch")
    layers, encode = bench_atari.torch_encoder(torch)
    ours = make_encoder(ATARI_PAPER.network, bench_atari.FRAMES, jax.random.key(0))
    assert sum(p.numel() for p in layers.parameters()) == sum(leaf.size for leaf in jax.tree.leaves(ours))
    assert encode(torch.zeros(2, 1, 84, 84)).shape == (2, 512)
