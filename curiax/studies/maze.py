"""The paper's maze figure, and two runs of it for those in a hurry."""

from curiax.studies.base import Study

DEMO_STEPS = 2_500_000  # environment steps of each of the demo's two runs

MAZE = Study(
    about="the paper's maze figure: four kinds of noise, four methods, three seeds",
    family="maze",
    settings=("on-demand", "brownian", "random", "baseline"),
    methods=(("byol-hindsight", "byol-explore"), ("rnd", "icm")),
    seeds=(0, 1, 2),
)

DEMO = Study(
    about="BYOL-Hindsight beside BYOL-Explore where noise comes on demand, one seed: minutes",
    family="maze",
    settings=("on-demand",),
    methods=(("byol-hindsight", "byol-explore"),),
    seeds=(0,),
    fields={"env_steps": DEMO_STEPS},
)
