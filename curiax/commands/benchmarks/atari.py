"""`curiax bench atari`: three comparisons, whose two sides are measured in turns.

The gradient of the paper's image encoder against PyTorch's. Training that collects while it learns against training in
step, and against one process per core. Agent steps per second of BYOL-Explore with the laptop preset.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from rich.console import Console

from curiax.agent.policy import make_encoder
from curiax.config import Config
from curiax.config.presets import ATARI_LAPTOP, ATARI_PAPER
from curiax.envs import make_host
from curiax.errors import UserError
from curiax.studies.runner.launch import available_cores
from curiax.studies.runner.measure import measure
from curiax.training.devices import make_mesh, replicated, sharded, split_cpu, with_mesh
from curiax.training.signals import Stop
from curiax.training.train import train
from curiax.types import EnvSpec

FRAMES = EnvSpec("frames", observation_shape=(84, 84), num_actions=1, time_limit=1, observation_scale=255.0)
NUM_FRAMES = 128
TURNS = 9  # measurements of each encoder
ROUNDS = 3  # measurements of each way of training
ROWS = 4  # rows of metrics in a measurement
MOST_APART = 2  # processes at the same time, each of 2 GB; with more cores the result is scaled up
LEARNING = replace(ATARI_LAPTOP, env="atari/bank_heist", curiosity="byol-explore", log_every=5)


def bench_atari(console: Console) -> dict[str, Any]:
    """Measures and prints the results. What is not installed is left out, and said."""
    cores = available_cores()
    split_cpu(len(cores))
    result: dict[str, Any] = {"cores": len(cores), "frames": NUM_FRAMES}
    most = min(len(cores), jax.local_device_count())
    result["devices"] = max(number for number in range(1, most + 1) if NUM_FRAMES % number == 0)
    result |= encoder_ratio(make_mesh(result["devices"], NUM_FRAMES))
    show_encoder(console, result)
    try:
        make_host(LEARNING, 1, 0).close()
    except UserError as error:
        tell(console, f"training is not measured: {error}")
        return result
    result |= training_ratio(LEARNING, cores)
    show_training(console, result)
    return result


def encoder_ratio(mesh: Mesh | None) -> dict[str, float | None]:
    """Milliseconds of the gradient of Σ ω(o)²: on one device, on one device per core, and with PyTorch on all cores,
    which is None if it is not installed."""
    frames = np.random.default_rng(0).integers(0, 256, (NUM_FRAMES, *FRAMES.observation_shape), np.uint8)
    sides = {"one_device_ms": jax_gradient(frames, None), "encoder_ms": jax_gradient(frames, mesh)}
    try:
        sides["torch_encoder_ms"] = torch_gradient(frames)
    except ImportError:
        return {**in_turns(sides), "torch_encoder_ms": None, "encoder_vs_torch": None}
    taken = in_turns(sides)
    return {**taken, "encoder_vs_torch": taken["torch_encoder_ms"] / taken["encoder_ms"]}


def in_turns(sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median milliseconds of each side. The first turn compiles and does not count."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(TURNS + 1):
        for name, call in sides.items():
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(seconds[1:]) for name, seconds in taken.items()}


def jax_gradient(frames: np.ndarray, mesh: Mesh | None) -> Callable[[], Any]:
    """The gradient as `curiax train --devices N` computes it: frames are sharded over the mesh."""
    encoder, obs = make_encoder(ATARI_PAPER.network, FRAMES, jax.random.key(0)), jnp.asarray(frames)
    if mesh is not None:
        encoder, obs = jax.device_put(encoder, replicated(mesh)), jax.device_put(frames, sharded(mesh, 0))
    gradient = with_mesh(mesh, jax.jit(jax.grad(lambda encoder, obs: jnp.sum(jnp.square(encoder(obs))))))
    return lambda: jax.block_until_ready(gradient(encoder, obs))


def torch_gradient(frames: np.ndarray) -> Callable[[], Any]:
    """The same gradient with PyTorch's layers, channels last."""
    import torch  # pyright: ignore[reportMissingImports] — only this benchmark uses it

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


