"""`curiax study scm`: measures the runs that are not done, one after the other, and writes tables and figure."""

import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from curiax.config import Config, to_dict
from curiax.curiosity import resolve, uses_hindsight
from curiax.curiosity.table import RANDOM_POLICY
from curiax.envs import scm
from curiax.errors import UserError
from curiax.lab.scm.probe import leak_nats, look, noise_in_target, noise_in_z
from curiax.lab.scm.stream import CHUNK, NUM_DARK, NUM_LIT, SEEDS, Paid, config_of, learn, start, stream
from curiax.lab.scm.table import (
    METHODS,
    Errors,
    Found,
    Measured,
    Row,
    complete,
    make_errors,
    make_row,
    print_rows,
    reference_of,
    write_table,
)
from curiax.studies import STUDIES
from curiax.studies.base import Member, Study, members
from curiax.training.run.files import read_json, write_atomically
from curiax.training.run.outputs import claim, writing_to

NUM_PROBED = 128  # updates' worth of fresh experience for the probes


def study() -> Study:
    """Every method of the table, and what a user has added to the arena."""
    arena = [method for group in STUDIES["arena"].methods for method in group if method != RANDOM_POLICY]
    methods = tuple(dict.fromkeys([*METHODS, *arena]))
    return Study("", family="scm", settings=tuple(scm.KINDS), methods=(methods,), seeds=SEEDS)


def jobs(only: Sequence[str], seeds: Sequence[int]) -> list[Member]:
    """The runs that are asked for and their references, ordered by method: each method is compiled once."""
    asked = members(study(), seeds, only)
    references = [job._replace(method=reference_of(job.method) or job.method) for job in asked]
    return sorted(dict.fromkeys([*references, *asked]), key=lambda job: resolve(job.method))


def measure(config: Config, job: Member) -> Measured:
    """One run: the errors of every update, and what the hindsight vectors hold at the end."""
    config = config_of(config, job.method, job.seed)
    spec = scm.make(job.setting).spec._replace(name="scm")  # one name: all kinds share a compiled program
    kind = jax.tree.map(jnp.array, scm.KINDS[job.setting])
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
        return Measured(total, count)
    seen = look(config, spec, state, stream(shared, NUM_PROBED, kind, jnp.array(True), key_fresh))
    return Measured(
        *(total, count),
        leak_nats=float(leak_nats(seen, key_leak)),
        critic_nats=float(jnp.mean(seen.value, where=seen.valid)),
        noise_in_z=float(noise_in_z(seen, key_noise)),
        noise_in_target=noise_in_target(seen),
    )


def path_of(directory: Path, job: Member) -> Path:
    return directory / "measured" / f"{job.name}.npz"


def save(path: Path, measured: Measured) -> None:
    """Writes a file. If the process is killed meanwhile, there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez_compressed(unfinished, **measured._asdict())
    unfinished.replace(path)


def load(path: Path) -> Measured:
    with np.load(path) as file:
        return Measured(file["total"], file["count"], *(float(file[name]) for name in Measured._fields[2:]))


def begin(directory: Path, config: Config) -> None:
    """Makes the directory for these settings. Raises a `UserError` if its runs have others."""
    mine = json.loads(json.dumps(to_dict(config) | {"chunk": CHUNK, "dark": NUM_DARK, "lit": NUM_LIT}))
    path = directory / "settings.json"
    claim(directory, "scm study")
    if path.exists() and read_json(path) != mine:
        raise UserError(f"{directory}: measured with other settings; choose another --out, or remove it")
    with writing_to(directory):
        write_atomically(path, json.dumps(mine, indent=1) + "\n")


def finished(directory: Path, wanted: Sequence[Member]) -> Found:
    """The measurements that are done."""
    return {job: load(path_of(directory, job)) for job in wanted if path_of(directory, job).exists()}


def run(
    config: Config, only: Sequence[str], seeds: Sequence[int], directory: Path, dry_run: bool, console: Console
) -> int:
    """Measures what is asked for and not done yet, then writes tables and figure of all that is done."""
    wanted = jobs(only, seeds)
    todo = [job for job in wanted if not path_of(directory, job).exists()]
    console.print(f"{len(wanted)} runs, {len(wanted) - len(todo)} done, kept in {directory}", highlight=False)
    if dry_run:
        for job in todo:
            console.print(job.name, highlight=False)
        return 0
    begin(directory, config)
    with writing_to(directory):
        for number, job in enumerate(todo, 1):
            began = time.monotonic()
            save(path_of(directory, job), measure(config, job))
            console.print(f"{number} of {len(todo)}  {job.name}  {time.monotonic() - began:.0f} s", highlight=False)
        write(directory, finished(directory, jobs((), seeds)), console)
    return 0


def write(directory: Path, found: Found, console: Console) -> None:
    """Writes tables and figure, and prints the first table."""
    from curiax.lab.scm.figure import draw

    runs = complete(found)
    rows, errors = [make_row(*run) for run in runs], [make_errors(*run) for run in runs]
    write_table(directory / "table.csv", rows, Row._fields)
    write_table(directory / "errors.csv", errors, Errors._fields)
    draw(directory / "scm.png", rows, errors)
    print_rows(console, rows)
