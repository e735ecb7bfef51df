"""What an adapter costs: steps per second through it, against stepping the bare environment.

    python benchmarks/adapters.py --csv results/adapters.csv

The two take turns, so that a busy machine slows both; the ratio is the median of the turns' ratios. The policy is
random, and the same on both sides. `cpu_us` is processor time per environment step: unlike the rest it hardly depends
on what else the machine does. `overhead` is by that time: 0.10 is a tenth more.
"""

import argparse
import csv
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AutoresetMode

import curiax.gym  # noqa: F401 — registers the maze
from curiax.config import AtariOptions, GymOptions
from curiax.envs import atari, craftax, gymnax, maze
from curiax.envs import gymnasium as host
from curiax.envs.atari.games import FRAME_LIMIT, NOOPS
from curiax.envs.base import Environment, stream_reset, stream_step
from curiax.envs.foreign import their_rules
from curiax.types import EnvSpec

BATCH_SIZE = 16
COMPILED_STEPS = 50  # in one call, where everything is compiled
FIELDS = ("adapter", "environment", "batch", "bare_steps_per_s", "steps_per_s", "bare_cpu_us", "cpu_us", "overhead")


class Pair(NamedTuple):
    """One adapter and what it adapts, each a function that takes a step of B environments, or several."""

    adapter: str
    environment: str
    batch: int
    bare: Callable[[], Any]
    adapted: Callable[[], Any]
    steps: int = 1  # of each environment in a call


def gym_pair(name: str, **changes: Any) -> Pair:
    """Gymnasium's own vector environment, and the stream that curiax makes of it."""
    options = GymOptions(**changes)
    bare, adapted = host.make_pool(name, BATCH_SIZE, options, None), host.make(name, BATCH_SIZE, options, 0)
    bare.reset(seed=0)
    adapted.reset()
    draw = draw_actions(adapted.spec)
    shift = getattr(bare.single_action_space, "start", 0)
    adapter = f"gym/ (next-step, {type(bare).__name__})"
    return Pair(adapter, name, BATCH_SIZE, lambda: bare.step(draw() + shift), lambda: adapted.step(draw()))


def same_step_pair(name: str) -> Pair:
    """A vector environment of the user's own, which resets at once, and its streams."""
    vector = {"autoreset_mode": AutoresetMode.SAME_STEP}
    bare, pool = (gymnasium.make_vec(name, BATCH_SIZE, "sync", vector_kwargs=vector) for _ in range(2))
    streams = host.Streams(pool, *host.spaces_of(name, GymOptions()), 0)
    bare.reset(seed=0)
    streams.reset()
    draw = draw_actions(host.spec_of(name, GymOptions()))
    adapter = "gym/ (same-step, SyncVectorEnv)"
    return Pair(adapter, name, BATCH_SIZE, lambda: bare.step(draw()), lambda: streams.step(draw()))


def draw_actions(spec: EnvSpec) -> Callable[[], np.ndarray]:
    """Of both sides, so that drawing costs both the same."""
    generator = np.random.default_rng(0)
    if spec.action_parts is None:
        return lambda: generator.integers(spec.num_actions, size=BATCH_SIZE).astype(np.int32)
    return lambda: generator.uniform(-1, 1, (BATCH_SIZE, spec.num_actions)).astype(np.float32)


def maze_pair(batch: int) -> Pair:
    """The maze in one compiled call, and the same through Gymnasium; of one, or of many."""
    env = maze.make("on-demand")
    draw = jax.jit(jax.vmap(env.draw))
    step = jax.jit(lambda stream, action, noise: stream_step(env, stream, action, noise))
    noise = jax.device_get(draw(jax.random.split(jax.random.key(0), batch)))
    streams = [stream_reset(env, noise, batch)]
    generator = np.random.default_rng(0)

    def bare() -> Any:
        action = generator.integers(env.spec.num_actions, size=batch).astype(np.int32)
        streams[0], timestep = step(streams[0], action, noise)
        return jax.device_get(timestep)

    if batch == 1:
        single = gymnasium.make("curiax/Maze-v0")
        single.reset(seed=0)
        return Pair("curiax/Maze-v0", "maze/on-demand", 1, bare, lambda: walk(single))
    many = gymnasium.make_vec("curiax/Maze-v0", batch)
    many.reset(seed=0)
    return Pair("curiax/Maze-v0 (vector)", "maze/on-demand", batch, bare, lambda: many.step(many.action_space.sample()))


def walk(env: gymnasium.Env) -> None:
    if env.step(int(env.action_space.sample()))[3]:
        env.reset()


def atari_pair(game: str) -> Pair:
    """EnvPool, and the streams that curiax makes of it, rooms and all."""
    options = AtariOptions()
    bare = atari.make_pool(game, BATCH_SIZE, options, 0, NOOPS, FRAME_LIMIT)
    adapted = atari.make(game, BATCH_SIZE, options, 0)
    bare.reset()
    adapted.reset()
    draw = draw_actions(adapted.spec)
    return Pair("atari/", game, BATCH_SIZE, lambda: bare.step(draw()), lambda: adapted.step(draw()))


