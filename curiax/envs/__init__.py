"""The table of environments."""

from collections.abc import Callable
from typing import NamedTuple

from curiax.config import Config
from curiax.envs import atari, maze, scm
from curiax.envs.base import Environment, HostEnvironment
from curiax.errors import UserError
from curiax.suggest import unknown_name
from curiax.types import EnvSpec

ENVS = {f"maze/{name}": setting.about for name, setting in maze.SETTINGS.items()}
ENVS |= {f"scm/{name}": about for name, about in scm.ABOUT.items()}
ENVS |= {f"atari/{name}": about for name, about in atari.ABOUT.items()}  # and every other game of ALE


def make(name: str, coin_reward: float = 0.0) -> Environment:
    """The environment of that name."""
    if name not in ENVS:
        raise UserError(unknown_name("environment", name, ENVS))
    if name.startswith("scm/"):
        return scm.make(name.removeprefix("scm/"))
    return maze.make(name.removeprefix("maze/"), coin_reward)


class Host(NamedTuple):
    """A family of environments that are stepped on the host."""

    make: Callable[[Config, int, int], HostEnvironment]  # config, batch size, seed
    spec: Callable[[Config], EnvSpec]


def make_atari(config: Config, batch_size: int, seed: int) -> HostEnvironment:
    return atari.make(config.env.removeprefix("atari/"), batch_size, config.atari, seed)


def spec_of_atari(config: Config) -> EnvSpec:
    return atari.spec_of(config.env.removeprefix("atari/"), config.atari)


HOSTS = {"atari": Host(make_atari, spec_of_atari)}


def on_host(name: str) -> bool:
    return name.partition("/")[0] in HOSTS


def make_host(config: Config, batch_size: int, seed: int) -> HostEnvironment:
    return HOSTS[config.env.partition("/")[0]].make(config, batch_size, seed)


def spec_of(config: Config) -> EnvSpec:
    """What the config's environment is like, wherever it is stepped."""
    if on_host(config.env):
        return HOSTS[config.env.partition("/")[0]].spec(config)
    return make(config.env, config.coin_reward).spec


def check_name(name: str) -> None:
    """Says which names there are, unless this is one. Of ALE's games, EnvPool knows all."""
    if name.startswith("atari/"):
        atari.load(name.removeprefix("atari/"))
    elif name not in ENVS:
        raise UserError(unknown_name("environment", name, ENVS))
