"""A diagnosis from start to end: explore, freeze the agent, train the instrument, measure, write the page."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from rich.console import Console

from curiax import envs
from curiax.config import Config
from curiax.lab.diagnose import words
from curiax.lab.diagnose.explore import Budget, batches, explore, spend, streams_at_random
from curiax.lab.diagnose.findings import Findings, find, measure, together
from curiax.lab.diagnose.instrument import CONFIG, InstrumentState, make_instrument
from curiax.lab.diagnose.page import write
from curiax.lab.diagnose.view import make_view
from curiax.training.evaluate import load
from curiax.training.run.outputs import claim, writing_to
from curiax.training.train import check_memory
from curiax.types import Agent, LearnerState, Trajectory

SHARES = {"explore": 0.4, "learn": 0.5, "measure": 0.1}  # of the time, or of the steps
PREDICT_FIRST = 0.6  # the share of learning before hindsight is learned
MIN_BATCHES = 4  # that are measured

Say = Callable[[str], None]


class Request(NamedTuple):
    """What is to be diagnosed, and for how long."""

    config: Config | None  # of the exploration; None: take the policy of `run_dir`
    run_dir: Path | None
    env: str | None  # with `run_dir`: None, or the environment that the run must have
    budget: Budget
    out: Path | None
    command: str  # as it was typed


class Explorer(NamedTuple):
    """An agent that has explored, and how."""

    config: Config
    agent: Agent
    text: str
    learn: float  # the share of the budget that is left for learning
    measure: float


def run(request: Request, console: Console) -> int:
    """Diagnoses and writes the page. Returns the exit code."""

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    explorer = None if request.config else trained(request)
    config = explorer.config if explorer else request.config
    assert config is not None
    out = request.out or Path("runs/diagnose") / config.env
    if explorer is None:
        check_memory(config)
    claim(out, "diagnosis")
    budget = request.budget
    explorer = explorer or explored(config, budget, say)
    findings = diagnose(config, explorer.agent, budget.part(explorer.learn), budget.part(explorer.measure), say)
    settings = {"Preset": config.preset, "Seed": str(config.seed)}
    with writing_to(out):
        page = write(envs.spec_of(config), findings, out, request.command, explorer.text, settings)
    say(words.one_line(findings))
    say(f"open {page}")
    return 0


def explored(config: Config, budget: Budget, say: Say) -> Explorer:
    """An agent that explores by curiosity for its share of the budget."""
    say(f"exploring {config.env} with {config.curiosity}")
    state = explore(config, budget.part(SHARES["explore"]), say)
    text = f"An agent explored by curiosity ({config.curiosity}) for {num_steps(config, state):,} steps."
    return Explorer(config, state.acting, text, SHARES["learn"], SHARES["measure"])


def trained(request: Request) -> Explorer:
    """The newest policy of a run; the whole budget is left."""
    assert request.run_dir is not None
    config, state = load(request.run_dir, request.env)
    text = f"A trained agent was taken: {config.curiosity}, {num_steps(config, state):,} steps."
    left = 1 - SHARES["explore"]
    return Explorer(config, state.acting, text, SHARES["learn"] / left, SHARES["measure"] / left)


def num_steps(config: Config, state: LearnerState) -> int:
    return int(state.num_updates) * config.steps_per_update


def diagnose(config: Config, agent: Agent, learning: Budget, measuring: Budget, say: Say = lambda _: None) -> Findings:
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
    say(f"measuring, after learning from {int(state.world.num_updates) * config.steps_per_update:,} steps")
    measured, at_random = [], streams_at_random(config.batch_size)
    least = MIN_BATCHES * config.steps_per_update
    enough = measuring._replace(steps=measuring.steps and max(measuring.steps, least))
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
    """The instrument after learning from one batch after the other until the budget is spent."""
    compiled = jax.jit(learn)
    for trajectory in spend(source, budget, lambda _: config.steps_per_update):
        state = compiled(state, agent, trajectory)
        jax.block_until_ready(state.world.num_updates)  # so that the budget counts the time of the update
    return state
