"""The table of environments."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from curiax.config import Config
from curiax.envs import atari, craftax, gymnax, maze, scm
from curiax.envs.base import Environment, HostEnvironment
from curiax.errors import UserError, unknown_name
from curiax.types import EnvSpec, Profile, Score

ENVS = {f"maze/{name}": setting.about for name, setting in maze.SETTINGS.items()}
ENVS |= {f"scm/{name}": about for name, about in scm.ABOUT.items()}
ENVS |= {f"atari/{name}": about for name, about in atari.ABOUT.items()}
ENVS |= {"atari/GAME": "any of EnvPool's games by its ALE name"}
ENVS |= {f"craftax/{name}": about for name, about in craftax.ABOUT.items()}
ENVS |= {f"gymnax/{name}": about for name, about in gymnax.ABOUT.items()}  # and all others of gymnax, by name
ENVS |= {"gym/ID": "any Gymnasium environment by its id, such as gym/CartPole-v1"}

FOREIGN = {"craftax": craftax, "gymnax": gymnax}  # third-party JAX environments


def make(name: str) -> Environment:
    """The environment of that name."""
    family, _, rest = name.partition("/")
    if family in HOSTS:
        raise UserError(f"{name}: is stepped on the host, not compiled; use envs.make_host")
    if family in FOREIGN:
        return FOREIGN[family].make(rest)
    if name not in ENVS:
        raise UserError(unknown_name("environment", name, ENVS))
    if name.startswith("scm/"):
        return scm.make(name.removeprefix("scm/"))
    return maze.make(name.removeprefix("maze/"), coin_reward=1.0)  # only matters with mixed rewards


class Host(NamedTuple):
    """A family of environments that are stepped on the host."""

    make: Callable[[Config, int, int], HostEnvironment]  # config, batch size, seed
    spec: Callable[[Config], EnvSpec]


def make_atari(config: Config, batch_size: int, seed: int) -> HostEnvironment:
    return atari.make(config.env.removeprefix("atari/"), batch_size, config.atari, seed)


def spec_of_atari(config: Config) -> EnvSpec:
    return atari.spec_of(config.env.removeprefix("atari/"), config.atari)


def make_gym(config: Config, batch_size: int, seed: int) -> HostEnvironment:
    return load_gym().make(config.env.removeprefix("gym/"), batch_size, config.gym, seed)


def spec_of_gym(config: Config) -> EnvSpec:
    return load_gym().spec_of(config.env.removeprefix("gym/"), config.gym)


def load_gym() -> ModuleType:
    """The Gymnasium adapter. Raises a UserError if Gymnasium is not installed."""
    try:
        from curiax.envs import gymnasium as host
    except ImportError as error:
        raise UserError(f"gym/… needs Gymnasium: pip install 'curiax[gym]' ({error})") from error
    return host


HOSTS = {"atari": Host(make_atari, spec_of_atari), "gym": Host(make_gym, spec_of_gym)}


def on_host(name: str) -> bool:
    return name.partition("/")[0] in HOSTS


def make_host(config: Config, batch_size: int, seed: int) -> HostEnvironment:
    return HOSTS[config.env.partition("/")[0]].make(config, batch_size, seed)


def spec_of(config: Config) -> EnvSpec:
    """The spec of the config's environment, compiled or on the host."""
    if on_host(config.env):
        return HOSTS[config.env.partition("/")[0]].spec(config)
    return make(config.env).spec


PLAYERS = {"maze": "curiax.envs.maze.play"}  # families that a person can play in a terminal
PROFILES = {
    "maze": maze.profile_of,
    "scm": scm.profile_of,
    "atari": atari.profile_of,
    "craftax": craftax.profile_of,
}


def profile_of(name: str) -> Profile:
    """What the environment of that name says of itself."""
    family, _, rest = name.partition("/")
    return PROFILES[family](rest) if family in PROFILES else Profile(rest or name)


def scores_of(name: str) -> tuple[Score, ...]:
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
    if name.startswith("atari/"):
        atari.load(name.removeprefix("atari/"))
    elif name.startswith("gym/"):
        load_gym().find(name.removeprefix("gym/"))
    elif name.partition("/")[0] in FOREIGN:
        FOREIGN[name.partition("/")[0]].check_name(name.partition("/")[2])
    elif name not in ENVS:
        raise UserError(unknown_name("environment", name, ENVS))
