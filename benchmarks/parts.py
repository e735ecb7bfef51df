"""What each part of an update costs on one core against its size, beside the core's roofline; and by the same
arithmetic what a paper-size update would cost on accelerators.

    python benchmarks/parts.py --out results

writes parts.csv (measured), parts.json (peak and bandwidth of the core; FLOPs and parameters of a whole update) and
devices.csv (arithmetic). Seconds are processor time of the best of a few calls, so that other work on the machine does
not count. FLOPs are those of matrix products and convolutions. Bytes are what XLA says the compiled
program reads and writes. The roofline is max(FLOPs / peak, bytes / bandwidth), both measured here.
"""

import argparse
import csv
import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

if hasattr(os, "sched_setaffinity"):  # before JAX makes its threads
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp

from curiax import envs
from curiax.agent.gru import GRU
from curiax.agent.networks import MLP
from curiax.agent.policy import ACTION_EMBEDDING, believe_step, make_agent, make_encoder
from curiax.commands.benchmarks.flops import matmul_flops
from curiax.config import LAPTOP, PAPER, Config
from curiax.config.presets import preset_for
from curiax.curiosity.measures.critic import contrastive_value, energies, make_critic
from curiax.training.learner import make_batch_learner
from curiax.types import EnvSpec, Trajectory

REPEATS = 5
LARGE, SWEEPS = 16 * 2**20, 10  # numbers: far more than the caches hold
MAZE = envs.make("maze/on-demand").spec
ATARI = EnvSpec("atari", (84, 84, 1), 18, 27_000, observation_scale=255.0)
ATARI_PAPER = preset_for("paper", "atari/montezuma_revenge")
B, T, H = ATARI_PAPER.batch_size, ATARI_PAPER.unroll, ATARI_PAPER.world.horizon
NUM_UPDATES = 3_000_000  # of the paper's runs on Atari
EMULATOR_SECONDS = 890e-6  # of a core per agent step: benchmarks/atari_env.py, docs/atari.md

# Peaks as their makers state them, dense: bf16 TFLOP/s, memory GB/s, GB/s between devices of one host or pod.
DEVICES = {
    "A100 80 GB SXM": (312, 2039, 600),
    "H100 SXM": (989, 3350, 900),
    "TPU v5e": (197, 819, 200),
    "TPU v5p": (459, 2765, 600),
}
NETWORK = 25.0  # GB/s between hosts: 200 Gb/s
SHARE = 0.4  # of the peak, where arithmetic is what limits


class Part(NamedTuple):
    name: str
    size: str
    function: Callable
    arguments: tuple
    items: int  # in this call: environment steps, images, or positions (t, i)
    per_update: int  # items in an update of the paper's Atari run; 0 if its parts have another size


class Cost(NamedTuple):
    seconds: float
    flops: float
    bytes: float


def gradient(function: Callable) -> Callable:
    """Forward and backward, to parameters and inputs."""
    return jax.grad(lambda params, *inputs: jnp.sum(jnp.square(function(params, *inputs))), argnums=(0, 1))


def acting(title: str, config: Config, spec: EnvSpec, per_update: int) -> Part:
    agent = make_agent(config.network, spec, jax.random.key(0))
    obs, first = jnp.zeros((B, *spec.observation_shape), jnp.uint8), jnp.zeros(B, bool)

    def act(agent: Any, belief: jax.Array) -> tuple:
        belief = believe_step(agent, belief, obs, jnp.zeros(B, jnp.int32), first)
        return belief, agent.policy(belief)

    return Part("acting", f"{title}, B = {B}", act, (agent, jnp.zeros((B, config.network.belief))), B, per_update)


def encoding(title: str, config: Config, spec: EnvSpec, num_images: int, per_update: int) -> Part:
    encoder = make_encoder(config.network, spec, jax.random.key(0))
    images = jnp.ones((num_images, *spec.observation_shape))
    return Part("encoder", title, gradient(lambda e, x: e(x)), (encoder, images), num_images, per_update)


def recurrence(size: int, num_in: int, per_update: int) -> Part:
    core = GRU(num_in, size, jax.random.key(0))
    first = jnp.zeros((T, B), bool)
    unroll = gradient(lambda core, xs: core.unroll(jnp.zeros((B, size)), xs, first))
    return Part(
        "closed-loop GRU", f"h = {size}, T = {T}, B = {B}", unroll, (core, jnp.ones((T, B, num_in))), T * B, per_update
    )


def rolling(size: int, num_in: int, per_update: int) -> Part:
    core, items = GRU(num_in, size, jax.random.key(0)), 2048
    step = gradient(lambda core, h: core.step(h, jnp.ones((items, num_in))))
    return Part("open-loop GRU", f"h = {size}", step, (core, jnp.ones((items, size))), items, per_update)


