"""What noise over the frames costs, beside stepping the emulators whose frames they are.

    python benchmarks/atari_env.py [--game montezuma_revenge] [--batch-size 32] [--steps 200]

prints microseconds per emulator and step, medians, and the ratio: of the time on the clock, in which emulators share
the cores and noise has one, and of processor time, which other programs do not lengthen. Both take turns, step by step.
"""

import time
from dataclasses import dataclass

import numpy as np
import tyro

from curiax.config import AtariOptions
from curiax.envs import atari
from curiax.envs.noise import equations as noise


@dataclass(frozen=True)
class Options:
    game: str = "montezuma_revenge"
    batch_size: int = 32
    steps: int = 200


def main(options: Options) -> None:
    env = atari.make(options.game, options.batch_size, AtariOptions(), seed=0)
    layers = [noise.make(name, options.batch_size, atari.FRAME, seed=0) for name in ("persistive", "patches")]
    generator = np.random.default_rng(0)
    env.reset()
    taken = np.zeros((options.steps, 1 + len(layers), 2))
    for row in taken:
        action = generator.integers(env.spec.num_actions, size=options.batch_size).astype(np.int32)
        start = clocks()
        step = env.step(action)
        row[0] = clocks() - start
        for column, layer in enumerate(layers, start=1):
            obs = step.obs.copy()
            start = clocks()
            layer.apply(obs, step.first, action)
            row[column] = clocks() - start
    env.close()
    stepping, *costs = np.median(taken, axis=0) / options.batch_size * 1e6
    print(f"{options.game}, {options.batch_size} emulators   clock  processor")
    print(f"{'stepping':34}  {stepping[0]:5.0f}      {stepping[1]:5.0f} µs")
    for layer, cost in zip(layers, costs, strict=True):
        print(f"{layer.name:34}  {cost[0]:5.1f}      {cost[1]:5.1f} µs")
        print(f"{'':34}  {cost[0] / stepping[0]:5.1%}      {cost[1] / stepping[1]:5.1%}")


def clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


if __name__ == "__main__":
    main(tyro.cli(Options))
