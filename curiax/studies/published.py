"""Scores that others have published in worlds of the arena: other agents, other programs. They are quoted, not run."""

from typing import NamedTuple


class Published(NamedTuple):
    """A method as others ran it."""

    name: str
    source: str
    scores: dict[str, float]  # by world
    spread: float | None = None  # ± of each score, as published


LPM = (
    "a reproduction of LPM (Hou et al., 2026, arXiv:2509.25438) on MiniGrid: PPO with an MLP, return of the "
    "deterministic policy"
)
CRAFTER = "Crafter's public scoreboard of agents without reward (Hafner, 2021), one million steps, percent"


def on_minigrid(doorkey: float, doorkey_noisy: float, multiroom: float, multiroom_noisy: float) -> dict[str, float]:
    return {
        "doorkey-5x5": doorkey,
        "doorkey-5x5-noisy": doorkey_noisy,
        "multiroom-n6": multiroom,
        "multiroom-n6-noisy": multiroom_noisy,
    }


PUBLISHED = (
    Published("PPO alone", LPM, on_minigrid(0.94, 0.96, 0.0, 0.0)),
    Published("PPO with RND", LPM, on_minigrid(0.87, 0.52, 0.32, 0.0)),
    Published("PPO with LPM", LPM, on_minigrid(0.67, 0.96, 0.0, 0.0)),
    Published("Plan2Explore", CRAFTER, {"crafter": 2.1}, spread=0.1),
    Published("RND", CRAFTER, {"crafter": 2.0}, spread=0.1),
    Published("Random policy", CRAFTER, {"crafter": 1.6}),
)


def published_in(settings: list[str]) -> list[Published]:
    """The rows that have a score in some of these settings."""
    return [row for row in PUBLISHED if set(row.scores) & set(settings)]
