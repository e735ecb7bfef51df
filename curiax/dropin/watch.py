"""Warnings about a course of training that is probably not what the user wants, each given once."""

import warnings

from curiax.errors import CuriosityWarning

UNPAID = 100  # updates in a row without any reward
CHECK_EVERY = 500  # updates between looks at what z holds
SETTLED = 2_000  # updates; before these z may still learn
NOTHING = 0.9  # z holds nothing if this share of the prediction error is left
UNPREDICTED = 0.1  # of the targets' variance: with less there is nothing to hold


class Watch:
    """Counts what is suspicious."""

    __slots__ = ("empty", "said", "unpaid")

    def __init__(self) -> None:
        self.unpaid = 0  # updates in a row
        self.empty = 0  # looks in a row
        self.said: set[str] = set()

    def rewards(self, mean: float) -> None:
        """The mean reward of the newest transitions; rewards are not negative where they are prioritised."""
        self.unpaid = self.unpaid + 1 if mean == 0 else 0
        if self.unpaid >= UNPAID:
            self.say(
                f"rewards: all were zero for {UNPAID} updates: no error is above the running mean; "
                "prioritise=False pays for all errors"
            )

    def hindsight(self, predicted: float, reconstructed: float, spread: float) -> None:
        """Mean errors without and with hindsight, and of a constant prediction."""
        nothing = predicted > UNPREDICTED * spread and reconstructed > NOTHING * predicted
        self.empty = self.empty + 1 if nothing else 0
        if self.empty >= 2:
            self.say(
                f"hindsight: z holds nothing: with it the error is {reconstructed:.2g}, without it {predicted:.2g}; "
                "a larger world.reconstruction_weight or world.latent may help"
            )

    def say(self, line: str) -> None:
        name = line.partition(":")[0]
        if name not in self.said:
            self.said.add(name)
            warnings.warn(line, CuriosityWarning, stacklevel=6)
