"""The table of environments."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from curiax.config import Config
from curiax.envs import atari, craftax, gymnax, maze, scm
from curiax.envs.base import Environment, HostEnvironment
from curiax.errors import UserError, unknown_name
from curiax.types import RETURN, EnvSpec, Score

ENVS = {f"maze/{name}": setting.about for name, setting in maze.SETTINGS.items()}
ENVS |= {f"scm/{name}": about for name, about in scm.ABOUT.items()}
ENVS |= {f"atari/{name}": about for name, about in atari.ABOUT.items()}
ENVS |= {"atari/GAME": "any of EnvPool's games by its ALE name"}
ENVS |= {f"craftax/{name}": about for name, about in craftax.ABOUT.items()}
ENVS |= {f"gymnax/{name}": about for name, about in gymnax.ABOUT.items()}  # and every other of gymnax
ENVS |= {"gym/ID": "any Gymnasium environment by its id, such as gym/CartPole-v1"}

FOREIGN = {"craftax": craftax, "gymnax": gymnax}  # JAX environments of others


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
    return maze.make(name.removeprefix("maze/"), coin_reward=1.0)  # counts in the mixed regime alone


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
    """The adapter, if Gymnasium is there."""
    try:
        from curiax.envs import gymnasium as host
    except ImportError as error:
        raise UserError(f"gym/… needs Gymnasium, which is not here: pip install 'curiax[gym]' ({error})") from error
    return host


HOSTS = {"atari": Host(make_atari, spec_of_atari), "gym": Host(make_gym, spec_of_gym)}


def on_host(name: str) -> bool:
    return name.partition("/")[0] in HOSTS


def make_host(config: Config, batch_size: int, seed: int) -> HostEnvironment:
    return HOSTS[config.env.partition("/")[0]].make(config, batch_size, seed)


def spec_of(config: Config) -> EnvSpec:
    """What the config's environment is like, wherever it is stepped."""
    if on_host(config.env):
        return HOSTS[config.env.partition("/")[0]].spec(config)
    return make(config.env).spec


def scores_of(name: str) -> tuple[Score, ...]:
    """The scores of an environment, by its name alone: nothing is made, and nothing of others is imported."""
    family, _, rest = name.partition("/")
    if family == "atari":
        return atari.scores_of(rest)
    return {"maze": maze.SCORES, "craftax": craftax.SCORES}.get(family, (RETURN,))


def check_name(name: str) -> None:
    """Says which names there are, unless this is one. EnvPool knows all of ALE's games, and Gymnasium its own."""
    if name.startswith("atari/"):
        atari.load(name.removeprefix("atari/"))
    elif name.startswith("gym/"):
        load_gym().find(name.removeprefix("gym/"))
    elif name.partition("/")[0] in FOREIGN:
        FOREIGN[name.partition("/")[0]].check_name(name.partition("/")[2])
    elif name not in ENVS:
        raise UserError(unknown_name("environment", name, ENVS))
