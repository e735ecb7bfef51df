"""A race in the maze, through Gymnasium: curiax beside Stable-Baselines3 with rllte-core's curiosity, with curiax's,
and with none. Same maze, seeds and number of environment steps; one process after another, each with all cores.

    pip install -c constraints.txt -e '.[gym]'
    pip install --no-deps rllte-core==1.0.1    # its own pins are older than ours
    pip install nvidia-ml-py pandas seaborn termcolor    # what it imports
    python benchmarks/race.py --out results/race.csv

Rows that are there are not run again. `--rival-python` is for an rllte-core that lives in an environment of its own;
curiax must be importable there too, for the maze.

steps_per_s counts from the third rollout on, when all is compiled. trackers and noise_dwell are means over the last
quarter of the steps; rss_mb is the peak of the process. The maze pays nothing: every reward is curiosity's.

curiax steps its mazes as a vector of 32, in the preset `laptop`. SB3 has no use for Gymnasium's vectors and steps them
one after the other, in 8 environments of 128 steps, with its default settings else; PyTorch has one thread, as suits
networks of this size. rllte-core is wired as its authors show for SB3: rewards are added to advantages and returns.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

CURIAX = {"curiax-hindsight": "byol-hindsight", "curiax-icm": "icm", "curiax-rnd": "rnd"}
RLLTE = {"sb3-rllte-icm": "ICM", "sb3-rllte-rnd": "RND"}
SYSTEMS = [*CURIAX, *RLLTE, "sb3-curiax-icm", "sb3-ppo"]
SETTINGS = ["baseline", "on-demand"]
COLUMNS = ["system", "setting", "seed", "env_steps", "steps_per_s", "trackers", "noise_dwell", "rss_mb"]
NUM_ENVS, NUM_STEPS = 8, 128  # of SB3: a rollout is 1,024 steps, as is an update of curiax
WARM_UP = 2  # rollouts that do not count for speed


class Tally:
    """What was met, and when."""

    def __init__(self) -> None:
        self.env_steps = 0
        self.noise: list[tuple[int, float]] = []  # steps so far, share of the environments
        self.trackers: list[tuple[int, float]] = []  # of each episode that ended
        self.clock: list[tuple[int, float]] = []  # at the start of each rollout

    def step(self, noise: np.ndarray, trackers: np.ndarray) -> None:
        """noise: of those that took a step; trackers: of those whose episode ended."""
        self.env_steps += len(noise)
        if len(noise):
            self.noise.append((self.env_steps, float(np.mean(noise))))
        self.trackers.extend((self.env_steps, float(value)) for value in trackers)

    def tick(self) -> None:
        self.clock.append((self.env_steps, time.perf_counter()))

    def row(self) -> dict[str, float]:
        start, end = self.clock[WARM_UP], self.clock[-1]
        trackers, noise = (
            [value for at, value in values if at > 0.75 * self.env_steps] for values in (self.trackers, self.noise)
        )
        return {
            "steps_per_s": round((end[0] - start[0]) / (end[1] - start[1]), 1),
            "trackers": round(float(np.mean(trackers)), 4) if trackers else float("nan"),
            "noise_dwell": round(float(np.mean(noise)), 4),
            "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }


def race_curiax(method: str, setting: str, seed: int, env_steps: int, tally: Tally) -> None:
    """`curiax train gym/...`, without its files."""
    from dataclasses import replace

    import gymnasium

    from curiax.config import LAPTOP, GymOptions
    from curiax.envs.maze import TIME_LIMIT
    from curiax.envs.maze.gym import MazeVectorEnv
    from curiax.training.train import train

    class Counted(MazeVectorEnv):
        def step(self, actions: Any) -> Any:
            answer = super().step(actions)
            ended, info = answer[2] | answer[3], answer[4]
            tally.step(info["noise"][info["_noise"]], info["trackers"][ended])
            return answer

    gymnasium.register(
        "race/Maze-v0", vector_entry_point=lambda **settings: Counted(**settings), max_episode_steps=TIME_LIMIT
    )
    config = replace(
        LAPTOP,
        env="gym/race/Maze-v0",
        gym=GymOptions(kwargs=(f"setting={setting}",)),
        curiosity=method,
        seed=seed,
        env_steps=env_steps,
        log_every=1,
    )
    tally.tick()
    for _ in train(config):
        tally.tick()


def race_sb3(system: str, setting: str, seed: int, env_steps: int, tally: Tally) -> None:
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    envs = make_mazes(setting, seed)
    curiosity = make_callback(system, envs, seed)
    model = PPO("MlpPolicy", envs, n_steps=NUM_STEPS, seed=seed, device="cpu")
    model.learn(env_steps, callback=[*curiosity, counter(tally)])
    tally.tick()


def make_mazes(setting: str, seed: int) -> Any:
    """Flat floats, which suit all."""
    from gymnasium.wrappers import DtypeObservation, FlattenObservation
    from stable_baselines3.common.env_util import make_vec_env

    import curiax.gym  # noqa: F401 — registers the maze

    return make_vec_env(
        "curiax/Maze-v0",
        NUM_ENVS,
        seed=seed,
        env_kwargs={"setting": setting},
        wrapper_class=lambda env: DtypeObservation(FlattenObservation(env), np.float32),
    )


def make_callback(system: str, envs: Any, seed: int) -> list[Any]:
    if system == "sb3-curiax-icm":
        from curiax.sb3 import CuriosityCallback

        return [CuriosityCallback("icm", coefficient=1.0, seed=seed)]
    if system in RLLTE:
        import rllte.xplore.reward as rewards  # pyright: ignore[reportMissingImports]

        return [rllte_callback(getattr(rewards, RLLTE[system])(envs, device="cpu"))]
    return []


def rllte_callback(module: Any) -> Any:
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    class Rllte(BaseCallback):
        def _on_step(self) -> bool:
            now, then = self.locals["obs_tensor"], torch.as_tensor(self.locals["new_obs"])
            actions, rewards, dones = (torch.as_tensor(self.locals[name]) for name in ("actions", "rewards", "dones"))
            module.watch(now, actions, rewards, dones, dones, then)
            return True

        def _on_rollout_end(self) -> None:
            buffer = self.model.rollout_buffer  # pyright: ignore[reportAttributeAccessIssue]
            obs = torch.as_tensor(buffer.observations)
            ended = torch.as_tensor(buffer.episode_starts)
            samples = {
                "observations": obs,
                "actions": torch.as_tensor(buffer.actions),
                "rewards": torch.as_tensor(buffer.rewards),
                "terminateds": ended,
                "truncateds": ended,
                "next_observations": torch.cat([obs[1:], torch.as_tensor(self.locals["new_obs"])[None]]),
            }
            bonus = module.compute(samples, sync=True).numpy()
            buffer.advantages += bonus
            buffer.returns += bonus

    return Rllte()


def counter(tally: Tally) -> Any:
    from stable_baselines3.common.callbacks import BaseCallback

    class Counter(BaseCallback):
        def _on_rollout_start(self) -> None:
            tally.tick()

        def _on_step(self) -> bool:
            infos = self.locals["infos"]
            ended = np.flatnonzero(self.locals["dones"])
            tally.step(np.array([info["noise"] for info in infos]), np.array([infos[i]["trackers"] for i in ended]))
            return True

    return Counter()


def overhead(repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds that each ICM adds to a rollout of SB3, by the clock and of the processor; medians, taken in turns.

    The same two calls as in training: `on_step` after every step, `on_rollout_end` after the last.
    """
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    callbacks = {}
    for system in ("sb3-rllte-icm", "sb3-curiax-icm"):
        envs = make_mazes("on-demand", 0)
        (callbacks[system],) = make_callback(system, envs, 0)
        model = PPO("MlpPolicy", envs, n_steps=NUM_STEPS, seed=0, device="cpu")
        model.train = lambda: None  # which would flatten the rollout
        model.learn(NUM_ENVS * NUM_STEPS, callback=callbacks[system])
    taken: dict[str, list[list[float]]] = {system: [] for system in callbacks}
    for _ in range(repeats):
        for system, callback in callbacks.items():
            callback.on_rollout_start()
            callback.model.rollout_buffer.pos = 0
            start = time.perf_counter(), time.process_time()
            for _ in range(NUM_STEPS):
                callback.on_step()
            callback.on_rollout_end()
            taken[system].append([time.perf_counter() - start[0], time.process_time() - start[1]])
    return medians(taken)


