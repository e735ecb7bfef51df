"""The table of environments."""

from curiax.envs import maze, scm
from curiax.envs.base import Environment
from curiax.errors import UserError
from curiax.suggest import unknown_name

ENVS = {f"maze/{name}": setting.about for name, setting in maze.SETTINGS.items()}
ENVS |= {f"scm/{name}": about for name, about in scm.ABOUT.items()}


def make(name: str, coin_reward: float = 0.0) -> Environment:
    """The environment of that name."""
    if name not in ENVS:
        raise UserError(unknown_name("environment", name, ENVS))
    if name.startswith("scm/"):
        return scm.make(name.removeprefix("scm/"))
    return maze.make(name.removeprefix("maze/"), coin_reward)