def layers(name: str, num_in: int, hidden: tuple[int, ...], num_out: int, per_update: int) -> Part:
    mlp, items = MLP(num_in, hidden, num_out, jax.random.key(0)), 1024
    size = f"{num_in} → {' → '.join(map(str, hidden))} → {num_out}"
    return Part(name, size, gradient(lambda mlp, x: mlp(x)), (mlp, jnp.ones((items, num_in))), items, per_update)


def criticising(form: str, num: int, hidden: tuple[int, ...], context: int, latent: int, per_update: int) -> Part:
    critic, items = make_critic(form, context, latent, hidden, jax.random.key(0)), max(256 // num, 1)
    valid = jnp.ones((items, num), bool)
    z, contexts = jnp.ones((items, num, latent)), jnp.ones((items, num, context))
    score = gradient(lambda critic, z: contrastive_value(energies(critic, contexts, z), valid, 0.5))
    return Part("critic", f"{form}, K = {num}, {len(hidden)} × {hidden[0]}", score, (critic, z), items, per_update)


def parts() -> Iterator[Part]:
    network, world, steps = ATARI_PAPER.network, ATARI_PAPER.world, T * B
    action, belief, embedding, latent = ACTION_EMBEDDING, network.belief, network.embedding, world.latent
    atari_laptop = preset_for("laptop", "atari/montezuma_revenge")
    yield acting("maze, laptop", LAPTOP, MAZE, 0)
    yield acting("maze, paper", PAPER, MAZE, 0)
    yield acting("Atari, laptop", atari_laptop, ATARI, 0)
    yield acting("Atari, paper", ATARI_PAPER, ATARI, steps)
    yield encoding("maze, paper", PAPER, MAZE, 1024, 0)
    yield encoding("Atari, laptop", atari_laptop, ATARI, 64, 0)
    yield encoding("Atari, paper", ATARI_PAPER, ATARI, 16, (T + 1) * B)
    for size in (128, 256, 512):
        yield recurrence(size, embedding + action, steps if size == belief else 0)
    yield rolling(belief, action, steps * H)
    yield layers("generator", belief + action + embedding + world.noise, world.hidden, latent, steps * H)
    yield layers("reconstructor", belief + latent, world.hidden, embedding, steps * H)
    for num in (8, 16, 32, 64):
        yield criticising("concat", num, world.critic_hidden, belief + action, latent, T * H if num == B else 0)
    for num in (32, 256):
        yield criticising("separable", num, world.critic_hidden, belief + action, latent, 0)


def measure(part: Part) -> Cost:
    compiled = jax.jit(part.function).lower(*part.arguments).compile()
    analysis = compiled.cost_analysis() or {}
    return Cost(
        processor_seconds(lambda: compiled(*part.arguments)),
        matmul_flops(part.function, *part.arguments),
        float(analysis.get("bytes accessed", float("nan"))),
    )


def processor_seconds(function: Callable) -> float:
    """Of the best of a few calls."""
    jax.block_until_ready(function())
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        jax.block_until_ready(function())
        taken.append(time.process_time() - start)
    return min(taken)


def peak() -> float:
    """FLOP/s of a large matrix product."""
    x = jnp.ones((1536, 1536))
    product = jax.jit(jnp.matmul)
    return 2 * 1536**3 / processor_seconds(lambda: product(x, x))


def bandwidth() -> float:
    """Bytes/s of x ← x + 2y, again and again in place: two arrays read, one written."""
    x, y = jnp.ones(LARGE), jnp.ones(LARGE)
    add = jax.jit(lambda x, y: jax.lax.fori_loop(0, SWEEPS, lambda _, x: x + 2 * y, x))
    return SWEEPS * 3 * 4 * LARGE / processor_seconds(lambda: add(x, y))


def whole_update(config: Config, spec: EnvSpec) -> dict[str, float]:
    """FLOPs and parameters of a learner's update, from its trace: nothing is run."""
    init, learn = make_batch_learner(config, spec, lambda key: ())
    num_steps, num_streams = config.unroll, config.batch_size

    def steps(dtype: Any, *shape: int, more: int = 0) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((num_steps + more, num_streams, *shape), dtype)

    trajectory = Trajectory(
        obs=steps(jnp.uint8, *spec.observation_shape, more=1),
        first=steps(bool, more=1),
        last=steps(bool, more=1),
        action=steps(jnp.int32),
        logits=steps(jnp.float32, spec.num_actions),
        reward=steps(jnp.float32),
        terminated=steps(bool),
        belief=jax.ShapeDtypeStruct((num_streams, config.network.belief), jnp.float32),
        previous_action=jax.ShapeDtypeStruct((num_streams,), jnp.int32),
        info={"noise": steps(bool)},
        episode={},
    )
    state = jax.eval_shape(init, jax.random.key(0))
    flops = matmul_flops(lambda s, t: learn(s, t, jax.random.key(0))[0], state, trajectory)
    return {"flops": flops, "parameters": sum(leaf.size for leaf in jax.tree.leaves(state.params))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="of the parts, those whose name contains this")
    arguments = parser.parse_args()
    core = {"peak_flops": peak(), "bandwidth": bandwidth()}
    print(f"one core: {core['peak_flops'] / 1e9:.0f} GFLOP/s, {core['bandwidth'] / 1e9:.1f} GB/s", flush=True)
    rows = []
    for part in parts():
        if arguments.only in part.name:
            rows.append(row(part, measure(part), core))
            print(*rows[-1].values(), sep="  ", flush=True)
    separable = dataclasses.replace(ATARI_PAPER, world=dataclasses.replace(ATARI_PAPER.world, critic="separable"))
    double = dataclasses.replace(ATARI_PAPER, batch_size=2 * B)
    updates = {
        "atari_paper": whole_update(ATARI_PAPER, ATARI),
        "atari_paper, twice the batch": whole_update(double, ATARI),
        "atari_paper, separable critic": whole_update(separable, ATARI),
        "atari_paper, byol-explore": whole_update(dataclasses.replace(ATARI_PAPER, curiosity="byol-explore"), ATARI),
        "maze_laptop": whole_update(LAPTOP, MAZE),
    }
    core["peak_flops"] = max(core["peak_flops"], peak())
    for name, update in updates.items():
        print(f"update, {name}: {update['flops'] / 1e9:,.1f} GFLOP, {update['parameters'] / 1e6:.2f} M parameters")
    if arguments.out is not None:
        if not arguments.only:
            write(arguments.out / "parts.csv", rows)
            write(arguments.out / "devices.csv", devices(updates["atari_paper"], rows))
        (arguments.out / "parts.json").write_text(json.dumps(core | {"updates": updates}, indent=2) + "\n")


def row(part: Part, cost: Cost, core: dict[str, float]) -> dict[str, Any]:
    roof = max(cost.flops / core["peak_flops"], cost.bytes / core["bandwidth"])
    return {
        "part": part.name,
        "size": part.size,
        "items": part.items,
        "us_per_item": round(cost.seconds / part.items * 1e6, 2),
        "mflop_per_item": round(cost.flops / part.items / 1e6, 4),
        "gflops": round(cost.flops / cost.seconds / 1e9, 1),
        "flop_per_byte": round(cost.flops / cost.bytes, 2),
        "of_roofline": round(roof / cost.seconds, 3),
        "items_per_paper_update": part.per_update,
        "s_per_paper_update": round(cost.seconds / part.items * part.per_update, 2),
    }


def devices(update: dict[str, float], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A paper-size update and the whole run on one device, and what its neighbours must keep up with."""
    work = [
        (float(r["mflop_per_item"]) * 1e6 * int(r["items_per_paper_update"]), r) for r in rows if r["part"] != "acting"
    ]
    traffic = sum(flops / float(r["flop_per_byte"]) for flops, r in work)
    passes = update["flops"] / sum(flops for flops, _ in work)  # the parts measured are one pass each
    gradient_bytes = 4 * update["parameters"]
    gathered_bytes = 4 * T * H * B * ATARI_PAPER.world.latent  # z of all trajectories, for the negatives
    found = []
    for name, (tflops, memory, link) in DEVICES.items():
        compute = update["flops"] / (tflops * 1e12 * SHARE)
        reading = passes * traffic / (memory * 1e9)
        seconds = max(compute, reading)
        found.append(
            {
                "device": name,
                "bf16_tflops": tflops,
                "memory_gb_s": memory,
                "ridge_flop_per_byte": round(tflops * 1e3 / memory),
                "ms_arithmetic": round(compute * 1e3),
                "ms_memory": round(reading * 1e3),
                "device_hours": round(seconds * NUM_UPDATES / 3600),
                "cores_to_keep_up": round(T * B * EMULATOR_SECONDS / seconds),
                "ms_all_reduce_link": round(2 * gradient_bytes / (link * 1e9) * 1e3, 2),
                "ms_all_reduce_network": round(2 * gradient_bytes / (NETWORK * 1e9) * 1e3, 2),
                "ms_gather_z_network": round(gathered_bytes / (NETWORK * 1e9) * 1e3, 2),
            }
        )
    return found


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
