"""The table of environments. A family is imported when one of its environments is made: names alone need no JAX."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from curiax.config import Config
from curiax.envs.own import OWN, made, register
from curiax.envs.table import ENVS
from curiax.errors import UserError, not_installed, unknown_name

if TYPE_CHECKING:
    from curiax.envs.base import Environment, HostEnvironment
    from curiax.types import EnvSpec, Profile, Score

__all__ = ["ENVS", "HOSTS", "Host", "check_name", "make", "make_host", "on_host", "play", "profile_of", "register"]
__all__ += ["scores_of", "setting_of", "spec_of"]

FOREIGN = ("craftax", "gymnax")  # third-party JAX environments
DESCRIBED = ("maze", "scm", "atari", "craftax", "crafter")  # families that say more of themselves than a name
GRID = ("MiniGrid-", "BabyAI-")  # 1 − 0.9 steps/limit at the goal, else 0
PUNISHING = "MiniGrid-Dynamic-Obstacles-"  # −1 for a collision
PLAYERS = {"maze": "curiax.envs.maze.play"}  # families that a person can play in a terminal


def family_of(name: str) -> ModuleType:
    return import_module(f"curiax.envs.{name.partition('/')[0]}")


def make(name: str) -> "Environment":
    """The environment of that name."""
    family, _, rest = name.partition("/")
    if family in HOSTS:
        raise UserError(f"{name}: is stepped on the host, not compiled; use envs.make_host")
    if name in OWN:
        return made(name)
    if family in FOREIGN:
        return family_of(name).make(rest)
    check_name(name)
    options = {"coin_reward": 1.0} if family == "maze" else {}  # only matters with mixed rewards
    return family_of(name).make(rest, **options)


class Host(NamedTuple):
    """A family of environments that are stepped on the host."""

    make: Callable[[Config, int, int], "HostEnvironment"]  # config, batch size, seed
    spec: Callable[[Config], "EnvSpec"]


def make_atari(config: Config, batch_size: int, seed: int) -> "HostEnvironment":
    return family_of(config.env).make(setting_of(config.env), batch_size, config.atari, seed)


def spec_of_atari(config: Config) -> "EnvSpec":
    return family_of(config.env).spec_of(setting_of(config.env), config.atari)


def make_gym(config: Config, batch_size: int, seed: int) -> "HostEnvironment":
    return load_gym().make(setting_of(config.env), batch_size, config.gym, seed)


def spec_of_gym(config: Config) -> "EnvSpec":
    return load_gym().spec_of(setting_of(config.env), config.gym)


def load_gym() -> ModuleType:
    """The Gymnasium adapter. Raises a UserError if Gymnasium is not installed."""
    try:
        return import_module("curiax.envs.gymnasium")
    except ImportError as error:
        raise not_installed("Gymnasium", "gym") from error


def make_crafter(config: Config, batch_size: int, seed: int) -> "HostEnvironment":
    return family_of(config.env).make(batch_size, seed)


def spec_of_crafter(config: Config) -> "EnvSpec":
    return family_of(config.env).spec_of()


HOSTS = {
    "atari": Host(make_atari, spec_of_atari),
    "gym": Host(make_gym, spec_of_gym),
    "crafter": Host(make_crafter, spec_of_crafter),
}


def on_host(name: str) -> bool:
    return name.partition("/")[0] in HOSTS


def make_host(config: Config, batch_size: int, seed: int) -> "HostEnvironment":
    return HOSTS[config.env.partition("/")[0]].make(config, batch_size, seed)


def spec_of(config: Config) -> "EnvSpec":
    """The spec of the config's environment, compiled or on the host."""
    if on_host(config.env):
        return HOSTS[config.env.partition("/")[0]].spec(config)
    return make(config.env).spec


def profile_of(name: str) -> "Profile":
    """What the environment of that name says of itself."""
    from curiax.types import RETURN, RETURN_TEXT, Profile

    family, _, rest = name.partition("/")
    if name in OWN:
        return OWN[name].profile or Profile(name)
    if family in DESCRIBED:
        return family_of(name).profile_of(rest)
    plain = (rest or name).rpartition(":")[2]  # without a module of the user's
    text = (f"{plain} is a Gymnasium environment. " if family == "gym" else "") + RETURN_TEXT
    bounded = family == "gym" and plain.startswith(GRID) and not plain.startswith(PUNISHING)
    return Profile(plain, text=text, scores=(RETURN._replace(bounds=(0.0, 1.0), digits=2) if bounded else RETURN,))


def scores_of(name: str) -> "tuple[Score, ...]":
    return profile_of(name).scores


def setting_of(name: str) -> str:
    """`on-demand` of `maze/on-demand`: the name within its family."""
    return name.partition("/")[2] or name


def play(name: str, seed: int) -> None:
    """Lets the user play an environment in the terminal."""
    family, _, rest = name.partition("/")
    playable = [known for known in ENVS if known.partition("/")[0] in PLAYERS]
    if name not in playable:
        raise UserError(unknown_name("environment", name, playable))
    import_module(PLAYERS[family]).play(rest, seed)


def check_name(name: str) -> None:
    """Raises a UserError with the nearest names if there is no such environment."""
    family, _, rest = name.partition("/")
    if family == "atari":
        family_of(name).load(rest)
    elif family == "gym":
        load_gym().find(rest)
    elif family in FOREIGN:
        family_of(name).check_name(rest)
    elif name == "crafter":
        family_of(name).load()
    elif name not in ENVS:
        listed = [*ENVS, "or what a module of yours registers, with --import MODULE"]
        raise UserError(unknown_name("environment", name, ENVS, listed))
