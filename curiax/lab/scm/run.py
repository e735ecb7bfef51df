"""`curiax study scm`: runs what is not done, one run after the other, and writes table and picture."""

import dataclasses
import json
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from curiax.config import Config, to_dict
from curiax.curiosity import resolve, uses_hindsight
from curiax.envs import scm
from curiax.errors import UserError, unknown_name
from curiax.lab.scm.probe import leak_nats, look, noise_in_z
from curiax.lab.scm.stream import CHUNK, NUM_DARK, NUM_LIT, Paid, learn, start, stream
from curiax.lab.scm.table import (
    METHODS,
    Errors,
    Measured,
    Row,
    complete,
    make_errors,
    make_row,
    print_rows,
    reference_of,
    write_csv,
)

NUM_PROBED = 128  # updates' worth of fresh experience


class Job(NamedTuple):
    kind: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.method}"


def jobs(only: Sequence[str], seeds: Sequence[int]) -> list[Job]:
    """What was asked for, and the prediction errors beside which it is set; method by method: each is compiled once."""
    names = [f"{kind}/{method}" for method in METHODS for kind in scm.KINDS]
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UserError(unknown_name("--only", pattern, names))
    asked = [name for name in names if not only or any(fnmatchcase(name, pattern) for pattern in only)]
    wanted: dict[Job, None] = {}
    for kind, method in (name.split("/") for name in asked):
        for needed in dict.fromkeys((reference_of(method) or method, method)):
            wanted |= dict.fromkeys(Job(kind, needed, seed) for seed in seeds)
    return sorted(wanted, key=lambda job: resolve(job.method))


def measure(config: Config, job: Job) -> Measured:
    """One method in one world: what it paid at every update, and what its hindsight vectors hold at the end."""
    config = dataclasses.replace(config, curiosity=job.method, seed=job.seed)
    spec = scm.make(job.kind).spec._replace(name="scm")  # one compiled program for all kinds
    kind = jax.tree.map(jnp.array, scm.KINDS[job.kind])
    shared = dataclasses.replace(config, curiosity="")  # the stream is the same for every method
    key_learner, *keys, key_fresh, key_leak, key_noise = jax.random.split(
        jax.random.key(job.seed), NUM_DARK + NUM_LIT + 4
    )
    state, paid = start(config, spec, key_learner), []
    for chunk, key in enumerate(keys):
        trajectories = stream(shared, CHUNK, kind, jnp.array(chunk >= NUM_DARK), key)
        state, one = learn(config, spec, state, trajectories)
        paid.append(one)
    total, count = (np.concatenate([getattr(one, field) for one in paid]) for field in Paid._fields)
    if not uses_hindsight(job.method):
        return Measured(total, count, np.nan, np.nan)
    seen = look(config, spec, state, stream(shared, NUM_PROBED, kind, jnp.array(True), key_fresh))
    return Measured(total, count, float(leak_nats(seen, key_leak)), float(noise_in_z(seen, key_noise)))


def path_of(directory: Path, job: Job) -> Path:
    return directory / "measured" / job.kind / job.method / f"{job.seed}.npz"


def save(path: Path, measured: Measured) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez_compressed(unfinished, **measured._asdict())
    unfinished.replace(path)


def load(path: Path) -> Measured:
    with np.load(path) as file:
        return Measured(file["total"], file["count"], float(file["leak_nats"]), float(file["noise_in_z"]))


def claim(directory: Path, config: Config) -> None:
    """A directory holds one setting: runs of another are not mixed with it."""
    mine = json.loads(json.dumps(to_dict(config) | {"chunk": CHUNK, "dark": NUM_DARK, "lit": NUM_LIT}))
    path = directory / "settings.json"
    try:
        if path.exists() and json.loads(path.read_text()) != mine:
            raise UserError(f"{directory}: measured with other settings; choose another --out, or remove it")
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(mine, indent=1) + "\n")
    except OSError as error:
        raise UserError(f"--out {directory}: cannot be written: {error.strerror}") from None


def finished(directory: Path, wanted: Sequence[Job]) -> dict[tuple[str, str, int], Measured]:
    return {
        (job.kind, job.method, job.seed): load(path_of(directory, job))
        for job in wanted
        if path_of(directory, job).exists()
    }


def run(
    config: Config, only: Sequence[str], seeds: Sequence[int], directory: Path, dry_run: bool, console: Console
) -> int:
    """Everything asked for that is not done yet; then table and picture of all that is."""
    wanted = jobs(only, seeds)
    todo = [job for job in wanted if not path_of(directory, job).exists()]
    console.print(f"{len(wanted)} runs, {len(wanted) - len(todo)} done, kept in {directory}", highlight=False)
    if dry_run:
        for job in todo:
            console.print(f"{job.name}/{job.seed}", highlight=False)
        return 0
    claim(directory, config)
    for position, job in enumerate(todo):
        began = time.monotonic()
        save(path_of(directory, job), measure(config, job))
        seconds = time.monotonic() - began
        console.print(f"{position + 1} of {len(todo)}  {job.name}/{job.seed}  {seconds:.0f} s", highlight=False)
    from curiax.lab.scm.figure import draw

    runs = complete(finished(directory, jobs((), seeds)))
    rows, errors = [make_row(*run) for run in runs], [make_errors(*run) for run in runs]
    write_csv(directory / "table.csv", rows, Row._fields)
    write_csv(directory / "errors.csv", errors, Errors._fields)
    draw(directory / "scm.png", rows, errors)
    print_rows(console, rows)
    return 0
