"""One environment, and noise in half of its cells: a tabular learner that is paid by curiosity alone.

Half of the cells of a grid show 200 random bits on a screen, others at every visit. The other half shows a picture of
200 bits on a second screen, always the same for each way to come there. Where is the reward paid? See docs/one_env.md.

    python examples/noisy_cells.py --method icm+hindsight --seed 0
"""

import argparse
import itertools
from typing import NamedTuple

import numpy as np

import curiax

SIZE, NUM_BITS, NUM_ACTIONS = 32, 200, 4
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
EXPLORATION, LEARNING_RATE, DISCOUNT = 0.1, 0.2, 0.95  # of the tabular learner
SETTLED = 5_000  # steps; the result is about the steps after these


class World(NamedTuple):
    noisy: np.ndarray  # [SIZE, SIZE]
    pictures: np.ndarray  # [SIZE, SIZE, NUM_ACTIONS, NUM_BITS]


def make_world(rng: np.random.Generator) -> World:
    noisy = (rng.permutation(SIZE**2) % 2 == 1).reshape(SIZE, SIZE)
    return World(noisy, rng.integers(0, 2, (SIZE, SIZE, NUM_ACTIONS, NUM_BITS)).astype(np.float32))


def observe(world: World, place: tuple[int, int], action: int, rng: np.random.Generator) -> np.ndarray:
    """Row and column as one-hot vectors, and both screens, one of which is dark."""
    dark, noise = np.zeros(NUM_BITS), rng.integers(0, 2, NUM_BITS)
    screens = (noise, dark) if world.noisy[place] else (dark, world.pictures[*place, action])
    row, column = np.eye(SIZE)[list(place)]
    return np.concatenate([row, column, *screens]).astype(np.float32)


def move(place: tuple[int, int], action: int) -> tuple[int, int]:
    row, column = np.clip(np.add(place, MOVES[action]), 0, SIZE - 1)
    return int(row), int(column)


def act(values: np.ndarray, rng: np.random.Generator) -> int:
    """The best action, at times a random one."""
    if rng.random() < EXPLORATION:
        return int(rng.integers(NUM_ACTIONS))
    return int(rng.choice(np.flatnonzero(values == values.max())))


def run(method: str, seed: int, num_steps: int = 35_000) -> tuple[np.ndarray, np.ndarray]:
    """Rewards of all steps, and whether each led to a noisy cell."""
    rng = np.random.default_rng(seed)
    world, place = make_world(rng), (SIZE // 2, SIZE // 2)
    curiosity = curiax.Curiosity(
        method, curiax.Box((2 * SIZE + 2 * NUM_BITS,)), curiax.Discrete(NUM_ACTIONS), seed=seed, budget=num_steps
    )
    values = np.zeros((SIZE, SIZE, NUM_ACTIONS))  # Q
    rewards, noisy = np.zeros(num_steps), np.zeros(num_steps, bool)
    obs = observe(world, place, 0, rng)
    for step in range(num_steps):
        action = act(values[place], rng)
        new_place = move(place, action)
        new_obs = observe(world, new_place, action, rng)
        rewards[step] = curiosity.observe(obs, action, new_obs, terminated=False, truncated=False)
        noisy[step] = world.noisy[new_place]
        target = rewards[step] + DISCOUNT * values[new_place].max()
        values[*place, action] += LEARNING_RATE * (target - values[*place, action])
        place, obs = new_place, new_obs
    return rewards, noisy


def ratio(rewards: np.ndarray, noisy: np.ndarray, start: int = SETTLED) -> float:
    """Mean reward in cells that can be learned over mean reward in noisy ones; infinite if noise is paid nothing."""
    rewards, noisy = rewards[start:], noisy[start:]
    learnable, noise = rewards[~noisy].mean(), rewards[noisy].mean()
    return float(learnable / noise) if noise > 0 else float("inf")


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="icm+hindsight", help="see `curiax list methods`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=35_000)
    options = parser.parse_args(arguments)
    rewards, noisy = run(options.method, options.seed, options.steps)
    edges = np.arange(0, options.steps + 1, 5_000)
    for start, end in itertools.pairwise(edges):
        paid, where = rewards[start:end], noisy[start:end]
        means = paid[~where].mean(), paid[where].mean()
        print(f"steps {start:>6,} to {end:>6,}   learnable {means[0]:7.3f}   noise {means[1]:7.3f}", flush=True)
    found = ratio(rewards, noisy)
    print(f"{options.method}, seed {options.seed}: the learnable half was paid {found:.2f} times what the noise was")
    return found


if __name__ == "__main__":
    main()
