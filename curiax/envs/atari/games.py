"""Games of the Arcade Learning Environment (ALE) through EnvPool, with the paper's settings.

84×84 grey, one frame, action repeat 4 with the maximum over the last two frames, random no-ops at the start, no reward
clipping, no end of an episode when a life is lost.
"""

from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, UInt8

from curiax.config import AtariOptions
from curiax.envs.atari.rooms import ROOMS, Rooms
from curiax.envs.base import HostEnvironment, HostStep
from curiax.envs.noise import equations as noise
from curiax.envs.table import ATARI
from curiax.errors import UserError, not_installed, unknown_name
from curiax.types import EnvSpec

FRAME = (84, 84)
FRAME_SKIP = 4
NUM_ACTIONS = 18  # of ALE
NOOPS = 30  # largest number of no-ops at the start of an episode
FRAME_LIMIT = 108_000  # frames after which an episode is truncated
# Minimal action sets, as ALE indices. Games that are not listed use all 18 actions.
MINIMAL = {
    "backgammon": "1 3 4",
    "freeway": "0 2 5",
    "skiing": "0 3 4",
    "atlantis atlantis2": "0 1 11 12",
    "blackjack casino": "0 1 2 5",
    "breakout kaboom": "0 1 3 4",
    "frogger pacman surround": "0 2 3 4 5",
    "tetris": "0 1 3 4 5",
    "video_checkers": "1 6 7 8 9",
    "air_raid carnival demon_attack galaxian name_this_game pong sir_lancelot space_invaders": "0 1 3 4 11 12",
    "basic_math king_kong qbert": "0 1 2 3 4 5",
    "bowling pooyan up_n_down": "0 1 2 5 10 13",
    "assault": "0 1 2 3 4 11 12",
    "gopher": "0 1 2 3 4 10 11 12",
    "phoenix": "0 1 3 4 5 11 12 13",
    "tutankham": "0 2 3 4 5 10 11 12",
    "asterix crazy_climber koolaid lost_luggage ms_pacman": "0 2 3 4 5 6 7 8 9",
    "beam_rider": "0 1 2 3 4 6 7 11 12",
    "enduro": "0 1 3 4 5 8 9 11 12",
    "video_pinball": "0 1 2 3 4 5 10 11 12",
    "amidar mr_do time_pilot wizard_of_wor": "0 1 2 3 4 5 10 11 12 13",
    "othello tic_tac_toe_3d video_chess": "0 1 2 3 4 5 6 7 8 9",
    "turmoil": "0 1 2 3 4 5 6 7 8 9 11 12",
    "asteroids": "0 1 2 3 4 5 6 7 10 11 12 13 14 15",
    "keystone_kapers": "0 1 2 3 4 5 6 7 8 9 10 11 12 13",
    "kung_fu_master": "0 2 3 4 5 8 9 11 12 13 14 15 16 17",
    "journey_escape": "0 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17",
}


def make(
    game: str,
    batch_size: int,
    options: AtariOptions,
    seed: int,
    noops: int = NOOPS,
    frame_limit: int = FRAME_LIMIT,
) -> HostEnvironment:
    """B emulators of one game, each with a seed of its own."""
    pool = make_pool(game, batch_size, options, seed, noops, frame_limit)
    streams = Streams(
        pool, ROOMS.get(game), noise.make(options.noise, batch_size, FRAME, seed), actions_of(game, options)
    )
    return HostEnvironment(spec_of(game, options, frame_limit), streams.reset, streams.step, pool.close)


def spec_of(game: str, options: AtariOptions, frame_limit: int = FRAME_LIMIT) -> EnvSpec:
    """The spec of a game, without starting an emulator."""
    rooms = ROOMS.get(game)
    return EnvSpec(
        name=f"atari/{game}",
        observation_shape=FRAME,
        num_actions=len(actions_of(game, options)),
        time_limit=frame_limit // FRAME_SKIP,
        map_shape=rooms.map_shape if rooms else (0, 0),
        observation_scale=255.0,
    )


def actions_of(game: str, options: AtariOptions) -> Int[np.ndarray, " A"]:
    """ALE indices of the agent's actions."""
    for games, actions in MINIMAL.items():
        if game in games.split() and not options.full_actions:
            return np.array(actions.split(), np.int32)
    return np.arange(NUM_ACTIONS, dtype=np.int32)