def overhead_of_batches(repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds that each ICM adds to a batch of 256 that DQN samples: to score it, and to learn from it."""
    import rllte.xplore.reward as rewards  # pyright: ignore[reportMissingImports]
    from stable_baselines3 import DQN

    envs = make_mazes("on-demand", 0)
    model = DQN("MlpPolicy", envs, buffer_size=4096, learning_starts=4096, device="cpu").learn(2048)
    (callback,) = make_callback("sb3-curiax-icm", envs, 0)
    callback.init_callback(model)
    module, buffer = rewards.ICM(envs, device="cpu"), model.replay_buffer
    callback.on_training_start({}, {})

    def rllte(batch: Any) -> None:
        flat = {name: getattr(batch, name).reshape(1, -1) for name in ("actions", "rewards")}
        flat |= {name: batch.dones.reshape(1, -1) for name in ("terminateds", "truncateds")}
        flat |= {name: getattr(batch, name)[None] for name in ("observations", "next_observations")}
        module.compute(flat, sync=True)

    draw: dict[str, Any] = {
        "sb3-dqn": lambda: buffer.sample(256),
        "sb3-rllte-icm": lambda: rllte(buffer.sample(256)),
        "sb3-curiax-icm": lambda: model.replay_buffer.sample(256),
    }
    taken: dict[str, list[list[float]]] = {system: [] for system in draw}
    for repeat in range(-3, repeats):
        for system, sample in draw.items():
            start = time.perf_counter(), time.process_time()
            sample()
            if repeat >= 0:
                taken[system].append([time.perf_counter() - start[0], time.process_time() - start[1]])
    return medians(taken)


def medians(taken: dict[str, list[list[float]]]) -> dict[str, dict[str, float]]:
    return {
        system: dict(zip(("wall_ms", "cpu_ms"), (np.median(times, axis=0) * 1e3).round(2).tolist(), strict=True))
        for system, times in taken.items()
    }


def run_one(system: str, setting: str, seed: int, env_steps: int) -> dict[str, Any]:
    tally = Tally()
    if system in CURIAX:
        race_curiax(CURIAX[system], setting, seed, env_steps, tally)
    else:
        race_sb3(system, setting, seed, env_steps, tally)
    return {"system": system, "setting": setting, "seed": seed, "env_steps": env_steps} | tally.row()


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def append(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def start(job: list[str], python: str) -> dict[str, Any] | None:
    """A process of its own for each; its last line is its row."""
    done = subprocess.run([python, __file__, "--one", *job], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def race(arguments: argparse.Namespace) -> int:
    failed = 0
    jobs = [(system, setting, seed) for seed in arguments.seeds for setting in SETTINGS for system in arguments.systems]
    for system, setting, seed in jobs:
        job = [system, setting, str(seed), str(arguments.env_steps)]
        if any([row[name] for name in COLUMNS[:4]] == job for row in rows_of(arguments.out)):
            continue
        row = start(job, arguments.rival_python if system in RLLTE else sys.executable)
        if row is None:
            failed += 1
            print(f"{' '.join(job)}: failed", file=sys.stderr, flush=True)
            continue
        append(arguments.out, row)
        print("  ".join(f"{name} {row[name]}" for name in COLUMNS), flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/race.csv"))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--env-steps", type=int, default=102_400)
    parser.add_argument("--rival-python", default=sys.executable)
    parser.add_argument(
        "--overhead", type=Path, metavar="JSON", help="measure what either ICM adds to SB3's rollout or batch"
    )
    parser.add_argument("--one", nargs=4, metavar=("SYSTEM", "SETTING", "SEED", "ENV_STEPS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        system, setting, seed, env_steps = arguments.one
        print(json.dumps(run_one(system, setting, int(seed), int(env_steps))))
        return 0
    if arguments.overhead:
        result = {"command": f"python benchmarks/race.py --overhead {arguments.overhead}", "systems": overhead(31)}
        result |= {"batches": overhead_of_batches(61)}
        print(json.dumps(result, indent=2))
        arguments.overhead.write_text(json.dumps(result, indent=2) + "\n")
        return 0
    return race(arguments)


if __name__ == "__main__":
    sys.exit(main())
