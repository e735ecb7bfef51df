"""The training loop as a generator: `for row in train(config)`."""

from curiax.training.train import Row, train

__all__ = ["Row", "train"]
