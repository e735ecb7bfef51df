"""Craftax (Matthews et al., 2024): Crafter in JAX (Classic), and a larger game based on it."""

import contextlib
import io
import os
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, UInt8

from curiax.envs.achievements import ACHIEVEMENT, SCORES, TEXT, score
from curiax.envs.base import Environment
from curiax.envs.foreign import Answer, Foreign, adapt, their_rules
from curiax.errors import UserError, not_installed, unknown_name
from curiax.types import Profile


class Game(NamedTuple):
    id: str  # Craftax's own
    package: str  # where its constants are
    pixels: bool
    time_limit: int


GAMES = {
    "classic-symbolic": Game("Craftax-Classic-Symbolic-v1", "craftax_classic", False, 10_000),
    "classic-pixels": Game("Craftax-Classic-Pixels-v1", "craftax_classic", True, 10_000),
    "symbolic": Game("Craftax-Symbolic-v1", "craftax", False, 100_000),
    "pixels": Game("Craftax-Pixels-v1", "craftax", True, 100_000),
}
NEVER = 2**30  # steps


def profile_of(name: str) -> Profile:
    return Profile("Crafter" if name.startswith("classic") else "Craftax", text=TEXT, scores=SCORES)


def check_name(name: str) -> None:
    if name not in GAMES:
        raise UserError(unknown_name("environment", f"craftax/{name}", [f"craftax/{known}" for known in GAMES]))
    constants(GAMES[name])


def constants(game: Game) -> ModuleType:
    """The module that holds the game's enumerations."""
    try:
        with their_rules():
            return import_module(f"craftax.{game.package}.constants")
    except ImportError:
        raise not_installed("Craftax", "craftax") from None


@cache
def make(name: str) -> Environment:
    """The environment; each episode begins in a new world."""
    check_name(name)
    game = GAMES[name]
    return adapt(foreign(name, game, load(game)))


def load(game: Game) -> Any:
    """Craftax's own environment, without automatic resets and without the messages that it prints."""
    from craftax.craftax_env import make_craftax_env_from_name

    if game.pixels:
        keep_textures(constants(game))
    with contextlib.redirect_stdout(io.StringIO()), their_rules():
        return make_craftax_env_from_name(game.id, auto_reset=False)


def keep_textures(module: ModuleType) -> None:
    """Moves Craftax's texture cache to the user's cache directory if Craftax is installed read-only."""
    path = Path(module.TEXTURE_CACHE_FILE)
    if path.exists() or os.access(path.parent, os.W_OK):
        return
    cache_directory = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "curiax" / "craftax"
    cache_directory.mkdir(parents=True, exist_ok=True)
    module.TEXTURE_CACHE_FILE = str(cache_directory / path.name)  # pyright: ignore[reportAttributeAccessIssue]


def foreign(name: str, game: Game, env: Any) -> Foreign:
    # Craftax terminates at its time limit; the stream truncates instead.
    params = env.default_params.replace(max_timesteps=NEVER)
    unlocked = {f"{ACHIEVEMENT}{one.name.lower()}": one.value for one in constants(game).Achievement}

    def reset(key: Array) -> tuple[Array, Any]:
        obs, state = env.reset_env(key, params)
        return observation(obs), state

    def step(key: Array, state: Any, action: Array) -> Answer:
        obs, state, reward, terminated, _ = env.step_env(key, state, action, params)
        return Answer(
            observation(obs), state, reward, terminated, jnp.array(False), achievements(unlocked, state.achievements)
        )

    def observation(obs: Array) -> Array:
        return to_bytes(obs) if game.pixels else obs

    return Foreign(
        name=f"craftax/{name}",
        num_actions=env.num_actions,
        time_limit=game.time_limit,
        reset=reset,
        step=step,
        observation_scale=255.0 if game.pixels else 1.0,
        dear_reset=True,
        derive=score,
        tallied=tuple(unlocked),
    )


def to_bytes(picture: Float[Array, "h w 3"]) -> UInt8[Array, "h w 3"]:
    """The image as bytes, as in Crafter: a quarter of the memory."""
    return jnp.clip(jnp.round(picture * 255), 0, 255).astype(jnp.uint8)


def achievements(unlocked: dict[str, int], found: Array) -> dict[str, Array]:
    """The number of achievements unlocked so far in the episode, and a flag for each."""
    each = {name: found[index].astype(jnp.float32) for name, index in unlocked.items()}
    return {"achievements": jnp.sum(jnp.stack(list(each.values())))} | each
