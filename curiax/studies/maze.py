"""The paper's maze figure, and two runs of it for those in a hurry."""

from curiax.studies.base import Study

MAZE = Study(
    about="the paper's maze figure: four kinds of noise, four methods, five seeds of BYOL and three of the others",
    family="maze",
    settings=("on-demand", "brownian", "random", "baseline"),
    methods=(("byol-hindsight", "byol-explore"), ("rnd", "icm")),
    seeds=(0, 1, 2, 3, 4),
    fewer_seeds={"*/rnd": 3, "*/icm": 3},
)

DEMO = Study(
    about="BYOL-Hindsight beside BYOL-Explore where noise comes on demand, one seed: minutes",
    family="maze",
    settings=("on-demand",),
    methods=(("byol-hindsight", "byol-explore"),),
    seeds=(0,),
)