def make_pool(game: str, batch_size: int, options: AtariOptions, seed: int, noops: int, frame_limit: int) -> Any:
    """An EnvPool of B emulators. It resets as a stream does: at the step after an episode's end, ignoring the action.

    It gets the full action set, in which an action's number is its ALE index.
    """
    envpool = load(game)
    return envpool.make(
        "".join(word.capitalize() for word in game.split("_")) + "-v5",
        env_type="gymnasium",
        num_envs=batch_size,
        env_seed=emulator_seeds(seed, batch_size),
        stack_num=1,
        frame_skip=FRAME_SKIP,
        img_height=FRAME[0],
        img_width=FRAME[1],
        use_inter_area_resize=True,
        gray_scale=True,
        noop_max=max(noops, 1),  # EnvPool plays at least one
        max_episode_steps=frame_limit // FRAME_SKIP,
        repeat_action_probability=options.sticky,
        full_action_space=True,
        use_fire_reset=False,
        reward_clip=False,
        episodic_life=False,
    )


def emulator_seeds(seed: int, batch_size: int) -> list[int]:
    """Hashed seeds: with EnvPool's own, seed + i, runs with neighbouring seeds would share emulators."""
    return (np.random.SeedSequence(seed).generate_state(batch_size) >> 1).tolist()  # 31 bits


def load(game: str) -> ModuleType:
    """The EnvPool module. Raises a UserError if it is not installed or does not know the game."""
    try:
        import envpool
        from envpool.atari.registration import atari_game_list
    except ImportError as error:
        raise not_installed("EnvPool, which atari/… needs,", "atari") from error
    if game not in atari_game_list:
        listed = [*(f"atari/{name}" for name in ATARI), f"and {len(atari_game_list) - len(ATARI)} more games by name"]
        raise UserError(unknown_name("environment", f"atari/{game}", map("atari/{}".format, atari_game_list), listed))
    return envpool


class Streams:
    """B emulators and the statistics of their episodes."""

    def __init__(self, pool: Any, rooms: Rooms | None, frame_noise: noise.FrameNoise, actions: Int[np.ndarray, " A"]):
        self._pool, self._rooms, self._noise, self._actions = pool, rooms, frame_noise, actions
        batch_size = pool.config["num_envs"]
        self._last = np.ones(batch_size, bool)
        self._returns = np.zeros(batch_size, np.float32)
        self._seen = np.zeros((batch_size, 256), bool)  # rooms in this episode

    def reset(self) -> HostStep:
        obs, raw = self._pool.reset()
        nothing = np.zeros(len(self._last), bool)
        self._last = ~nothing
        return self._answer(obs, nothing, raw, np.zeros(len(nothing), np.int32))

    def step(self, action: Int[np.ndarray, " B"]) -> HostStep:
        played = self._actions[action]
        obs, _, terminated, truncated, raw = self._pool.step(played)
        return self._answer(obs, terminated | truncated, raw, played)

    def _answer(
        self,
        obs: UInt8[np.ndarray, "B 1 84 84"],
        last: Bool[np.ndarray, " B"],
        raw: dict[str, Any],
        played: Int[np.ndarray, " B"],
    ) -> HostStep:
        """EnvPool's answer as a step of streams. Noise is written into EnvPool's array, which is new at each step.

        For a game that ends exactly at the time limit EnvPool returns truncated; `raw["terminated"]` is right.
        """
        first, self._last = self._last, last
        obs = obs[:, 0]
        info = {"noise": self._noise.apply(obs, first, played)}
        self._returns = np.where(first, np.float32(0), self._returns + raw["reward"])
        episode = {"return": self._returns, "length": raw["elapsed_step"].astype(np.float32)}
        if self._rooms:
            more_info, more_episode = self._where(self._rooms, first, raw["ram"])
            info, episode = info | more_info, episode | more_episode
        return HostStep(obs, first, last, raw["reward"], raw["terminated"].astype(bool), info, episode)

    def _where(
        self, rooms: Rooms, first: Bool[np.ndarray, " B"], ram: UInt8[np.ndarray, "B 128"]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Info: the room and its cell on the map. Episode: number of rooms visited, and the level."""
        room = ram[:, rooms.room].astype(np.int32)
        self._seen[first] = False
        self._seen[np.arange(len(room)), room] = True
        episode = {"rooms": self._seen.sum(axis=1, dtype=np.float32)}
        if rooms.level is not None:
            episode["level"] = ram[:, rooms.level].astype(np.float32)
        return {"room": room, "cell": rooms.cells[room]}, episode
