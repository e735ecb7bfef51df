"""`curiax bench atari`: three ratios of this machine, each from one run, both sides taking turns.

The gradient of the paper's image encoder beside PyTorch's; training that collects while it learns beside training in
step; and the agent steps per second of a laptop's BYOL-Explore.
"""

import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from curiax.agent.policy import make_encoder
from curiax.config import Config
from curiax.presets import ATARI_LAPTOP, ATARI_PAPER
from curiax.train import train
from curiax.types import EnvSpec

FRAMES = EnvSpec("frames", observation_shape=(84, 84), num_actions=1, time_limit=1, observation_scale=255.0)
NUM_FRAMES = 128
TURNS = 7  # of both encoders
ROUNDS = 3  # of training ahead and in step
BARS = {"encoder_vs_torch": 0.8, "ahead_vs_in_step": 1.3, "agent_steps_per_s": 500.0}
LEARNING = replace(ATARI_LAPTOP, env="atari/bank_heist", curiosity="byol-explore", log_every=4)


def bench_atari(console: Console, path: Path | None) -> dict[str, Any]:
    """Prints the ratios; writes them as JSON too if asked."""
    result: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "frames": NUM_FRAMES, "bars": BARS}
    result |= encoder_ratio()
    result |= training_ratio(LEARNING)
    show(console, result)
    if path is not None:
        path.write_text(json.dumps(result, indent=2) + "\n")
    return result


def encoder_ratio() -> dict[str, float | None]:
    """Milliseconds of the gradient of Σ ω(o)² in all weights; PyTorch's are None where it is not installed."""
    frames = np.random.default_rng(0).integers(0, 256, (NUM_FRAMES, *FRAMES.observation_shape), np.uint8)
    sides = {"encoder_ms": jax_gradient(frames)}
    try:
        sides["torch_encoder_ms"] = torch_gradient(frames)
    except ImportError:
        return {"encoder_ms": in_turns(sides)["encoder_ms"], "torch_encoder_ms": None, "encoder_vs_torch": None}
    seconds = in_turns(sides)
    return {**seconds, "encoder_vs_torch": seconds["torch_encoder_ms"] / seconds["encoder_ms"]}


def in_turns(sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median milliseconds of each; the first turn compiles and does not count."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(TURNS + 1):
        for name, call in sides.items():
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(seconds[1:]) for name, seconds in taken.items()}


def jax_gradient(frames: np.ndarray) -> Callable[[], Any]:
    encoder = make_encoder(ATARI_PAPER.network, FRAMES, jax.random.key(0))
    obs = jnp.asarray(frames)
    gradient = jax.jit(jax.grad(lambda encoder, obs: jnp.sum(jnp.square(encoder(obs)))))
    return lambda: jax.block_until_ready(gradient(encoder, obs))


def torch_gradient(frames: np.ndarray) -> Callable[[], Any]:
    """The same network with PyTorch's own layers, channels last."""
    import torch  # pyright: ignore[reportMissingImports] — in this benchmark and nowhere else

    layers, encode = torch_encoder(torch)
    layers.to(memory_format=torch.channels_last)
    obs = torch.from_numpy(frames)

    def call() -> None:
        layers.zero_grad(set_to_none=True)
        images = (obs.unsqueeze(1).float() / 255).contiguous(memory_format=torch.channels_last)
        encode(images).square().sum().backward()

    return call


def torch_encoder(torch: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Layers and the function of an image that they make: `ImageEncoder` of the paper's sizes."""
    nn, network = torch.nn, ATARI_PAPER.network
    units, num_in, side = [], 1, 84
    for channels in network.channels:
        first = nn.Conv2d(num_in, channels, 3, padding=1)
        inner = [nn.Conv2d(channels, channels, 3, padding=1) for _ in range(4)]
        units.append(nn.ModuleList([first, *inner, nn.GroupNorm(1, channels)]))
        num_in, side = channels, (side + 1) // 2
    layers = nn.ModuleList([*units, nn.Linear(side * side * num_in, network.embedding)])
    relu = torch.relu

    def encode(x: Any) -> Any:
        for first, one, two, three, four, norm in units:
            x = nn.functional.max_pool2d(first(x), 3, 2, 1)
            x = x + two(relu(one(relu(x))))
            x = x + four(relu(three(relu(x))))
            x = norm(x)
        return layers[-1](relu(x).flatten(1))

    return layers, encode


def training_ratio(config: Config) -> dict[str, float]:
    """Agent steps per second, collecting ahead and in step, end to end: medians of rounds that both take turns in.

    Work is not made less by doing it at the same time: two cores of which in step 1.6 are busy can gain 2/1.6 = 1.25.
    """
    rates: dict[bool, list[Rate]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for sync, found in rates.items():
            found.append(training_rate(replace(config, sync=sync)))
    ahead, in_step = (Rate(*map(statistics.median, zip(*rates[sync], strict=True))) for sync in (False, True))
    return {
        "agent_steps_per_s": ahead.steps_per_s,
        "in_step_steps_per_s": in_step.steps_per_s,
        "ahead_vs_in_step": ahead.steps_per_s / in_step.steps_per_s,
        "cores_busy": ahead.cores_busy,
        "in_step_cores_busy": in_step.cores_busy,
    }


class Rate(NamedTuple):
    steps_per_s: float
    cores_busy: float  # processor time of all threads, by the clock


def training_rate(config: Config) -> Rate:
    """Of the second row of metrics; the first one compiles."""
    rows = train(config)
    next(rows)
    start, busy = time.perf_counter(), time.process_time()
    jax.block_until_ready(next(rows).state.params)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    rows.close()  # pyright: ignore[reportAttributeAccessIssue] — a generator
    return Rate(config.log_every * config.steps_per_update / seconds, busy / seconds)


def show(console: Console, result: dict[str, Any]) -> None:
    def tell(name: str, text: str) -> None:
        reached = "reached" if result[name] >= BARS[name] else "missed"
        console.print(f"{text}  (bar {BARS[name]:g}: {reached})", highlight=False, markup=False)

    if result["encoder_vs_torch"] is None:
        console.print("PyTorch is not installed: the encoder is not compared (pip install torch==2.13.0)", markup=False)
    else:
        speeds = f"{result['encoder_ms']:,.0f} ms, PyTorch {result['torch_encoder_ms']:,.0f} ms"
        frames = f"gradient of the paper's encoder, {result['frames']} frames: {speeds}"
        tell("encoder_vs_torch", f"{frames}, {result['encoder_vs_torch']:.2f} × its speed")
    ahead, in_step = result["agent_steps_per_s"], result["in_step_steps_per_s"]
    tell(
        "ahead_vs_in_step",
        f"collecting while learning: {ahead:,.0f} agent steps/s, in step {in_step:,.0f}, "
        f"{result['ahead_vs_in_step']:.2f} × as fast",
    )
    busy = f"{result['in_step_cores_busy']:.2f} of {result['cores']} cores are busy in step"
    console.print(f"{busy}, {result['cores_busy']:.2f} when collecting ahead", highlight=False, markup=False)
    tell("agent_steps_per_s", f"laptop byol-explore, 84×84 frames, end to end: {ahead:,.0f} agent steps/s")
