"""The findings of a diagnosis: errors of many transitions, by action, cell and part of the observation."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from curiax.lab.diagnose.instrument import Split
from curiax.lab.diagnose.names import action_names
from curiax.lab.diagnose.view import View
from curiax.types import EnvSpec, Trajectory

NUM_EXAMPLES = 6
POINTS = 201  # points of a curve
MOST = 0.8  # "80 % of the noise"
FEW = 0.05  # "5 % of the transitions"


class Example(NamedTuple):
    """A transition to show."""

    before: Shaped[np.ndarray, "*obs"]
    action: int
    after: Shaped[np.ndarray, "*obs"]
    noise: float  # over the mean prediction error of a transition


class Measured(NamedTuple):
    """Numbers of N transitions, and sums over them for each of the F features of an observation."""

    predicted: Float[np.ndarray, " N"]  # error without hindsight
    reconstructed: Float[np.ndarray, " N"]  # error with hindsight
    action: Int[np.ndarray, " N"]
    marked: Bool[np.ndarray, " N"]  # the environment says that it is noise
    at_random: Bool[np.ndarray, " N"]  # the action was uniformly random, not the policy's
    cell: Int[np.ndarray, " N"] | None
    predicted_each: Float[np.ndarray, " F"]
    reconstructed_each: Float[np.ndarray, " F"]
    change: Float[np.ndarray, " F"]  # sum of changes
    change_square: Float[np.ndarray, " F"]
    examples: list[tuple[float, np.ndarray, int, np.ndarray]]  # noise, before, action, after


class Part(NamedTuple):
    """An action, a cell, or a part of the observation. Errors are means per transition, of those transitions or of all,
    as shares of the variance of all changes."""

    name: str
    share: float  # of the transitions; NaN for parts of the observation
    error: float
    noise: float
    novelty: float
    share_of_noise: float


class Findings(NamedTuple):
    """All results of a diagnosis."""

    env: str
    num_transitions: int
    total: Part  # of all transitions; 1 − error is the predicted share
    actions: list[Part]
    groups: list[Part]
    cells: dict[str, Float[np.ndarray, "rows columns"]]  # "visits", and per visit "noise", "novelty"; {} without cells
    plane: dict[str, Float[np.ndarray, "rows columns"]]  # "noise", "novelty": sums over the features at each place
    lorenz: dict[str, Float[np.ndarray, " P"]]  # "noise", "novelty": their share in the largest transitions
    needed: float  # share of the transitions that have 80 % of the noise
    held: float  # share of the noise in 5 % of the transitions
    top_actions: list[tuple[str, float, float]]  # action, its share of those transitions, its share of all
    marked: float  # share of the transitions that the environment marks as noise
    noise_in_marked: float  # share of the noise in them
    examples: list[Example]
    own_units: bool
    pool: int


def measure(split: Split, trajectory: Trajectory, at_random: Bool[np.ndarray, " B"]) -> Measured:
    """The numbers of one batch, in numpy."""
    valid = np.asarray(split.valid)
    each = [np.asarray(x, np.float64)[valid] for x in (split.predicted, split.reconstructed, split.change)]
    predicted, reconstructed = each[0].sum(axis=-1), each[1].sum(axis=-1)
    action = trajectory_actions(np.asarray(trajectory.action))
    obs = np.asarray(trajectory.obs)
    where = np.argwhere(valid)
    noise = predicted - reconstructed
    top = np.argsort(-noise)[:NUM_EXAMPLES]
    taken = action[valid]
    return Measured(
        predicted=predicted,
        reconstructed=reconstructed,
        action=taken,
        marked=np.asarray(trajectory.info["noise"])[valid],
        at_random=np.broadcast_to(at_random, valid.shape)[valid],
        cell=np.asarray(trajectory.info["cell"])[valid] if "cell" in trajectory.info else None,
        predicted_each=each[0].sum(axis=0),
        reconstructed_each=each[1].sum(axis=0),
        change=each[2].sum(axis=0),
        change_square=np.square(each[2]).sum(axis=0),
        examples=[
            (float(noise[i]), obs[where[i][0], where[i][1]], int(taken[i]), obs[where[i][0] + 1, where[i][1]])
            for i in top
        ],
    )


def trajectory_actions(action: Shaped[np.ndarray, "T B *action"]) -> Int[np.ndarray, "T B"]:
    """Discrete actions. Of a vector: twice the index of the largest coordinate, plus one if that is positive."""
    if action.ndim == 2:
        return action.astype(np.int64)
    largest = np.abs(action).argmax(axis=-1)
    positive = np.take_along_axis(action, largest[..., None], axis=-1)[..., 0] > 0
    return 2 * largest + positive


def together(batches: list[Measured]) -> Measured:
    """The numbers of all batches together."""
    rows = {name: [getattr(batch, name) for batch in batches] for name in Measured._fields}
    joined: dict[str, Any] = {
        name: np.concatenate(rows[name]) for name in ("predicted", "reconstructed", "action", "marked", "at_random")
    }
    joined["cell"] = None if rows["cell"][0] is None else np.concatenate(rows["cell"])
    for name in ("predicted_each", "reconstructed_each", "change", "change_square"):
        joined[name] = np.sum(rows[name], axis=0)
    every = [example for examples in rows["examples"] for example in examples]
    return Measured(**joined, examples=sorted(every, key=lambda one: -one[0])[:NUM_EXAMPLES])


def find(spec: EnvSpec, view: View, measured: Measured) -> Findings:
    """The findings from the numbers."""
    number = len(measured.predicted)
    mean = measured.change / number
    variance = float(np.sum(measured.change_square / number - np.square(mean)))
    unit = max(variance, 1e-12)
    predicted, reconstructed = measured.predicted / unit, measured.reconstructed / unit
    total = part("everything", predicted, reconstructed, np.ones(number, bool))
    noise = np.maximum(predicted - reconstructed, 0)
    order = np.argsort(-noise)
    lorenz = {"noise": curve(noise), "novelty": curve(np.minimum(predicted, reconstructed))}
    needed = share_that_holds(noise, MOST)
    top = order[: max(1, round(needed * number))]
    names = action_names(spec)
    actions = [
        part(name, predicted, reconstructed, measured.action == index, total.noise)
        for index, name in enumerate(names)
        if np.any(measured.action == index)
    ]
    known = noise.sum() > 0
    return Findings(
        env=spec.name,
        num_transitions=number,
        total=total._replace(share_of_noise=1.0),
        actions=actions,
        groups=groups(view, measured, unit, total.noise),
        cells=cells(spec, measured, predicted, reconstructed),
        plane=plane(view, measured, unit),
        lorenz=lorenz,
        needed=needed,
        held=float(noise[order[: max(1, round(FEW * number))]].sum() / noise.sum()) if known else 0.0,
        top_actions=top_actions(names, measured.action, top),
        marked=float(measured.marked.mean()),
        noise_in_marked=float(noise[measured.marked].sum() / noise.sum()) if known else 0.0,
        examples=[Example(b, a, c, n / unit / max(total.error, 1e-12)) for n, b, a, c in measured.examples],
        own_units=view.own_units,
        pool=view.pool,
    )


def part(
    name: str,
    predicted: Float[np.ndarray, " N"],
    reconstructed: Float[np.ndarray, " N"],
    mask: Bool[np.ndarray, " N"],
    all_noise: float | None = None,
) -> Part:
    """Means over the transitions of the mask. Noise is the mean error that hindsight removes, at least 0."""
    error, left = float(predicted[mask].mean()), float(reconstructed[mask].mean())
    noise = max(error - left, 0.0)
    share = float(mask.mean())
    of_noise = share * noise / all_noise if all_noise else 0.0
    return Part(name, share, error, noise, error - noise, of_noise)


def groups(view: View, measured: Measured, unit: float, all_noise: float) -> list[Part]:
    """Each part of the observation: its contribution to the mean error of a transition."""
    number = len(measured.predicted) * unit
    size = len(view.layout.groups)
    error = np.bincount(view.layout.group, measured.predicted_each / number, size)
    left = np.bincount(view.layout.group, measured.reconstructed_each / number, size)
    noise = np.maximum(error - left, 0)
    return [
        Part(name, float("nan"), float(e), float(n), float(e - n), float(n / all_noise) if all_noise else 0.0)
        for name, e, n in zip(view.layout.groups, error, noise, strict=True)
    ]


def plane(view: View, measured: Measured, unit: float) -> dict[str, np.ndarray]:
    """Noise and novelty by place in the observation; {} if it is no image."""
    rows, columns = view.layout.plane
    if not rows:
        return {}
    inside, number = view.layout.place >= 0, len(measured.predicted) * unit
    sums = [
        np.bincount(view.layout.place[inside], each[inside] / number, rows * columns).reshape(rows, columns)
        for each in (measured.predicted_each, measured.reconstructed_each)
    ]
    noise = np.maximum(sums[0] - sums[1], 0)
    return {"noise": noise, "novelty": sums[0] - noise}


def cells(
    spec: EnvSpec, measured: Measured, predicted: Float[np.ndarray, " N"], reconstructed: Float[np.ndarray, " N"]
) -> dict[str, np.ndarray]:
    """Maps of visits, and of noise and novelty per visit, by the cell after the transition; NaN if not visited."""
    if measured.cell is None or not spec.map_shape[0]:
        return {}
    size = spec.map_shape[0] * spec.map_shape[1]
    visits = np.bincount(measured.cell, minlength=size).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        error, left = (np.bincount(measured.cell, x, size) / visits for x in (predicted, reconstructed))
    noise = np.maximum(error - left, 0)
    maps = {"visits": visits / visits.sum(), "noise": noise, "novelty": error - noise}
    return {name: value.reshape(spec.map_shape) for name, value in maps.items()}


def curve(values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " P"]:
    """A Lorenz curve from the top: the share of the sum in the largest values, for evenly spaced shares of values."""
    cumulative = np.concatenate([[0.0], np.cumsum(np.sort(values)[::-1])])
    if cumulative[-1] <= 0:
        return np.linspace(0, 1, POINTS)
    return np.interp(np.linspace(0, 1, POINTS), np.linspace(0, 1, len(cumulative)), cumulative / cumulative[-1])


def share_that_holds(values: Float[np.ndarray, " N"], most: float) -> float:
    """The smallest share of the values whose sum is the share `most` of the total."""
    cumulative = np.cumsum(np.sort(values)[::-1])
    if cumulative[-1] <= 0:
        return 1.0
    return float((np.searchsorted(cumulative, most * cumulative[-1]) + 1) / len(values))


def top_actions(
    names: tuple[str, ...], action: Int[np.ndarray, " N"], top: Int[np.ndarray, " n"]
) -> list[tuple[str, float, float]]:
    """Actions of the noisiest transitions, most frequent first: name, share among them, share among all."""
    among, everywhere = (np.bincount(x, minlength=len(names)) / len(x) for x in (action[top], action))
    order = np.argsort(-among, kind="stable")
    return [(names[i], float(among[i]), float(everywhere[i])) for i in order if among[i] > 0]
