"""`curiax diagnose ENV`: explore, freeze the agent, learn to predict with and without hindsight, measure."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import jax
import numpy as np
import tyro
from rich.console import Console

from curiax import curiosity, envs
from curiax.commands.parsing import parse, parse_known, use_compilation_cache
from curiax.config import Config, validate
from curiax.config.dotted import names, refuse_unread
from curiax.config.presets import preset_for, preset_of
from curiax.errors import UserError
from curiax.lab.diagnose import words
from curiax.lab.diagnose.explore import Budget, batches, explore, spend, streams_at_random
from curiax.lab.diagnose.findings import Findings, find, measure, together
from curiax.lab.diagnose.instrument import CONFIG, InstrumentState, make_instrument
from curiax.lab.diagnose.page import write
from curiax.lab.diagnose.view import make_view
from curiax.training.evaluate import load
from curiax.types import Agent, Trajectory

SHARES = {"explore": 0.4, "learn": 0.5, "measure": 0.1}  # of the time, or of the steps
PREDICT_FIRST = 0.6  # of learning: before hindsight is learned
FEWEST = 4  # batches that are measured
UNREAD = ("env", "checkpoint_every")  # fields of a run that are not for the exploration


@dataclass(frozen=True)
class DiagnoseCommand:
    """Where is the noise in an environment? Explores for a few minutes and writes a page.

    The options of `curiax train` may follow; they hold for the exploration.
    """

    env: Annotated[str | None, tyro.conf.Positional] = None
    """an environment, see `curiax list envs`; with --run-dir, the run's own"""
    minutes: float = 5.0
    """how long, not counting compilation: 40 % exploring, 50 % learning to predict, 10 % measuring"""
    env_steps: int | None = None
    """instead of minutes: environment steps in all"""
    run_dir: Path | None = None
    """take the newest policy of this run instead of exploring"""
    out: Path | None = None
    """where the page goes (default: runs/diagnose/ENV)"""


class Asked(NamedTuple):
    command: DiagnoseCommand
    config: Config | None  # of the exploration, or None where a run is taken
    typed: str  # the command line


def main(args: list[str], console: Console) -> int:
    asked = read(args)
    use_compilation_cache()
    return run(asked, console)


def read(args: list[str]) -> Asked:
    """The command and, unless a run is given, the config of the exploration."""
    command, rest = parse_known(DiagnoseCommand, args, "diagnose")
    typed = shlex.join(["curiax", "diagnose", *args])
    check(command)
    if command.run_dir is not None:
        if rest:
            raise UserError(f"{rest[0]}: a run has its own options; without --run-dir it may be given")
        return Asked(command, None, typed)
    assert command.env is not None
    envs.check_name(command.env)
    default = replace(preset_for(preset_of(rest).preset, command.env), env=command.env)
    config = validate(parse(Config, rest, "diagnose", default))
    refuse_unread("the exploration", config, default, [name for name in names(config) if name not in UNREAD])
    curiosity.resolve(config.curiosity)
    return Asked(command, config, typed)


def check(command: DiagnoseCommand) -> DiagnoseCommand:
    if command.minutes <= 0:
        raise UserError(f"--minutes {command.minutes:g}: must be above 0")
    if command.env_steps is not None and command.env_steps < 1:
        raise UserError(f"--env-steps {command.env_steps}: must be 1 or more")
    if command.env is None and command.run_dir is None:
        raise UserError("which environment? curiax diagnose ENV, or --run-dir RUN")
    return command


def run(asked: Asked, console: Console) -> int:
    """All of it."""
    command, config, typed = asked

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    budget = Budget(60 * command.minutes, command.env_steps)
    if config is None:
        assert command.run_dir is not None
        config, state = load(command.run_dir)
        if command.env not in (None, config.env):
            raise UserError(f"{command.run_dir}: a run of {config.env}, not of {command.env}")
        agent, shares = state.acting, {name: share / 0.6 for name, share in SHARES.items()}
        steps = int(state.num_updates) * config.steps_per_update
        exploring = f"A trained agent was taken: {config.curiosity}, {steps:,} steps."
    else:
        say(f"exploring {config.env} with {config.curiosity}")
        state, shares = explore(config, budget.part(SHARES["explore"]), say), SHARES
        agent = state.acting
        steps = int(state.num_updates) * config.steps_per_update
        exploring = f"An agent explored by curiosity ({config.curiosity}) for {steps:,} steps."
    findings = diagnose(config, agent, budget.part(shares["learn"]), budget.part(shares["measure"]), say)
    out = command.out or Path("runs/diagnose") / config.env
    settings = {"Preset": config.preset, "Seed": str(config.seed)}
    try:
        page = write(envs.spec_of(config), findings, out, typed, exploring, settings)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written ({error.strerror or error})") from None
    say(words.one_line(findings))
    say(f"open {page}")
    return 0


def diagnose(
    config: Config, agent: Agent, learning: Budget, measuring: Budget, say: Callable[[str], None] = lambda _: None
) -> Findings:
    """Trains the instrument on fresh experience of a frozen agent, and measures on more of it."""
    spec = envs.spec_of(config)
    source = batches(config, agent, config.seed + 1)
    first = next(source)
    view = make_view(spec, np.asarray(first.obs).reshape(-1, *spec.observation_shape))
    instrument = make_instrument(spec, view, config.network.belief, CONFIG)
    state = jax.jit(instrument.init)(jax.random.key(config.seed))
    split = jax.jit(instrument.split)
    say("learning to predict")
    state = lesson(instrument.learn_to_predict, state, agent, source, config, learning.part(PREDICT_FIRST))
    say("learning what hindsight explains")
    state = instrument.begin_hindsight(state)
    state = lesson(instrument.learn, state, agent, source, config, learning.part(1 - PREDICT_FIRST))
    say(f"measuring, after {int(state.world.num_updates) * config.steps_per_update:,} steps of it")
    measured, at_random = [], streams_at_random(config.batch_size)
    enough = measuring._replace(steps=measuring.steps and max(measuring.steps, FEWEST * config.steps_per_update))
    for trajectory in spend(source, enough, lambda _: config.steps_per_update):
        measured.append(measure(split(state, agent, trajectory), trajectory, at_random))
    source.close()
    return find(spec, view, together(measured))


def lesson(
    learn: Callable[[InstrumentState, Agent, Trajectory], InstrumentState],
    state: InstrumentState,
    agent: Agent,
    source: Iterator[Trajectory],
    config: Config,
    budget: Budget,
) -> InstrumentState:
    """Learns from one batch after the other."""
    compiled = jax.jit(learn)
    for trajectory in spend(source, budget, lambda _: config.steps_per_update):
        state = compiled(state, agent, trajectory)
        jax.block_until_ready(state.world.num_updates)  # the clock should not run ahead
    return state
