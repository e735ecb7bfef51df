"""One value function of the mixed reward against one of each of its streams, in a game and in a grid world."""

from curiax.studies.atari import STICKY, game
from curiax.studies.base import Study

SEPARATE = {"curiosity": "byol-hindsight", "value": "separate"}
VARIANTS = {
    "single": {"curiosity": "byol-hindsight"},
    "separate": SEPARATE,
    "separate-non-episodic": SEPARATE | {"vmpo.intrinsic_episodic": False},
}

DOORKEY = Study(
    about="MiniGrid's DoorKey-8x8: one value function, one of each stream of reward, intrinsic returns without an end",
    family="gym",
    settings={"doorkey-8x8": {"env": "gym/MiniGrid-DoorKey-8x8-v0", "reward": "mixed"}},
    methods=(tuple(VARIANTS),),
    seeds=(0, 1, 2),
    variants=VARIANTS,
)

# Q*bert: of the games in the paper's figures the one in which points come at once, so there are returns to compare.
QBERT = DOORKEY._replace(
    about="the same in Q*bert, sticky actions",
    family="atari",
    settings={"qbert": game("qbert", sticky=STICKY) | {"reward": "mixed"}},
)

VALUES = {"values": DOORKEY, "values-atari": QBERT}