def gymnax_pair(name: str) -> Pair:
    with their_rules():
        env, params = gymnax.load().make(name)
    return compiled_pair("gymnax/", name, gymnax.make(name), env, params)


def craftax_pair(name: str) -> Pair:
    env = craftax.load(craftax.GAMES[name])
    return compiled_pair("craftax/", name, craftax.make(name), env, env.default_params)


def compiled_pair(adapter: str, name: str, env: Environment, theirs: Any, params: Any) -> Pair:
    """Their own step mapped over environments, and the stream that curiax makes of it; each many steps in one call.

    Resets count on both sides where theirs are automatic (gymnax), and on ours alone where they are not (Craftax).
    """
    keys = jax.random.split(jax.random.key(0), BATCH_SIZE)

    def action_of(key: jax.Array) -> jax.Array:
        return jax.random.randint(key, (BATCH_SIZE,), 0, env.spec.num_actions)

    def their_step(state: Any, key: jax.Array) -> tuple[Any, Any]:
        with their_rules():
            keys = jax.random.split(key, BATCH_SIZE)
            obs, state, *_ = jax.vmap(theirs.step, in_axes=(0, 0, 0, None))(keys, state, action_of(key), params)
        return state, obs.sum()

    def our_step(stream: Any, key: jax.Array) -> tuple[Any, Any]:
        noise = jax.vmap(env.draw)(jax.random.split(key, BATCH_SIZE))
        stream, timestep = stream_step(env, stream, action_of(key), noise)
        return stream, timestep.obs.sum()

    with their_rules():
        state = jax.jit(jax.vmap(lambda key: theirs.reset(key, params)[1]))(keys)
    stream = jax.jit(lambda: stream_reset(env, jax.vmap(env.draw)(keys), BATCH_SIZE))()
    return Pair(adapter, name, BATCH_SIZE, many(their_step, state), many(our_step, stream), COMPILED_STEPS)


def many(step: Callable[[Any, jax.Array], tuple[Any, Any]], state: Any) -> Callable[[], Any]:
    """So many steps in one compiled call, which goes on from the last."""
    run = jax.jit(lambda state, key: jax.lax.scan(step, state, jax.random.split(key, COMPILED_STEPS)))
    states, keys = [state], [jax.random.key(0)]

    def call() -> Any:
        keys[0] = jax.random.split(keys[0])[0]
        states[0], seen = run(states[0], keys[0])
        return jax.device_get(seen)

    return call


def measure(pair: Pair, turns: int, num_steps: int) -> dict[str, Any]:
    """Both sides in turns; the first turn compiles, and does not count."""
    sides = [[], []]
    for turn in range(turns + 1):
        for side, step in zip(sides, (pair.bare, pair.adapted), strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            calls = max(1, num_steps // pair.steps)
            for _ in range(calls):
                step()
            if turn:
                taken = calls * pair.steps * pair.batch
                side.append(((time.perf_counter() - wall) / taken, (time.process_time() - cpu) / taken))
    (wall, cpu), (adapted_wall, adapted_cpu) = (
        [statistics.median(x) for x in zip(*side, strict=True)] for side in sides
    )
    ratio = statistics.median(b[1] / a[1] for a, b in zip(*sides, strict=True))
    values = (1 / wall, 1 / adapted_wall, 1e6 * cpu, 1e6 * adapted_cpu, ratio - 1)
    numbers = [f"{x:.0f}" for x in values[:2]] + [f"{x:.1f}" for x in values[2:4]] + [f"{values[4]:.2f}"]
    return dict(zip(FIELDS, (pair.adapter, pair.environment, pair.batch, *numbers), strict=True))


PAIRS: tuple[Callable[[], Pair], ...] = (
    lambda: gym_pair("CartPole-v1", vectorization="sync"),
    lambda: same_step_pair("CartPole-v1"),
    lambda: gym_pair("CartPole-v1"),
    lambda: gym_pair("Pendulum-v1"),
    lambda: gym_pair("MiniGrid-DoorKey-8x8-v0"),
    lambda: maze_pair(1),
    lambda: maze_pair(BATCH_SIZE),
    lambda: maze_pair(256),
    lambda: atari_pair("montezuma_revenge"),
    lambda: gymnax_pair("CartPole-v1"),
    lambda: craftax_pair("classic-symbolic"),
)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Rows of other adapters stay as they are."""
    known = []
    if path.exists():
        with path.open(newline="") as file:
            known = list(csv.DictReader(file))
    new = {(row["adapter"], row["environment"], str(row["batch"])) for row in rows}
    kept = [row for row in known if (row["adapter"], row["environment"], row["batch"]) not in new]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows([*rows, *kept])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100, help="of a turn, times the batch")
    args = parser.parse_args()
    rows = []
    for make in PAIRS:
        rows.append(measure(make(), args.turns, args.steps))
        print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if args.csv:
        write(args.csv, rows)


if __name__ == "__main__":
    main()
