"""The three ratios: that both sides do the same work, and that they are printed as they are."""

import builtins
import dataclasses
import io
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from curiax import envs
from curiax.agent.policy import make_encoder
from curiax.commands.benchmarks import atari as bench_atari
from curiax.commands.benchmarks.atari import Rate
from curiax.commands.cli import main
from curiax.config.presets import ATARI_PAPER
from curiax.studies.runner.progress import Speed
from tests.support.host_maze import HOST, on_host
from tests.support.tiny import TINY

RESULT = {"encoder_ms": 100.0, "one_device_ms": 120.0, "torch_encoder_ms": 85.0, "encoder_vs_torch": 0.85}
RESULT |= {"agent_steps_per_s": 620.0, "in_step_steps_per_s": 500.0, "ahead_vs_in_step": 1.24}
RESULT |= {"cores": 2, "cores_busy": 1.9, "in_step_cores_busy": 1.5, "frames": 128, "devices": 2}
RESULT |= {"apart_steps_per_s": 640.0, "apart_vs_in_step": 1.28}


def shown(result):
    console = Console(file=io.StringIO(), width=200, soft_wrap=True)
    bench_atari.show_encoder(console, result)
    bench_atari.show_training(console, result)
    return console.file.getvalue()


def test_show_says_every_ratio():
    encoder, ahead, most, busy, speed = shown(RESULT).splitlines()
    assert "100 ms on --devices 2, 120 ms on one" in encoder
    assert encoder.endswith("PyTorch 85 ms, 0.85 × its speed")
    assert ahead.endswith("620 agent steps/s, in step 500, 1.24 × as fast")
    assert "640 agent steps/s in all, 1.28 × those in step: an upper bound" in most
    assert "1.50 of 2 cores are busy in step, 1.90 when collecting ahead" in busy
    assert speed.endswith("620 agent steps/s")


def test_without_pytorch_the_comparison_is_left_out_and_said():
    assert "PyTorch is not installed" in shown(RESULT | {"encoder_vs_torch": None, "torch_encoder_ms": None})


def test_where_processes_apart_were_not_measured_nothing_is_said_of_them():
    assert "a process on each core" not in shown(RESULT | {"apart_steps_per_s": None, "apart_vs_in_step": None})


def test_a_result_that_could_not_be_written_is_refused_at_once(tmp_path, capsys):
    assert main(["bench", "atari", "--json", str(tmp_path / "none" / "bench.json")]) == 2
    assert "cannot be written (No such file or directory)" in capsys.readouterr().err


def test_each_round_is_compared_with_itself(monkeypatch):
    """Of a machine that is twice as slow in one round, the ratios are the same."""
    rates = iter([Rate(30, 2), Rate(20, 1), Rate(15, 2), Rate(10, 1), Rate(33, 2), Rate(30, 1)])
    speeds = iter([12.0, 6.0, 24.0])
    monkeypatch.setattr(bench_atari, "training_rate", lambda config: next(rates))
    monkeypatch.setattr(
        bench_atari, "measure", lambda configs, cores, stop: dict.fromkeys(configs, Speed(next(speeds), 1.0))
    )
    result = bench_atari.training_ratio(bench_atari.LEARNING, [0, 1])
    assert result["ahead_vs_in_step"] == 1.5 and result["ahead_vs_in_step_rounds"] == [1.5, 1.5, 1.1]
    assert (result["agent_steps_per_s"], result["in_step_steps_per_s"]) == (30, 20)
    assert (result["apart_steps_per_s"], result["apart_vs_in_step"]) == (24, 1.2)  # 24/20, 12/10, 48/30


def test_on_many_cores_two_processes_stand_for_the_rest(monkeypatch):
    speeds = {0: 10.0, 1: 20.0}
    monkeypatch.setattr(
        bench_atari, "measure", lambda configs, cores, stop: {str(core): Speed(speeds[core], 1.0) for core in cores}
    )
    assert bench_atari.rate_apart(bench_atari.LEARNING, list(range(8))) == 8 * 15.0


def test_a_process_that_was_too_slow_to_measure_leaves_no_sum(monkeypatch):
    monkeypatch.setattr(bench_atari, "measure", lambda configs, cores, stop: {"core-0": Speed(1.0, 1.0)})
    assert bench_atari.rate_apart(bench_atari.LEARNING, [0, 1]) is None


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
    for name, value in {"LEARNING": config, "ROUNDS": 1, "ROWS": 1, "TURNS": 1, "NUM_FRAMES": 1}.items():
        monkeypatch.setattr(bench_atari, name, value)
    monkeypatch.setattr(bench_atari, "measure", lambda configs, cores, stop: dict.fromkeys(configs, Speed(300.0, 1.0)))
    monkeypatch.setattr(bench_atari, "split_cpu", lambda number: None)  # other tests would have these devices too
    assert main(["bench", "atari", "--json", str(tmp_path / "bench.json")]) == 0
    result = json.loads((tmp_path / "bench.json").read_text())
    assert result["encoder_ms"] > 0 and result["encoder_vs_torch"] is None
    assert result["agent_steps_per_s"] > 0 and result["apart_steps_per_s"] == 300 * result["cores"]
    assert result["cores_busy"] > 0 and result["in_step_cores_busy"] > 0
    assert "PyTorch is not installed" in capsys.readouterr().out


@pytest.mark.slow
def test_pytorchs_encoder_is_the_same_function_with_the_same_gradient():
    torch = pytest.importorskip("torch")
    layers, encode = bench_atari.torch_encoder(torch)
    ours = make_encoder(ATARI_PAPER.network, bench_atari.FRAMES, jax.random.key(0))
    *units, head = layers
    for theirs, unit in zip(units, ours.units, strict=True):
        convolutions = [unit.first, *(convolution for block in unit.blocks for convolution in block)]
        for layer, convolution in zip(theirs[:-1], convolutions, strict=True):
            layer.weight.data = torch.from_numpy(np.array(convolution.weight.transpose(3, 2, 0, 1)))
            layer.bias.data.zero_()
    side = 11 * 11  # they flatten channels first
    weight = np.array(ours.head.layers[0].weight).reshape(side, -1, 512).swapaxes(0, 1).reshape(-1, 512)
    head.weight.data, head.bias.data = torch.from_numpy(weight.T.copy()), torch.zeros(512)
    frames = np.random.default_rng(0).integers(0, 256, (2, 84, 84), np.uint8)

    found = encode(torch.from_numpy(frames)[:, None].float() / 255)
    np.testing.assert_allclose(found.detach().numpy(), ours(jnp.asarray(frames)), rtol=1e-3, atol=1e-4)
    found.square().sum().backward()
    gradient = jax.jit(jax.grad(lambda ours: jnp.sum(jnp.square(ours(jnp.asarray(frames))))))(ours)
    theirs, mine = units[0][0].weight.grad.numpy(), np.array(gradient.units[0].first.weight.transpose(3, 2, 0, 1))
    np.testing.assert_allclose(theirs, mine, rtol=1e-2, atol=1e-3 * np.abs(mine).max())
