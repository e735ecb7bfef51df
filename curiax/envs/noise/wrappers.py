"""Noise for Gymnasium environments. Needs the extra `gym`."""

from typing import Any

import numpy as np

from curiax.envs.noise.disturb import Disturbance, Draw, View, make
from curiax.envs.noise.equations import coins, generator_of
from curiax.errors import UserError, not_installed

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise not_installed("Gymnasium", "gym") from error


def add_noise(env: gymnasium.Env, name: str, **options: Any) -> "Noisy":
    """`env` with noise of that name; options are in docs/noise.md. Can be applied repeatedly."""
    return Noisy(env, name, **options)


class Noisy(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """An environment with noise; `info["noise"]` says whether the observation shows noise.

    In Dict observations only the image is changed. The seed of `reset` determines the noise.
    """

    def __init__(self, env: gymnasium.Env, name: str, **options: Any):
        gymnasium.utils.RecordConstructorArgs.__init__(self, name=name, **options)
        super().__init__(env)
        whole: Any = env.observation_space
        actions: Any = env.action_space
        self._key = picture_of(whole) if name != "sticky" else None
        self._start = getattr(actions, "start", 0)
        space = whole if self._key is None else whole[self._key]
        self._disturbance = make(np, name, view_of(name, space, actions), options)
        self._depth = depth(env)
        self._generator: np.random.Generator | None = None
        self._memory: Any = None
        if self._disturbance.num_added:
            self.action_space = spaces.Discrete(actions.n + self._disturbance.num_added, start=self._start)
        if self._disturbance.layer is not None:
            self.observation_space = with_layer(whole, self._key, space, self._disturbance)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        if seed is not None or self._generator is None:
            self._generator = generator_of(np.random.SeedSequence(seed, spawn_key=(self._depth,)))
        self._memory = self._disturbance.start()
        picture = self._disturbance.first(self._picture(obs))
        return self._with_picture(obs, picture), info | {"noise": bool(info.get("noise", False))}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._generator is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        draw = draw_of(self._disturbance, self._generator)
        action = np.asarray(action) - self._start
        taken = self._disturbance.act(self._memory, action, draw)
        obs, reward, terminated, truncated, info = self.env.step((taken + self._start)[()])
        self._memory, picture, noisy = self._disturbance.see(self._memory, self._picture(obs), action, taken, draw)
        info = info | {"noise": bool(noisy) or bool(info.get("noise", False))}
        return self._with_picture(obs, picture), reward, terminated, truncated, info

    def _picture(self, obs: Any) -> Any:
        return obs if self._key is None else obs[self._key]

    def _with_picture(self, obs: Any, picture: Any) -> Any:
        return picture if self._key is None else {**obs, self._key: picture}


def picture_of(space: spaces.Space) -> str | None:
    """The key of the image in a Dict space; None for other spaces."""
    if not isinstance(space, spaces.Dict):
        return None
    pictures = [key for key, part in space.items() if isinstance(part, spaces.Box) and len(part.shape) in (2, 3)]
    if len(pictures) != 1:
        raise UserError(f"noise: got a Dict with {len(pictures)} images ({', '.join(space)}), expected one")
    return pictures[0]


def view_of(name: str, space: spaces.Space, actions: spaces.Space) -> View:
    """What noise needs to know about the spaces. For `sticky`, observations may be anything."""
    if not isinstance(space, spaces.Box) and name != "sticky":
        raise UserError(f"noise {name}: got observations {space}, expected a Box, or a Dict with one image")
    known = isinstance(actions, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary | spaces.Box)
    if not known or actions.shape is None:
        raise UserError(f"noise {name}: got actions {actions}, expected Discrete, MultiDiscrete, MultiBinary or Box")
    return View(
        shape=space.shape or (),
        dtype=np.dtype(space.dtype).name,
        lit=lit_of(space) if isinstance(space, spaces.Box) else 1.0,
        num_actions=int(actions.n) if isinstance(actions, spaces.Discrete) else None,
        action_shape=actions.shape,
        action_dtype=np.dtype(actions.dtype).name,
    )


def lit_of(space: spaces.Box) -> float:
    """The largest upper bound; 1 if there is none, which some spaces write as 3e38."""
    high = float(np.max(space.high))
    return high if abs(high) < 1e6 else 1.0


def with_layer(whole: Any, key: str | None, space: spaces.Box, disturbance: Disturbance) -> spaces.Space:
    """The observation space with the layer appended."""
    low, high = disturbance.first(space.low), disturbance.first(space.high)
    layer = disturbance.layer or ()
    high[..., -layer[0] if len(layer) == 1 else -1 :] = lit_of(space)
    new = spaces.Box(low, high, dtype=space.dtype.type)  # pyright: ignore[reportArgumentType, reportOptionalMemberAccess]
    return new if key is None else spaces.Dict({**whole.spaces, key: new})


def draw_of(disturbance: Disturbance, generator: np.random.Generator) -> Draw:
    thrown = coins(generator, disturbance.coins).astype(bool)
    happens = np.asarray(generator.random() < disturbance.probability)
    return Draw(thrown, happens, generator.random(disturbance.uniform, np.float32))


def depth(env: Any) -> int:
    """Number of noise wrappers inside: each needs random bits of its own."""
    count = 0
    while isinstance(env, gymnasium.Wrapper):
        count += isinstance(env, Noisy)
        env = env.env
    return count
