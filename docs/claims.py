"""Writes docs/claims.md: the paper's empirical statements beside the results in this repository.

python docs/claims.py
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from findings import (
    RND,
    E,
    Finding,
    H,
    about_equal,
    adapts_later,
    error_vanishes,
    explore_watches,
    fails,
    falls,
    hardly_differ,
    in_maze,
    losses,
    low_is_better,
    lower,
    no_less,
    outcome,
    patches,
    pending,
    reach_all,
    rnd_loses_interest,
    rnd_suffers,
    small_not_zero,
    stops_at_two,
    temperature,
    too_large,
    unchanged,
    well_enforced,
)

PAGE = Path(__file__).with_name("claims.md")


class Claim(NamedTuple):
    where: str  # in the paper
    text: str
    find: Callable[[], Finding]


BOTH = ("baseline", "on-demand")
ATARI = "3 M learner steps (49 G frames) a run; `results/atari` has four runs of 2 M steps"
CLAIMS = {
    "Pycolab maze (section 5.1)": [
        Claim(
            "5.1", "Without noise, every method touches all four regions", in_maze(["baseline"], [H, E, RND], reach_all)
        ),
        Claim("5.1", "Without noise, hindsight does no harm", in_maze(["baseline"], [H, E], no_less)),
        Claim("5.1", "Without noise, RND loses interest in the end", rnd_loses_interest),
        Claim(
            "5.1",
            "Brownian blocks: BYOL-Explore hardly gets past two regions",
            in_maze(["brownian"], [E], stops_at_two),
        ),
        Claim(
            "5.1",
            "Brownian blocks: BYOL-Hindsight and RND explore everything",
            in_maze(["brownian"], [H, RND], reach_all),
        ),
        Claim(
            "5.1",
            "Random pixels: BYOL-Explore does worse than without noise",
            in_maze(["random", "baseline"], [E], lower),
        ),
        Claim("5.1", "Random pixels: RND does worse than without noise", in_maze(["random", "baseline"], [RND], lower)),
        Claim(
            "5.1",
            "Random pixels: BYOL-Hindsight does as well as without noise",
            in_maze(["random", "baseline"], [H], no_less),
        ),
        Claim("5.1", "Random pixels: BYOL-Hindsight takes a little longer", adapts_later),
        Claim("5.1", "Pixels on demand: BYOL-Explore is caught by the noise", explore_watches),
        Claim("5.1", "Pixels on demand: RND suffers greatly", rnd_suffers),
        Claim(
            "5.1",
            "Pixels on demand: BYOL-Hindsight does as well as without noise",
            in_maze(["on-demand", "baseline"], [H], no_less),
        ),
    ],
    "Atari (sections 5.2 to 5.5, B.1, B.2, B.7)": [
        Claim(
            "5.2",
            "Bank Heist, natural traps and sticky actions: BYOL-Explore is derailed, BYOL-Hindsight is not",
            too_large(ATARI, "atari"),
        ),
        Claim(
            "5.3, B.1",
            "Montezuma's Revenge, sticky actions: BYOL-Explore stays at the start, BYOL-Hindsight finds most rooms",
            too_large(ATARI, "atari"),
        ),
        Claim(
            "5.3, B.1",
            "Montezuma's Revenge without sticky actions: the two do equally well, or hindsight better",
            too_large(ATARI),
        ),
        Claim("5.4, B.7", "Ten hard games with sticky actions: hindsight is better in most", too_large(ATARI)),
        Claim("5.5, B.2", "Persistive noise: BYOL-Explore suffers, BYOL-Hindsight less", too_large(ATARI)),
        Claim(
            "B.7",
            "Games with sticky actions: prediction losses are above reconstruction losses",
            too_large(ATARI, "atari"),
        ),
    ],
    "Temperature (sections 5.6, B.3), in the maze instead of Montezuma's Revenge": [
        Claim("B.3", "With noise, exploration depends little on τ", temperature("on-demand", hardly_differ)),
        Claim(
            "B.3",
            "Without noise and without other reward, a lower τ explores better",
            temperature("baseline", low_is_better),
        ),
    ],
    "Invariance (sections 5.7, B.4, B.5), in the maze instead of Montezuma's Revenge": [
        Claim(
            "B.4",
            "The reconstruction bonus becomes small, but not zero",
            outcome(["reconstruction_error", "target_variance"], "on-demand", small_not_zero),
        ),
        Claim(
            "B.4",
            "As far as the critic can tell, z is invariant",
            outcome(["contrastive_value"], "on-demand", well_enforced),
        ),
        Claim(
            "B.5",
            "With noise: z alone predicts worst, state and action better, all three best",
            outcome(["hindsight_only_error", "prediction_error", "reconstruction_error"], "on-demand", falls),
        ),
        Claim(
            "B.5",
            "Without noise, prediction and reconstruction errors are about equal",
            outcome(["prediction_error", "reconstruction_error"], "baseline", about_equal),
        ),
    ],
    "What z holds, seen in pixels (section B.6)": [
        Claim(
            "B.6",
            "Prediction fails in the noisy strip, reconstruction does not",
            patches("prediction", "reconstruction", "strip", lambda x: x >= 5),
        ),
        Claim(
            "B.6",
            "Prediction and reconstruction show the rest of the frame equally well",
            patches("prediction", "reconstruction", "rest", lambda x: x <= 1.5),
        ),
        Claim(
            "B.6",
            "Hindsight alone shows the strip poorly",
            patches("hindsight-only", "reconstruction", "strip", lambda x: x >= 5),
        ),
        Claim(
            "B.6",
            "Hindsight alone shows the rest of the frame poorly",
            patches("hindsight-only", "reconstruction", "rest", lambda x: x >= 3),
        ),
        Claim(
            "B.6",
            "Hindsight and action show the strip well",
            patches("hindsight-and-action", "reconstruction", "strip", lambda x: x <= 2),
        ),
        Claim(
            "B.6",
            "Hindsight and action show the rest of the frame poorly",
            patches("hindsight-and-action", "reconstruction", "rest", lambda x: x >= 3),
        ),
    ],
    "Effects of the two losses (appendix D)": [
        Claim(
            "D",
            "Without the contrastive loss, reconstruction errors fall towards zero",
            pending("losses", error_vanishes),
        ),
        Claim(
            "D",
            "Without the contrastive loss, exploration fails",
            losses(["both", "no-contrastive", "no-contrastive-z128"], BOTH, fails("no-contrastive-z128", BOTH)),
        ),
        Claim(
            "D",
            "The same, if rewards are the errors themselves, neither normalised nor prioritised",
            losses(["both", "both-raw", "no-contrastive-z128-raw"], BOTH, fails("no-contrastive-z128-raw", BOTH)),
        ),
        Claim(
            "D",
            "Without the reconstruction loss, exploration fails",
            losses(["both", "no-reconstruction"], BOTH, fails("no-reconstruction", BOTH)),
        ),
        Claim(
            "D",
            "Paying for the contrastive loss too changes little",
            losses(["both", "contrastive-paid"], BOTH, unchanged("contrastive-paid", BOTH)),
        ),
    ],
}

HEAD = """\
# The paper's claims

