"""What the drop-in costs: `Curiosity.reward` + `Curiosity.update` on 4,096 transitions, against the same update inside
the training program, which also trains policy and value but needs one pass for rewards and gradients. Both have the
networks of the maze's preset.

    python benchmarks/dropin.py --json results/dropin.json

The two take turns, so that a busy machine slows both; medians are compared. The rollout is left out on both sides.

Then what one environment costs, step by step, at the default sizes: `observe` where it does not learn, and what a
gradient step adds. For the figures of one core: XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python ...
"""

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

import curiax
from curiax import envs
from curiax.config import LAPTOP
from curiax.training.learner import make_learner
from curiax.training.rollout import rollout

METHODS = ("byol-hindsight", "byol-explore", "icm+hindsight", "icm", "rnd")
NUM_STEPS, BATCH_SIZE = 128, 32
NUM_INPUTS, NUM_OBSERVED = 64, 1_600  # numbers of an observation, and steps of one environment


def measure(method: str, repeats: int) -> dict[str, float]:
    config = dataclasses.replace(LAPTOP, curiosity=method, batch_size=BATCH_SIZE, unroll=NUM_STEPS)
    env = envs.make(config.env)
    learner = make_learner(config, env)
    key = jax.random.key(0)
    state = jax.jit(learner.init)(key)
    _, trajectory = jax.jit(lambda state: rollout(env, state.acting, state.stream, NUM_STEPS, key))(state)
    learn = jax.jit(learner.learn)

    obs = np.asarray(trajectory.obs)
    ended = np.asarray(trajectory.last[1:])
    segment = (obs[:-1], np.asarray(trajectory.action), obs[1:], np.asarray(trajectory.terminated), ended)
    space = curiax.Box(env.spec.observation_shape, obs.dtype, 0, 1)
    curiosity = curiax.Curiosity(method, space, curiax.Discrete(env.spec.num_actions), preset=config)

    def train() -> None:
        jax.block_until_ready(learn(state, trajectory, key))

    def drop_in() -> None:
        curiosity.reward(*segment)
        curiosity.update(*segment)

    train_ms, drop_in_ms = alternate(train, drop_in, repeats)
    return {"train_ms": train_ms, "drop_in_ms": drop_in_ms, "ratio": drop_in_ms / train_ms}


def alternate(one: Callable[[], None], other: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Median milliseconds of each; the first turn compiles and does not count."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats + 1):
        for function, taken in zip((one, other), seconds, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return statistics.median(seconds[0][1:]) * 1e3, statistics.median(seconds[1][1:]) * 1e3


def measure_stream(method: str) -> dict[str, float]:
    """Median milliseconds of a reward and of an update, for one environment that is observed step by step."""
    curiosity = curiax.Curiosity(method, curiax.Box((NUM_INPUTS,)), curiax.Discrete(4))
    obs = np.random.default_rng(0).standard_normal((NUM_OBSERVED + 1, NUM_INPUTS)).astype(np.float32)
    paid: list[float] = []
    learned: list[float] = []
    for step in range(NUM_OBSERVED):
        start, before = time.perf_counter(), curiosity.num_updates
        curiosity.observe(obs[step], step % 4, obs[step + 1], False, False)
        taken = time.perf_counter() - start
        (paid if curiosity.num_updates == before else learned).append(taken)
    # The first calls compile; medians do not notice.
    reward_ms, both_ms = statistics.median(paid) * 1e3, statistics.median(learned) * 1e3
    return {"reward_ms": reward_ms, "update_ms": both_ms - reward_ms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = {}
    print(f"{'method':16} {'training':>12} {'drop-in':>12} {'ratio':>8}   {NUM_STEPS * BATCH_SIZE:,} transitions")
    for method in arguments.methods:
        row = results[method] = measure(method, arguments.repeats)
        print(f"{method:16} {row['train_ms']:9.1f} ms {row['drop_in_ms']:9.1f} ms {row['ratio']:8.2f}", flush=True)
    worst = max(row["ratio"] for row in results.values())
    print(f"worst ratio {worst:.2f}")
    stream = {}
    print(f"{'method':16} {'reward':>12} {'update':>12}   one environment, {NUM_INPUTS} numbers")
    for method in arguments.methods:
        row = stream[method] = measure_stream(method)
        print(f"{method:16} {row['reward_ms']:9.2f} ms {row['update_ms']:9.2f} ms", flush=True)
    if arguments.json:
        command = f"python benchmarks/dropin.py --json {arguments.json}"
        content = {"command": command, "transitions": NUM_STEPS * BATCH_SIZE, "methods": results, "stream": stream}
        arguments.json.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
