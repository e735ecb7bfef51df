"""Curiosity for the learners of Stable-Baselines3 and sb3-contrib: see docs/sb3.md. Needs the extra `gym`."""

from curiax.errors import not_installed

try:
    from curiax.sb3.callback import CuriosityCallback
except ModuleNotFoundError as error:
    raise not_installed("Stable-Baselines3", "gym") from error

__all__ = ["CuriosityCallback"]
