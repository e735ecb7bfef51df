"""The arena: every noise-robust curiosity beside its rivals, in worlds that others have published numbers for.

The structural-causal worlds train no agent: `curiax study scm` measures there what a method pays. MiniGrid is as in the
published reproduction of LPM (`studies/published.py`): frames, view, noise, and the return of the deterministic policy.
"""

from typing import Any

from curiax.studies.base import Study

SCM = ("independent", "state", "action")


def maze(setting: str) -> dict[str, Any]:
    return {"env": f"maze/{setting}", "env_steps": 2_000_000}


def grid(name: str, env_steps: int, evaluate_every: int) -> dict[str, Any]:
    """About fifty evaluations, the last five of which count."""
    env = f"gym/MiniGrid-{name}"
    return {"env": env, "reward": "mixed", "env_steps": env_steps, "evaluate_every": evaluate_every}


WORLDS = (
    {f"maze-{name}": maze(name) for name in ("baseline", "brownian", "random", "on-demand")}
    | {f"scm-{name}": {"env": f"scm/{name}"} for name in SCM}
    | {
        "doorkey-5x5": grid("DoorKey-5x5-v0", 1_000_000, 40),
        "doorkey-5x5-noisy": grid("DoorKey-5x5-v0+cells", 1_000_000, 40),
        "multiroom-n6": grid("MultiRoom-N6-v0", 2_000_000, 80),
        "multiroom-n6-noisy": grid("MultiRoom-N6-v0+cells", 2_000_000, 80),
        "crafter": {"env": "crafter", "reward": "intrinsic", "env_steps": 1_000_000},
        "craftax-classic": {"env": "craftax/classic-symbolic", "reward": "intrinsic", "env_steps": 1_000_000},
    }
)
MEASURED = tuple(f"scm-{name}" for name in SCM)
FIRST = ("byol-hindsight", "byol-explore", "rnd", "random-policy", "lpm")
SECOND = ("icm+hindsight",)
OTHERS = ("icm", "ama", "critic", "lbs", "disagreement", "progress")
GRIDS = ("doorkey-5x5*", "multiroom-n6*")
# Seeds, so that all of it takes twelve hours of two cores (docs/arena.md); the first pattern that fits counts.
SEEDS = {"maze-*/byol-*": 5}
SEEDS |= {f"{world}/{method}": 1 for world in ("craft*", *GRIDS) for method in OTHERS}
SEEDS |= {f"{world}/random-policy": 1 for world in GRIDS}  # it hardly ever reaches the goal
SEEDS |= {"*": 3}

ARENA = Study(
    about="every noise-robust curiosity and its rivals: the maze, known noise, MiniGrid clean and noisy, Crafter",
    family="maze",
    settings=WORLDS,
    methods=(FIRST, SECOND, OTHERS),
    seeds=(0, 1, 2, 3, 4),
    fewer_seeds=SEEDS,
    measured=MEASURED,
    left_out={f"{name}/random-policy": "a policy that pays nothing cannot be measured" for name in MEASURED},
)
