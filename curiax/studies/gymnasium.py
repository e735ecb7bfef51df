"""Studies in Gymnasium environments, with their own rewards."""

from curiax.studies.base import Study

DOORKEY = Study(
    about="MiniGrid's DoorKey-8x8, a key, a door and then a reward: mixed rewards, three seeds",
    family="gym",
    settings={"doorkey-8x8": {"env": "gym/MiniGrid-DoorKey-8x8-v0"}},
    methods=(("byol-hindsight", "rnd"),),
    seeds=(0, 1, 2),
)
