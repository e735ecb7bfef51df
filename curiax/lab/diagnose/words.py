"""The sentences of a diagnosis, made from its findings."""

from curiax.lab.diagnose.figures import percent
from curiax.lab.diagnose.findings import MOST, Findings, Part
from curiax.lab.diagnose.instrument import CONFIG

HARDLY = 0.01  # share of the variance below which there is hardly any noise
CLEARLY = 2.0  # an action stands out if it is this many times as frequent among the noisy transitions as among all

NOTHING_LEARNED = (
    "Too early to tell: the prediction of changes from one observation to the next is no better than their mean. "
    "Give it more --minutes."
)


def headline(findings: Findings) -> list[str]:
    """The first sentences: how concentrated the noise is, where it is, and how much there is."""
    total = findings.total
    if total.error >= 1:
        return [NOTHING_LEARNED]
    shares = (
        f"Of the variance of changes from one observation to the next, {percent(1 - total.error)} is predicted, "
        f"{percent(total.noise)} is noise, and {percent(total.novelty)} is not learned yet."
    )
    if total.noise < HARDLY:
        return ["There is hardly any noise.", shares]
    return [concentration(findings), where(findings), shares, *marked(findings)]


def concentration(findings: Findings) -> str:
    return f"{percent(findings.needed)} of the transitions have {percent(MOST)} of the noise."


def where(findings: Findings) -> str:
    """The action that stands out, if any, and the part of the observation with most of the noise."""
    name, among, everywhere = findings.top_actions[0]
    sentences = []
    if among > CLEARLY * everywhere:
        sentences.append(
            f"{percent(among)} of these follow the action “{name}”, which is {percent(everywhere)} of all."
        )
    else:
        sentences.append("No action stands out among them.")
    most = noisiest(findings.groups)
    if most is not None and len(findings.groups) > 1:
        sentences.append(f"{percent(most.share_of_noise)} of the noise is in “{most.name}”.")
    return " ".join(sentences)


def marked(findings: Findings) -> list[str]:
    """The share of the noise in transitions that the environment marks as noise; [] if it marks none or all."""
    if not 0 < findings.marked < 1:
        return []
    return [
        f"The environment marks {percent(findings.marked)} of the transitions as noise; "
        f"{percent(findings.noise_in_marked)} of the noise was found in them."
    ]


def noisiest(parts: list[Part]) -> Part | None:
    return max(parts, key=lambda one: one.noise, default=None)


def one_line(findings: Findings) -> str:
    """The first sentences in one line, for the terminal."""
    return " ".join(headline(findings)[:3])


def units(findings: Findings) -> str:
    if findings.own_units:
        return "Every feature of an observation is divided by its standard deviation and clipped to ±5."
    area = f" A feature is the mean of {findings.pool}×{findings.pool} pixels." if findings.pool > 1 else ""
    return f"All features of an observation are in the same units.{area}"


def how(findings: Findings, exploring: str) -> list[str]:
    """Paragraphs: the method, the units, and the limits."""
    return [
        f"{exploring} Then the agent was frozen. A predictor of the next observation was trained on its fresh "
        "experience; in a quarter of the streams the actions were uniformly random. Its inputs are the agent's beliefs "
        "(its memory of the episode), the observation and the action. A hindsight model was trained with it: a vector "
        "made from the outcome, which must be independent of the past, and a reconstruction from it. All numbers here "
        f"are from {findings.num_transitions:,} transitions that neither was trained on.",
        "Noise is prediction error that hindsight removes: what a vector independent of the past can explain. "
        "Novelty is the rest: what could be predicted but is not, because it is rare, hard, or came too late. "
        + units(findings),
        "Limits. All that the agent cannot know counts as noise, also if it was drawn only once: unseen parts of a "
        "random map count. If noise has more dimensions than the hindsight vector "
        f"({CONFIG.world.latent}), part of it counts as novelty. A short exploration sees only what is near. Part of "
        "what is not learned yet counts as noise, the more the shorter the run.",
    ]
