"""Curiosity for any training loop: arrays in, rewards out. See docs/dropin.md."""

from curiax.dropin.curiosity import Curiosity
from curiax.dropin.settings import READ

__all__ = ["READ", "Curiosity"]
