"""`curiax study patches`: records a game, trains the world model and the readouts, writes table and figure."""

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from rich.console import Console
from rich.table import Table

from curiax.config import Config, to_dict, validate
from curiax.config.dotted import refuse_unread
from curiax.envs import atari
from curiax.errors import UserError
from curiax.lab.patches.functions import Row, batches, fit_readouts, make_rows, outputs, tell_all
from curiax.lab.patches.world import CONFIG, NUM_FRAMES, STRIP, Amount, Recording, learn, record, split, start, views
from curiax.training.run.files import write_atomically, write_csv
from curiax.training.run.outputs import claim, writing_to

CHUNK = 100  # updates per compiled call
NUM_DRAWN = 4  # transitions in the figure
# The fields of a config that the study reads; noise and method are fixed. All of the single time step is contrasted, so
# `world.contrast_share` would change nothing. A preset is not read: CONFIG has its values.
READ = (
    *("env", "seed", "batch_size", "learning_rate", "network.encoder_hidden", "network.embedding"),
    *(
        f"world.{name}"
        for name in ("hidden", "critic", "critic_hidden", "critic_steps", "layer_norm", "latent", "noise")
    ),
    *("world.reconstruction_weight", "world.temperature", "atari.sticky", "atari.full_actions"),
)


class Result(NamedTuple):
    rows: list[Row]
    before: np.ndarray  # o_t, held out
    target: np.ndarray  # o_{t+1}
    guesses: np.ndarray  # functions first
    actions: Int[np.ndarray, " n"]
    measured: dict[str, float]


def check(config: Config, only: Sequence[str], seeds: Sequence[int] | None, jobs: int | None) -> Config:
    """The config. Raises a `UserError` if the study cannot use these options."""
    game = config.env.removeprefix("atari/")
    if only or jobs is not None:
        raise UserError("--only and --jobs: the study patches is one run in one process")
    if seeds is not None and len(seeds) != 1:
        raise UserError("--seeds: the study patches is one run; give one seed")
    if game == config.env:
        raise UserError(f"{config.env}: the study patches needs an Atari game, such as atari/montezuma_revenge")
    if config.atari.noise != "patches" or config.curiosity != CONFIG.curiosity:
        raise UserError(f"noise and method are fixed: patches, {CONFIG.curiosity}")
    refuse_unread("the study patches", config, CONFIG, READ)
    atari.load(game)
    return config if seeds is None else validate(dataclasses.replace(config, seed=seeds[0]))


def refuse_too_few(config: Config, num_transitions: int) -> None:
    """Raises a `UserError` if the held-out transitions do not fill one batch."""
    if config.batch_size > num_transitions:
        raise UserError(f"--batch-size {config.batch_size}: only {num_transitions:,} transitions are held out")


def study(config: Config, amount: Amount, recording: Recording, say: Callable[[str], None]) -> Result:
    """Trains the world model, then the readouts with z fixed, and measures errors on held-out episodes."""
    num_actions = atari.spec_of(config.env.removeprefix("atari/"), config.atari).num_actions
    known, held_out = split(recording, amount.held_out)
    refuse_too_few(config, len(held_out))
    seen = views(recording, known)
    key_learn, key_known, key_fit, key_held_out = jax.random.split(jax.random.key(config.seed), 4)
    state = start(config, num_actions, seen.mean.shape[0], amount.updates)
    generator, metrics = np.random.default_rng(config.seed), {}
    for done in range(0, amount.updates, CHUNK):
        rows = generator.choice(known, (min(CHUNK, amount.updates - done), config.batch_size))
        key = jax.random.fold_in(key_learn, done)
        state, metrics = learn(config, num_actions, amount.updates, seen, state, jnp.array(rows), key)
        say(f"{done + len(rows):>6} updates  " + "  ".join(f"{k} {float(v.mean()):.4f}" for k, v in metrics.items()))

    order = batches(generator.permutation(known), config.batch_size)
    told = tell_all(config, num_actions, state.params, seen, order, key_known)
    readouts = fit_readouts(config, num_actions, amount.readout_updates, seen, order.reshape(-1), told.z, key_fit)
    order = batches(generator.permutation(held_out), config.batch_size)
    guesses, target = outputs(config, num_actions, state, readouts, seen, order, key_held_out)
    rows = np.asarray(order).ravel()
    measured = {"contrastive_value": float(metrics["contrastive_value"].mean()), "held_out_transitions": len(rows)}
    return make_result(recording, rows, np.asarray(guesses), np.asarray(target), np.asarray(seen.mean), measured)


def make_result(
    recording: Recording,
    rows: Int[np.ndarray, " n"],
    guesses: Float[np.ndarray, "functions n p"],
    target: Float[np.ndarray, "n p"],
    mean: Float[np.ndarray, " p"],
    measured: dict[str, float],
) -> Result:
    """The table, and the errors of two trivial predictions: the last frame, and the mean of all frames."""
    shape = recording.frames.shape[1:]
    before, target = recording.frames[rows], target.reshape(-1, *shape)
    guesses = guesses.reshape(-1, *target.shape)
    for name, guess in (("last_frame", before.astype(np.float32)), ("mean_frame", mean.reshape(1, *shape))):
        squares = np.square(guess - target)
        measured |= {f"{name}_strip_error": float(squares[:, -STRIP:].mean())}
        measured |= {f"{name}_rest_error": float(squares[:, :-STRIP].mean())}
    return Result(make_rows(guesses, target, STRIP), before, target, guesses, recording.action[rows], measured)


def run(config: Config, amount: Amount, directory: Path, dry_run: bool, console: Console) -> int:
    """Records, trains, measures and writes. Returns the exit code."""
    refuse_too_few(config, amount.held_out * (amount.steps - NUM_FRAMES))  # the most there can be
    say = lambda text: console.print(text, highlight=False, markup=False)  # noqa: E731
    say(f"{config.env}: {amount.steps:,} steps of {amount.emulators} emulators, {amount.held_out} of them held out;")
    say(f"{amount.updates:,} updates on states of {NUM_FRAMES} frames, kept in {directory}")
    if dry_run:
        return 0
    claim(directory, "patches study")
    began, used = time.monotonic(), time.process_time()
    recording = record(config, amount)
    say(f"recorded after {time.monotonic() - began:.0f} s")
    result = study(config, amount, recording, say)
    seconds = {"wall_seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - used}
    with writing_to(directory):
        write(directory, config, amount, result, seconds)
    show(console, result.rows)
    say(f"open {directory / 'patches.png'}")
    return 0


def write(directory: Path, config: Config, amount: Amount, result: Result, seconds: dict[str, float]) -> None:
    from curiax.lab.patches.figure import draw

    rows = [(row.function, f"{row.strip_error:.4f}", f"{row.rest_error:.4f}") for row in result.rows]
    write_csv(directory / "table.csv", Row._fields, rows)
    settings = {"config": to_dict(config), "amount": amount._asdict(), "measured": result.measured | seconds}
    write_atomically(directory / "settings.json", json.dumps(settings, indent=1) + "\n")
    drawn = np.linspace(0, len(result.target) - 1, NUM_DRAWN).astype(int)  # in random order, so any will do
    before, target, guesses = result.before[drawn], result.target[drawn], result.guesses[:, drawn]
    draw(directory / "patches.png", before, target, guesses, result.actions[drawn].tolist())


def show(console: Console, rows: list[Row]) -> None:
    table = Table("function", "error in the strip", "error in the rest")
    for row in rows:
        table.add_row(row.function, f"{row.strip_error:.1f}", f"{row.rest_error:.1f}")
    console.print(table)
