"""The named methods, as data: the paper's Table 1, five that are not in it, and the random policy."""

from typing import NamedTuple


class Method(NamedTuple):
    """A row of the table. The fields from `inputs` on are the paper's claims; a method of the user's has none, and
    neither has the random policy.

    Those of a method that the paper's table lacks are its authors'.
    """

    name: str  # as its authors call it
    composition: str  # representation+measure, or the name of a method that is neither
    about: str
    inputs: str = ""
    target: str = ""
    measure: str = ""
    space: str = ""  # what the representation is
    random_noise: bool | None = None  # robust to noise that depends on nothing
    dependent_noise: bool | None = None  # robust to noise that depends on state or action
    dynamics: bool | None = None  # aware of the world's dynamics
    in_paper: bool = True


NOW, NEXT = "Xₜ, Aₜ", "Xₜ₊₁"
PREDICT, RECONSTRUCT = "L predict", "L reconstruct\n+ L invariance"

RANDOM_POLICY = "random-policy"

HINDSIGHT = Method(
    "Curiosity in Hindsight",
    "REPRESENTATION+hindsight",
    "any representation, error that hindsight cannot explain",
    *("Xₜ, Aₜ, Zₜ₊₁", NEXT, RECONSTRUCT, "any representation"),
    *(True, True, True),
)

METHODS = {
    "ae": Method(
        "AE",
        "ae+predict",
        "features of an autoencoder, prediction error (Stadie 2016)",
        *(NOW, NEXT, PREDICT, "reconstructive"),
        *(False, False, True),
    ),
    "icm": Method(
        "ICM",
        "icm+predict",
        "inverse-dynamics features, prediction error (Pathak 2017)",
        *(NOW, NEXT, PREDICT, "action predictive"),
        *(True, False, True),
    ),
    "emi": Method(
        "EMI",
        "emi",
        "embeddings with linear dynamics, their residual (Kim 2019)",
        *(NOW, NEXT, PREDICT, "MI-maximising"),
        *(False, False, True),
    ),
    "rnd": Method(
        "RND",
        "rnd",
        "error in copying a random network (Burda 2019)",
        *(NEXT, "f_random(Xₜ₊₁)", PREDICT, "random projection"),
        *(True, True, False),
    ),
    "dora": Method(
        "DORA",
        "dora",
        "E-values, generalised visit counters (Choshen 2018)",
        *(NOW, "constant zero", PREDICT, "pixel space"),
        *(True, True, False),
    ),
    "ama": Method(
        "AMA",
        "pixel+aleatoric",
        "pixels, error beyond the predicted variance (Mavor-Parker 2022)",
        *(NOW, NEXT, "L predict\n− Tr Σ̂ₜ₊₁", "pixel space"),
        *(True, True, True),
    ),
    "byol-explore": Method(
        "BYOL-Explore",
        "byol+predict",
        "bootstrapped embeddings, prediction error (Guo 2022)",
        *(NOW, NEXT, PREDICT, "bootstrapped"),
        *(False, False, True),
    ),
    "byol-hindsight": HINDSIGHT._replace(
        name="BYOL-Hindsight",
        composition="byol+hindsight",
        about="bootstrapped embeddings, error that hindsight cannot explain (Jarrett 2023)",
        space="bootstrapped",
    ),
    "icm+hindsight": HINDSIGHT._replace(
        name="ICM + hindsight",
        composition="icm+hindsight",
        about="inverse-dynamics features, error that hindsight cannot explain",
        space="action predictive",
    ),
    "lpm": Method(
        "LPM",
        "pixel+lpm",
        "pixels, log error expected of the model's past less that of now (Hou 2026)",
        *(NOW, NEXT, "log L past\n− log L predict", "pixel space"),
        *(True, True, True, False),
    ),
    "critic": Method(
        "Curiosity-Critic",
        "pixel+critic",
        "pixels, error beyond what a critic expects to be left after learning (Bhaskara 2026)",
        *(NOW, NEXT, "L predict\n− L after", "pixel space"),
        *(True, True, True, False),
    ),
    "lbs": Method(
        "LBS",
        "random+lbs",
        "random features, what an outcome changes in latent beliefs (Mazzaglia 2022)",
        *("Xₜ, Aₜ, Zₜ₊₁", NEXT, "KL(q ‖ p)", "random projection"),
        *(True, True, True, False),
    ),
    "disagreement": Method(
        "Disagreement",
        "random+disagreement",
        "random features, variance of five predictions (Pathak 2019)",
        *(NOW, NEXT, "variance", "random projection"),
        *(True, True, True, False),
    ),
    "progress": Method(
        "γ-Progress",
        "pixel+progress",
        "pixels, error of a slow copy of the model less its own (Kim 2020)",
        *(NOW, NEXT, "L slow copy\n− L predict", "pixel space"),
        *(True, True, True, False),
    ),
    RANDOM_POLICY: Method(
        "Random policy",
        RANDOM_POLICY,
        "no curiosity: every action is as probable, and nothing is learned",
        in_paper=False,
    ),
}