def training_ratio(config: Config, cores: list[int]) -> dict[str, Any]:
    """Agent steps per second when collecting ahead, in step, and with one process per core, measured in turns."""
    ahead, in_step, apart = [], [], []
    for _ in range(ROUNDS):
        ahead.append(training_rate(replace(config, sync=False)))
        in_step.append(training_rate(replace(config, sync=True)))
        apart.append(rate_apart(config, cores))
    ratios = [one.steps_per_s / other.steps_per_s for one, other in zip(ahead, in_step, strict=True)]
    most = [one / other.steps_per_s for one, other in zip(apart, in_step, strict=True) if one is not None]
    known = [one for one in apart if one is not None]
    return {
        "agent_steps_per_s": statistics.median(one.steps_per_s for one in ahead),
        "in_step_steps_per_s": statistics.median(one.steps_per_s for one in in_step),
        "apart_steps_per_s": statistics.median(known) if known else None,
        "ahead_vs_in_step": statistics.median(ratios),
        "ahead_vs_in_step_rounds": ratios,
        "apart_vs_in_step": statistics.median(most) if most else None,
        "cores_busy": statistics.median(one.cores_busy for one in ahead),
        "in_step_cores_busy": statistics.median(one.cores_busy for one in in_step),
    }


class Rate(NamedTuple):
    steps_per_s: float
    cores_busy: float  # processor time of all threads, over wall-clock time


def training_rate(config: Config) -> Rate:
    """The speed of training, without the first row of metrics, which includes compilation."""
    rows = train(config)
    next(rows)
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(ROWS):
        jax.block_until_ready(next(rows).state.params)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    rows.close()  # pyright: ignore[reportAttributeAccessIssue] — a generator
    return Rate(ROWS * config.log_every * config.steps_per_update / seconds, busy / seconds)


def rate_apart(config: Config, cores: list[int]) -> float | None:
    """Agent steps per second of independent processes with one core each, all cores together; None if one was not
    measured. They never wait for each other, so this bounds the speed of one run on all cores."""
    longer = replace(config, log_every=2 * config.log_every)
    some = cores[:MOST_APART]
    speeds = measure({f"core-{core}": longer for core in some}, some, Stop())
    if len(speeds) < len(some):
        return None
    return len(cores) * statistics.mean(one.steps_per_second for one in speeds.values())


def tell(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)


def show_encoder(console: Console, result: dict[str, Any]) -> None:
    ours = f"{result['encoder_ms']:,.0f} ms on --devices {result['devices']}, {result['one_device_ms']:,.0f} ms on one"
    text = f"gradient of the paper's encoder, {result['frames']} frames: {ours}"
    if result["encoder_vs_torch"] is None:
        tell(console, text)
        tell(console, "PyTorch is not installed: the encoder is not compared (pip install torch)")
        return
    speed = f"PyTorch {result['torch_encoder_ms']:,.0f} ms, {result['encoder_vs_torch']:.2f} × its speed"
    tell(console, f"{text}; {speed}")


def show_training(console: Console, result: dict[str, Any]) -> None:
    ahead, in_step, apart = (result[f"{who}_steps_per_s"] for who in ("agent", "in_step", "apart"))
    text = f"collecting while learning: {ahead:,.0f} agent steps/s, in step {in_step:,.0f}"
    tell(console, f"{text}, {result['ahead_vs_in_step']:.2f} × as fast")
    if apart is not None:
        text = f"a process on each core, which waits for nothing: {apart:,.0f} agent steps/s in all"
        tell(console, f"{text}, {result['apart_vs_in_step']:.2f} × those in step: an upper bound")
    busy = f"{result['in_step_cores_busy']:.2f} of {result['cores']} cores are busy in step"
    tell(console, f"{busy}, {result['cores_busy']:.2f} when collecting ahead")
    tell(console, f"laptop byol-explore, 84×84 frames, end to end: {ahead:,.0f} agent steps/s")
