"""The analyses of the paper's appendix B, on the maze: what changes when one thing is changed.

Every variant is BYOL-Hindsight with a few fields set; the first of each study is the preset as it is.
"""

from typing import Any

from curiax.studies.base import Study

NOISY_AND_NOT = ("on-demand", "baseline")


def hindsight(**fields: Any) -> dict[str, Any]:
    """A double underscore is a dot."""
    return {"curiosity": "byol-hindsight"} | {name.replace("__", "."): value for name, value in fields.items()}


def analysis(about: str, settings: tuple[str, ...], variants: dict[str, dict[str, Any]]) -> Study:
    return Study(
        about=about,
        family="maze",
        settings=settings,
        methods=(tuple(variants),),
        seeds=(0, 1, 2),
        variants=variants,
    )


OUTCOMES = analysis(
    "bonuses and outcome losses over training: prediction, reconstruction, hindsight only, the targets' variance",
    NOISY_AND_NOT,
    {"hindsight": {"curiosity": "byol+hindsight-outcomes"}},
)

TEMPERATURES = {f"tau-{tau:g}": hindsight(world__temperature=tau) for tau in (0.1, 0.25, 0.5, 1.0, 2.0)}
TEMPERATURE = analysis("the temperature τ of the contrastive loss", NOISY_AND_NOT, TEMPERATURES)

LARGE_Z = {"world.latent": 128}  # more than the outcome has
RAW = {"bonus.normalise": False, "bonus.prioritise": False}  # the reward is the error itself
# Without the contrastive loss the critic is only a meter, and few time steps are enough for it.
NO_CONTRAST = {"curiosity": "byol+hindsight-no-contrast", "world.contrast_share": 0.125}
LOSSES = analysis(
    "the two losses: each left out of the model, the contrastive one added to the reward; rewards as they are",
    NOISY_AND_NOT,
    {
        "both": hindsight(),
        "no-contrastive": NO_CONTRAST,
        "no-reconstruction": hindsight(world__reconstruction_weight=0.0),
        "contrastive-paid": {"curiosity": "byol+hindsight-contrast-paid"},
        "no-contrastive-z128": NO_CONTRAST | LARGE_Z,
        "both-raw": hindsight() | RAW,
        "no-contrastive-raw": NO_CONTRAST | RAW,
        "no-contrastive-z128-raw": NO_CONTRAST | LARGE_Z | RAW,
    },
)

DIMENSIONS = analysis(
    "how large the hindsight vector z and the generator's noise ε are",
    ("on-demand",),
    {
        "z32-eps32": hindsight(),
        "z2-eps32": hindsight(world__latent=2),
        "z8-eps32": hindsight(world__latent=8),
        "z128-eps32": hindsight(world__latent=128),
        "z32-eps0": hindsight(world__noise=0),
        "z32-eps4": hindsight(world__noise=4),
        "z32-eps128": hindsight(world__noise=128),
    },
)

FOUR_STEPS = {"world.critic_steps": 4, "world.generator_speed": 0.3}
CRITIC = analysis(
    "the critic's form and update: on how many of the time steps it contrasts, how fast it is, an averaged generator",
    ("on-demand",),
    {
        "concat-half": hindsight(),
        "concat-all": hindsight(world__contrast_share=1.0),
        "concat-quarter": hindsight(world__contrast_share=0.25),
        "separable-all": hindsight(world__critic="separable", world__contrast_share=1.0),
        "four-steps": hindsight() | FOUR_STEPS,
        "four-steps-averaged": {"curiosity": "byol+hindsight-averaged"} | FOUR_STEPS,
    },
)

ICM = Study(
    about="hindsight on a second representation: ICM with and without it",
    family="maze",
    settings=("on-demand", "brownian"),
    methods=(("icm+hindsight", "icm"),),
    seeds=(0, 1, 2),
)

# Towards the paper's numbers, or to what a reader would try first.
PRESET = analysis(
    "the laptop preset of the maze, with one thing changed at a time",
    ("on-demand", "brownian"),
    {
        "preset": hindsight(),
        "constant-learning-rate": hindsight(world__half_life=0),
        "learning-rate-3e-4": hindsight(learning_rate=3e-4),
        "unroll-32": hindsight(unroll=32),
        "target-period-10": hindsight(vmpo__target_period=10),
        "reconstruction-weight-1": hindsight(world__reconstruction_weight=1.0),
        "reconstruction-weight-5": hindsight(world__reconstruction_weight=5.0),
        "encoder-mlp": hindsight(network__encoder_hidden=(128,)),
        "encoder-full-speed": hindsight(network__encoder_speed=1.0),
        "encoder-gain-1": hindsight(network__encoder_gain=1.0),
        "encoder-bias-0": hindsight(network__encoder_bias=0.0),
        "hidden-128": hindsight(world__hidden=(128, 128)),
        "no-layer-norm": hindsight(world__layer_norm=False),
        "separable-critic": hindsight(world__critic="separable"),
        "contrast-all-steps": hindsight(world__contrast_share=1.0),
        "entropy-weight-0.01": hindsight(vmpo__entropy_weight=0.01),
    },
)._replace(seeds=(0, 1))

ANALYSES = {
    "outcomes": OUTCOMES,
    "temperature": TEMPERATURE,
    "losses": LOSSES,
    "dimensions": DIMENSIONS,
    "critic": CRITIC,
    "icm": ICM,
    "preset": PRESET,
}
