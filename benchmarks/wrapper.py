"""What `curiax.gym.CuriosityReward` costs: time per step of B CartPoles with it, and of the bare ones.

    python benchmarks/wrapper.py

The policy is random. Learning is included: a gradient step every 16 steps. Processor time depends little on what else
the machine does.
"""

import argparse
import statistics
import time
from typing import Any

import gymnasium

from curiax.gym import CuriosityReward

BEFORE = 40  # steps that compile, and are not timed


def times(envs: Any, num_steps: int) -> tuple[float, float]:
    """Milliseconds of the clock and of the processor for one step of all environments."""
    clock, processor = time.perf_counter(), time.process_time()
    for _ in range(num_steps):
        envs.step(envs.action_space.sample())
    return tuple(1e3 * x / num_steps for x in (time.perf_counter() - clock, time.process_time() - processor))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["rnd", "icm", "icm+hindsight"])
    parser.add_argument("--num-envs", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'ms per step':16} {'envs':>4} {'bare':>9} {'with it':>9} {'by the clock':>13}")
    for num_envs in arguments.num_envs:
        for method in arguments.methods:
            pair = [gymnasium.make_vec("CartPole-v1", num_envs, vectorization_mode="sync") for _ in range(2)]
            pair[1] = CuriosityReward(pair[1], method)
            for envs in pair:
                envs.reset(seed=0)
                times(envs, BEFORE)
            runs = [[times(envs, arguments.steps) for envs in pair] for _ in range(arguments.repeats)]
            bare, processor, clock = (statistics.median(run[i][j] for run in runs) for i, j in ((0, 1), (1, 1), (1, 0)))
            print(f"{method:16} {num_envs:4} {bare:9.3f} {processor:9.2f} {clock:13.2f}", flush=True)


if __name__ == "__main__":
    main()
