"""What an Atari game says of itself in a report."""

import math

from curiax.envs.atari.games import FRAME_SKIP
from curiax.envs.atari.human import HUMAN
from curiax.envs.atari.rooms import ROOMS
from curiax.types import RETURN, RETURN_TEXT, Profile, Score

ROOM_SCORES = (
    Score("rooms_found", "rooms found in the run so far", "rooms", bounds=(0.0, math.inf), accumulates=True),
    Score("rooms", "rooms of an episode", "rooms per episode", bounds=(0.0, math.inf)),
)
TEXT = (
    "Sticky actions are noise, too: now and then the emulator repeats the last action instead of the one it is given. "
    "Under persistive noise, noise dwell counts the steps with the loud noise. "
)
TITLES = {  # where the name in ALE, in capitals, is not how people write it
    "et": "E.T.",
    "hero": "H.E.R.O.",
    "jamesbond": "James Bond",
    "kung_fu_master": "Kung-Fu Master",
    "mario_bros": "Mario Bros.",
    "montezuma_revenge": "Montezuma's Revenge",
    "mr_do": "Mr. Do!",
    "ms_pacman": "Ms. Pac-Man",
    "pacman": "Pac-Man",
    "qbert": "Q*bert",
    "riverraid": "River Raid",
    "tic_tac_toe_3d": "3-D Tic-Tac-Toe",
    "up_n_down": "Up 'n Down",
    "wizard_of_wor": "Wizard of Wor",
    "yars_revenge": "Yars' Revenge",
}


def profile_of(game: str) -> Profile:
    """Rooms are scores of the games whose memory tells them."""
    return Profile(
        title=TITLES.get(game, game.replace("_", " ").title()),
        text=TEXT + RETURN_TEXT,
        scores=(RETURN, *ROOM_SCORES) if game in ROOMS else (RETURN,),
        frames=FRAME_SKIP,
        human=HUMAN.get(game),
        map=ROOMS.get(game),
    )
