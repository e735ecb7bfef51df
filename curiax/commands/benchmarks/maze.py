"""`curiax bench`: the speed of this machine, also relative to its matrix-multiply peak."""

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from curiax import curiosity, envs
from curiax.commands.benchmarks.flops import matmul_flops
from curiax.config import LAPTOP, Config
from curiax.envs.base import Environment, Stream, stream_reset, stream_step
from curiax.errors import UserError
from curiax.training.learner import make_learner
from curiax.training.rollout import rollout
from curiax.training.train import interval

REPEATS = 5
GEMM_SIZE = 2048


def seconds_per_call(function: Callable, *args: Any, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of a few calls, which other processes disturb least."""
    jax.block_until_ready(function(*args))
    times = []
    for _ in range(REPEATS):
        start = clock()
        jax.block_until_ready(function(*args))
        times.append(clock() - start)
    return min(times)


def gemm_gflops() -> float:
    """GFLOP/s of a large square matrix product: the peak."""
    x = jnp.ones((GEMM_SIZE, GEMM_SIZE))
    return 2 * GEMM_SIZE**3 / seconds_per_call(jax.jit(jnp.matmul), x, x) / 1e9


def bench_method(config: Config) -> dict[str, float]:
    """Environment steps per second of training; milliseconds and GFLOP/s of the update alone."""
    env = envs.make(config.env)
    learner = make_learner(config, env)
    state = jax.jit(learner.init)(jax.random.key(0))
    num_updates = 10
    train = jax.jit(lambda state: interval(learner, num_updates, state))
    train_seconds = seconds_per_call(train, state) / num_updates

    key = jax.random.key(1)
    _, trajectory = jax.jit(lambda: rollout(env, state.acting, state.stream, config.unroll, key))()

    def learn(state: Any, trajectory: Any) -> Any:
        return jax.lax.fori_loop(0, num_updates, lambda _, s: learner.learn(s, trajectory, s.key)[0], state)

    learn_seconds = seconds_per_call(jax.jit(learn), state, trajectory) / num_updates
    flops = matmul_flops(lambda state, trajectory: learner.learn(state, trajectory, key)[0], state, trajectory)
    return {
        "env_steps_per_s": config.steps_per_update / train_seconds,
        "update_ms": learn_seconds * 1e3,
        "update_gflops": flops / learn_seconds / 1e9,
    }


def random_walk(env: Environment, num_envs: int, num_steps: int, key: jax.Array) -> jax.Array:
    """Takes random actions in many mazes. Returns the sum of the observations, so that they must be computed."""
    key_reset, key_noise, key_action = jax.random.split(key, 3)
    stream = stream_reset(env, jax.vmap(env.draw)(jax.random.split(key_reset, num_envs)), num_envs)
    noise = jax.vmap(jax.vmap(env.draw))(jax.random.split(key_noise, (num_steps, num_envs)))
    actions = jax.random.randint(key_action, (num_steps, num_envs), 0, env.spec.num_actions)

    def step(stream: Stream, inputs: tuple) -> tuple[Stream, jax.Array]:
        stream, timestep = stream_step(env, stream, *inputs)
        return stream, jnp.sum(timestep.obs)

    return jax.lax.scan(step, stream, (actions, noise))[1].sum()


def maze_steps_per_second(num_envs: int = 1024, num_steps: int = 500) -> float:
    """Speed of the compiled maze with random actions, by processor time: other processes do not count."""
    env = envs.make("maze/brownian")
    run = jax.jit(lambda key: random_walk(env, num_envs, num_steps, key))
    return num_envs * num_steps / seconds_per_call(run, jax.random.key(0), clock=time.process_time)


def pycolab_steps_per_second(num_steps: int = 2000) -> float:
    """Speed of the same maze on the Pycolab engine, likewise."""
    from curiax.envs import maze
    from curiax.envs.maze.pycolab import PycolabMaze

    draw = jax.jit(jax.vmap(lambda key: maze.draw(maze.parse(maze.MAP), key)))
    noise = jax.device_get(draw(jax.random.split(jax.random.key(0), num_steps)))
    steps = [jax.tree.map(lambda x, i=i: x[i], noise) for i in range(num_steps)]
    actions = np.random.default_rng(0).integers(0, len(maze.ACTIONS), num_steps)
    twin = PycolabMaze(maze.SETTINGS["brownian"])
    twin.reset(steps[0])
    start = time.process_time()
    for action, step in zip(actions, steps, strict=True):
        twin.step(int(action), step)
    return num_steps / (time.process_time() - start)


def on_one_core(function_name: str) -> float:
    """The result of a function of this file, called in a process with one core."""
    core = min(os.sched_getaffinity(0))
    # The new process sets its core itself, before JAX starts threads; setting it between fork and exec could deadlock.
    code = f"import os; os.sched_setaffinity(0, [{core}]); from {__name__} import {function_name} as f; print(f())"
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def twin_steps_per_second(console: Console) -> float | None:
    """Speed of the maze on the Pycolab engine; None if that is not installed."""
    try:
        import_module("curiax.envs.maze.pycolab")
    except UserError as error:
        console.print(f"the maze is not compared with its twin: {error}", highlight=False, markup=False)
        return None
    return on_one_core("pycolab_steps_per_second")


def bench_maze(console: Console) -> dict[str, Any]:
    """Measures and prints the table."""
    methods = {}
    for name in curiosity.METHODS:
        peak = gemm_gflops()  # measured again for each method: the speed of a machine drifts
        measured = bench_method(dataclasses.replace(LAPTOP, curiosity=name))
        peak = max(peak, gemm_gflops())
        methods[name] = measured | {"gemm_gflops": peak, "fraction_of_peak": measured["update_gflops"] / peak}
        console.print(f"{name}: {measured['env_steps_per_s']:,.0f} environment steps/s", highlight=False)
    maze, twin = on_one_core("maze_steps_per_second"), twin_steps_per_second(console)
    result = {
        "gemm_gflops": max(row["gemm_gflops"] for row in methods.values()),
        "methods": methods,
        "hindsight_vs_explore": methods["byol-hindsight"]["env_steps_per_s"]
        / methods["byol-explore"]["env_steps_per_s"],
        "maze_steps_per_s": maze,
        "pycolab_steps_per_s": twin,
        "maze_vs_pycolab": twin and maze / twin,
        "cores": len(os.sched_getaffinity(0)),
    }
    show(console, result)
    return result


def show(console: Console, result: dict[str, Any]) -> None:
    table = Table("method", "env steps/s", "update ms", "GFLOP/s", "of matrix-multiply peak", title="laptop preset")
    for name, row in result["methods"].items():
        table.add_row(
            name,
            f"{row['env_steps_per_s']:,.0f}",
            f"{row['update_ms']:.1f}",
            f"{row['update_gflops']:.0f}",
            f"{row['fraction_of_peak']:.0%}",
        )
    console.print(table)
    console.print(
        f"matrix-multiply peak {result['gemm_gflops']:.0f} GFLOP/s on {result['cores']} cores", highlight=False
    )
    console.print(f"byol-hindsight makes {result['hindsight_vs_explore']:.0%} of byol-explore's steps", highlight=False)
    twin = ""
    if result["pycolab_steps_per_s"] is not None:
        twin = f", {result['maze_vs_pycolab']:,.0f} × its Pycolab twin ({result['pycolab_steps_per_s']:,.0f})"
    console.print(f"maze alone on one core: {result['maze_steps_per_s']:,.0f} steps/s{twin}", highlight=False)
