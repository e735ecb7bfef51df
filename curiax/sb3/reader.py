"""What a curiosity is given of the observations and actions in SB3's buffers."""

from typing import Any

import numpy as np
from gymnasium import spaces as gym_spaces
from jaxtyping import Shaped
from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first

from curiax.dropin.arrays import to_numpy
from curiax.envs import spaces
from curiax.envs.gymnasium_observations import read, read_space


class Reader:
    """Reads observations of any space as one array, channels last, and actions as the environment takes them."""

    def __init__(self, model: Any):
        self._model, self._space = model, model.observation_space
        self._reading = read_space(channels_last(self._space))
        self.scale = self._reading.scale
        self.observation_space = spaces.Box(self._reading.shape, self._reading.dtype)
        self.action_space = model.action_space

    def obs(self, obs: Any, leading: tuple[int, ...]) -> Shaped[np.ndarray, "..."]:
        """Observations [*leading, ...]: arrays or tensors, or Dicts of them."""
        return read(self._reading, turned(self._space, obs, leading), leading)

    def actions(self, actions: Any, leading: tuple[int, ...]) -> Shaped[np.ndarray, "..."]:
        """The environment's actions [*leading, ...]. The buffers of SAC and TD3 hold them scaled to ±1."""
        actions = to_numpy(actions).reshape(leading + self.action_space.shape)
        scaled = isinstance(self.action_space, gym_spaces.Box) and self._model.policy.squash_output
        return self._model.policy.unscale_action(actions) if scaled else actions


def channels_last(space: Any) -> Any:
    """The space before SB3 transposed images to [C, H, W] for PyTorch."""
    if isinstance(space, gym_spaces.Dict):
        return gym_spaces.Dict({name: channels_last(inner) for name, inner in space.spaces.items()})
    if not channels_first(space):
        return space
    low, high = (np.moveaxis(bound, 0, -1) for bound in (space.low, space.high))
    return gym_spaces.Box(low, high, dtype=space.dtype)


def turned(space: Any, obs: Any, leading: tuple[int, ...]) -> Any:
    """Observations of the space as numpy arrays, in the shapes of `channels_last(space)`."""
    if isinstance(space, gym_spaces.Dict):
        return {name: turned(inner, obs[name], leading) for name, inner in space.spaces.items()}
    x = np.asarray(to_numpy(obs)).reshape(leading + space.shape)
    return np.moveaxis(x, len(leading), -1) if channels_first(space) else x


def channels_first(space: Any) -> bool:
    return is_image_space(space) and is_image_space_channels_first(space)
