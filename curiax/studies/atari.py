"""The paper's studies on Atari (figures 7 to 18): games, sticky actions, noise and the two regimes of reward.

The paper trains for 3 M learner steps, as `--preset paper` does. It does not say which temperatures it compares; these
are those of the maze study.
"""

from typing import Any

from curiax.studies.analyses import TEMPERATURES
from curiax.studies.base import Study

STICKY = 0.1
REGIMES = ("intrinsic", "mixed")
BOTH = (("byol-hindsight", "byol-explore"),)
HARD = (
    "alien",
    "bank_heist",
    "freeway",
    "gravitar",
    "hero",
    "montezuma_revenge",
    "pitfall",
    "private_eye",
    "solaris",
    "venture",
)


def game(name: str, **atari: Any) -> dict[str, Any]:
    return {"env": f"atari/{name}"} | {f"atari.{field}": value for field, value in atari.items()}


def regimes(settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every setting twice: with intrinsic rewards only, and mixed with the game's rewards."""
    return {f"{name}-{regime}": {**fields, "reward": regime} for name, fields in settings.items() for regime in REGIMES}


MONTEZUMA_SETTINGS = regimes(
    {
        "sticky": game("montezuma_revenge", sticky=STICKY),
        "non-sticky": game("montezuma_revenge", sticky=0.0),
    }
)

BANK_HEIST = Study(
    about="Bank Heist: its natural traps, sticky actions too, both regimes (figure 7)",
    family="atari",
    settings=regimes(
        {
            "natural-traps": game("bank_heist", sticky=0.0),
            "sticky": game("bank_heist", sticky=STICKY),
        }
    ),
    methods=BOTH,
    seeds=(0, 1, 2),
)

MONTEZUMA = Study(
    about="Montezuma's Revenge: with and without sticky actions, both regimes, by rooms and by return (figures 8, 10)",
    family="atari",
    settings=MONTEZUMA_SETTINGS,
    methods=BOTH,
    seeds=(0, 1, 2),
)

ATARI = Study(
    about="ten hard games and Q*bert: sticky actions, both regimes, returns and losses (figures 9, 17, 18)",
    family="atari",
    settings=regimes({name: game(name, sticky=STICKY) for name in (*HARD, "qbert")}),
    methods=BOTH,
    seeds=(0,),
)

NOISE = Study(
    about="Montezuma's Revenge under persistive noise and without, both regimes (figures 11, 12)",
    family="atari",
    settings=regimes(
        {
            "persistive": game("montezuma_revenge", noise="persistive"),
            "no-noise": game("montezuma_revenge", noise="none"),
        }
    ),
    methods=BOTH,
    seeds=(0, 1, 2),
)

TEMPERATURE = Study(
    about="Montezuma's Revenge: the temperature τ of the contrastive loss (figures 13, 14)",
    family="atari",
    settings=MONTEZUMA_SETTINGS,
    methods=(tuple(TEMPERATURES),),
    seeds=(0, 1, 2),
    variants=TEMPERATURES,
)

OUTCOMES = Study(
    about="Montezuma's Revenge: bonuses and outcome losses over training (figures 15, 16)",
    family="atari",
    settings=MONTEZUMA_SETTINGS,
    methods=(("hindsight",),),
    seeds=(0, 1, 2),
    variants={"hindsight": {"curiosity": "byol+hindsight-outcomes"}},
)

ATARI_LAPTOP = Study(
    about="Bank Heist and Montezuma's Revenge, sticky actions, intrinsic rewards, one seed: hours on two cores",
    family="atari",
    settings={name: game(name, sticky=STICKY) for name in ("bank_heist", "montezuma_revenge")},
    methods=BOTH,
    seeds=(0,),
)

GAMES = {
    "bank-heist": BANK_HEIST,
    "montezuma": MONTEZUMA,
    "atari": ATARI,
    "montezuma-noise": NOISE,
    "montezuma-temperature": TEMPERATURE,
    "montezuma-outcomes": OUTCOMES,
    "atari-laptop": ATARI_LAPTOP,
}