Every empirical statement of the paper's section 5 and appendices B and D, and what the results in this repository say
about it. `python docs/claims.py` writes this page from `results/`; the criteria of the verdicts are in
`docs/findings.py`.

Numbers are means over seeds with 95 % intervals by Student's t, over the last quarter of training. "Regions" are the
regions of the maze that an episode touches, of 4. Verdicts: *shown*; *not shown*: the seeds do not tell; *refuted*: the
opposite was measured; *out of reach at this size*; *not measured yet* with the present form of hindsight.
"""


def page() -> str:
    lines = [HEAD]
    counts: dict[str, int] = {}
    for title, claims in CLAIMS.items():
        lines += [f"## {title}", "", "| | claim | measured | seeds | verdict |", "|---|---|---|---|---|"]
        for claim in claims:
            found = claim.find()
            name = found.verdict.partition(":")[0]
            counts[name] = counts.get(name, 0) + 1
            seeds = "" if found.seeds is None else str(found.seeds)
            verdict = f"**{found.verdict}**" + (f" ([figure](../results/{found.figure}))" if found.figure else "")
            lines.append(f"| {claim.where} | {claim.text} | {found.measured} | {seeds} | {verdict} |")
        lines.append("")
    summary = ", ".join(f"{number} {name}" for name, number in counts.items())
    lines.insert(1, f"In all: {summary}.\n")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
