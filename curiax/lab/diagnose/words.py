"""The sentences of a diagnosis. They are made from the numbers, and say no more than the numbers do."""

from curiax.lab.diagnose.figures import percent
from curiax.lab.diagnose.findings import MOST, Findings, Part
from curiax.lab.diagnose.instrument import CONFIG

HARDLY = 0.01  # of the variance: less noise than this is hardly any
CLEARLY = 2.0  # times as frequent among the noisy transitions as elsewhere

NOTHING_LEARNED = (
    "Nothing can be said yet: what changes from one observation to the next is predicted no better than by its mean. "
    "Give it more --minutes."
)


def headline(findings: Findings) -> list[str]:
    """What to say first: how much, how concentrated, and where."""
    total = findings.total
    if total.error >= 1:
        return [NOTHING_LEARNED]
    shares = (
        f"Of all that changes from one observation to the next, {percent(1 - total.error)} can be predicted, "
        f"{percent(total.noise)} is noise, and {percent(total.novelty)} is not learned yet."
    )
    if total.noise < HARDLY:
        return ["There is hardly any noise.", shares]
    return [concentration(findings), where(findings), shares, *marked(findings)]


def concentration(findings: Findings) -> str:
    return f"{percent(findings.needed)} of the transitions hold {percent(MOST)} of the unpredictability."


def where(findings: Findings) -> str:
    """The action that stands out, if one does, and the part of the observation with most of the noise."""
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
    """Where the environment itself says which observations are noisy, how much of the noise was found there."""
    if not 0 < findings.marked < 1:
        return []
    return [
        f"The environment itself marks {percent(findings.marked)} of the transitions as noise: "
        f"{percent(findings.noise_in_marked)} of the noise was found there."
    ]


def noisiest(parts: list[Part]) -> Part | None:
    return max(parts, key=lambda one: one.noise, default=None)


def one_line(findings: Findings) -> str:
    """For the terminal."""
    return " ".join(headline(findings)[:3])


def units(findings: Findings) -> str:
    if findings.own_units:
        return "Every number of an observation is in units of its own spread, cut off at ±5 of them."
    area = f" A number is the mean of an area of {findings.pool}×{findings.pool} pixels." if findings.pool > 1 else ""
    return f"All numbers of an observation are in the same units.{area}"


def how(findings: Findings, exploring: str) -> list[str]:
    """Paragraphs: the method, the units, and the limits."""
    return [
        f"{exploring} Then the agent was frozen. A predictor of the next observation, which sees the agent's beliefs "
        "(its memory of the episode), the observation and the action, learned from fresh experience of the agent, a "
        "quarter of whose streams acted uniformly at random. Beside it learned a hindsight model: a vector made from "
        "the outcome that must not tell anything of what came before, and a reconstruction from it. All numbers here "
        f"are from {findings.num_transitions:,} transitions that neither had seen.",
        "Noise is prediction error that hindsight takes away: what a vector independent of the past can explain. "
        "Novelty is the rest: what could be predicted but is not, because it is rare, hard, or was met too late. "
        + units(findings),
        "Limits. What the agent cannot know is noise here, whether it is drawn at every step or was drawn when the "
        "world was made: unseen parts of a random map count. Noise of more dimensions than the hindsight vector has "
        f"({CONFIG.world.latent}) is explained in part only, and the rest shows as novelty. A short exploration sees "
        "what is near. Part of what is not learned yet is taken for noise, the more the shorter the run.",
    ]
