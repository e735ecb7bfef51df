"""`curiax study`: estimates the time, trains the runs and writes their scores.

A study's directory holds study.json (what was asked for), SETTING/METHOD/SEED/ (an ordinary run, with the file FAILED
and the reason in it if it failed), SETTING/METHOD/SEED.log (the output of its process) and scores.csv (finished runs);
also scm/ and scm.log, where the study has settings in which no agent is trained.
"""

import contextlib
import datetime
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from curiax.config import Config
from curiax.envs import on_host
from curiax.errors import UserError
from curiax.studies import STUDIES
from curiax.studies.base import Member, changes, member_config, members, setting_fields, what_settings_are
from curiax.studies.document import NAME, read_document
from curiax.studies.measured import PLACE, measured_results, measuring, read_measured
from curiax.studies.runner.display import Display, Line
from curiax.studies.runner.launch import Cores, Place, State, available_cores, launch
from curiax.studies.runner.measure import how, kind_of, measure, pays, size, training
from curiax.studies.runner.options import Launcher, check_launcher
from curiax.studies.runner.progress import (
    Progress,
    Speed,
    duration,
    finished,
    glance,
    makespan,
    progress,
    seconds_left,
    speed,
)
from curiax.studies.scores import Result, read_columns, result, score_table, scores_of_run, write_scores
from curiax.training.run.files import lock, write_atomically
from curiax.training.run.outputs import claim, writing_to
from curiax.training.signals import Stop, polite_stop
from curiax.types import Score

SHARED = "; one process per core, shared by environments, policy and learner of a run"
REFRESH_INTERVAL = 1.0  # seconds; reading and drawing 48 runs takes about 50 ms of a core
REST = 20  # times as long as that took, at least


class Plan(NamedTuple):
    """A study and the options that it was started with."""

    name: str
    directory: Path
    config: Config  # of every run, except environment, method and seed
    members: list[Member]
    num_jobs: int
    command: str
    launcher: Launcher = Launcher()
    estimate: bool = True  # measure speeds that are not known
    measured: tuple[Member, ...] = ()  # where no agent is trained
    cluster: Place | None = None  # once it is joined

    def config_of(self, member: Member) -> Config:
        return member_config(STUDIES[self.name], self.config, member)

    def directory_of(self, member: Member) -> Path:
        return self.directory / member.name

    def scores_of(self, member: Member) -> tuple[Score, ...]:
        config = self.config_of(member)
        return scores_of_run(config.env, config.evaluate_every)

    def kind_of(self, member: Member) -> str:
        """A name for the runs whose steps cost about the same: the method, within a family of environments."""
        study = STUDIES[self.name]
        family = setting_fields(study, member.setting)["env"].partition("/")[0]
        return member.method if what_settings_are(study) == "setting" else f"{family}/{member.method}"

    def finished(self, member: Member) -> bool:
        return finished(self.directory_of(member), self.config_of(member))

    @property
    def cores(self) -> list[int]:
        """A core for each job; jobs share cores if there are fewer."""
        available = available_cores()
        return [available[job % len(available)] for job in range(self.num_jobs)]

    @property
    def place(self) -> Place:
        return self.cluster or Cores(self.cores)


def make_plan(
    name: str,
    config: Config,
    seeds: Sequence[int] | None = None,
    only: Sequence[str] = (),
    num_jobs: int | None = None,
    directory: Path | None = None,
    command: str = "",
    launcher: Launcher = Launcher(),  # noqa: B008 — frozen
    estimate: bool = True,
) -> Plan:
    """A plan with all runs of the study, one per core, in runs/NAME by default."""
    chosen, without_agent = members(STUDIES[name], seeds, only), STUDIES[name].measured
    return Plan(
        name=name,
        directory=directory or Path("runs") / name,
        config=config,
        members=[member for member in chosen if member.setting not in without_agent],
        num_jobs=num_jobs or (len(available_cores()) if launcher.launcher == "local" else sys.maxsize),
        command=command,
        launcher=check_launcher(launcher),
        estimate=estimate,
        measured=tuple(member for member in chosen if member.setting in without_agent),
    )


def run_study(plan: Plan, dry_run: bool, console: Console) -> int:
    """Returns the exit code: 0 if all runs are done, 1 if one failed, 128 + number of a signal that stopped it."""
    with polite_stop(lambda line: say(console, line)) as stop, joined(plan) as plan:
        if dry_run:
            for member in plan.members:
                config = plan.config_of(member)
                steps = size(config, config.num_updates * config.steps_per_update)
                say(console, f"{member.name}  {steps}{'  done' if plan.finished(member) else ''}")
            done = read_measured(plan.directory)
            for member in plan.measured:
                say(console, f"{member.name}  by curiax study scm{'  done' if member in done else ''}")
            say(console, estimate(plan, speeds(plan, console, stop, math.inf)))
            return 128 + stop.signal if stop.signal else 0
        with open_directory(plan):
            states = work(plan, console, stop)
            return conclude(plan, states, console, stop)


@contextlib.contextmanager
def joined(plan: Plan) -> Iterator[Plan]:
    """The plan, connected to its cluster if it has one and not all runs are done."""
    if plan.launcher.launcher == "local" or all(map(plan.finished, plan.members)):
        yield plan
        return
    from curiax.studies.runner.launch_ray import cluster

    with cluster(plan.launcher, plan.num_jobs) as place:
        yield plan._replace(cluster=place, directory=plan.directory.absolute())


@contextlib.contextmanager
def open_directory(plan: Plan) -> Iterator[None]:
    """Locks the directory and writes study.json, which lists the runs of this command and of earlier ones."""
    claim(plan.directory, "study")
    with contextlib.ExitStack() as stack:
        with writing_to(plan.directory):
            stack.callback(lock(plan.directory, "another process works on this study").release)
            document = study_document(plan, read_document(plan.directory))
            write_atomically(plan.directory / NAME, json.dumps(document, indent=2) + "\n")
        yield


def study_document(plan: Plan, before: dict[str, Any] | None) -> dict[str, Any]:
    """The content of study.json, with the runs of earlier commands."""
    fields = changes(plan.config)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    asked = set(plan.members)
    if before is not None:
        refuse_other_study(plan, before, fields)
        asked |= set(before["runs"])
        now = before["started"]
    everything = members(STUDIES[plan.name], sorted({member.seed for member in asked}))
    runs = [member for member in everything if member in asked]
    return {
        "name": plan.name,
        "command": plan.command,
        "preset": plan.config.preset,
        "fields": fields,
        "runs": [{"directory": member.name, **member._asdict()} for member in runs],
        "started": now,
    }


def refuse_other_study(plan: Plan, before: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Raises a `UserError` if an earlier command used other fields; only the number of steps may change."""
    old = {"study": before["name"], "preset": before["preset"]} | before["fields"]
    new = {"study": plan.name, "preset": plan.config.preset} | json.loads(json.dumps(fields))
    for name in sorted((old.keys() | new.keys()) - {"env_steps"}):
        if old.get(name) != new.get(name):
            was, asked = (values.get(name, "the preset's") for values in (old, new))
            raise UserError(f"{plan.directory}: was begun with {name} = {was}, not {asked}; choose another --out")


def work(plan: Plan, console: Console, stop: Stop) -> dict[str, State]:
    """Trains the runs that are not done, and returns the final state of every run."""
    done = {member for member in plan.members if plan.finished(member)}
    save_scores(plan)
    states = {member.name: State("done" if member in done else "waiting") for member in plan.members}
    pending = [member for member in plan.members if member not in done]
    without_agent = measuring(plan.directory, plan.measured)
    if not pending and not without_agent:
        return states
    states |= {task.name: State("waiting") for task in without_agent}
    steps = sum(config.env_steps for config in map(plan.config_of, pending))
    measured = speeds(plan, console, stop, steps)
    if not stop.signal:
        say(console, estimate(plan, measured))
    runs = [training(each.name, plan.directory_of(each), plan.config_of(each)) for each in pending]
    num_done, due = len(done), 0.0
    with Display(console) as display, contextlib.closing(launch([*without_agent, *runs], plan.place, stop)) as launched:
        for changed in launched:
            before, states = states, states | changed
            if states != before or stop.signal or time.monotonic() >= due:
                began = time.monotonic()
                lines = [
                    Line(each.name, states[each.name], progress(plan.directory_of(each), plan.config_of(each)))
                    for each in plan.members
                ]
                lines += [Line(task.name, states[task.name], measured_so_far(plan)) for task in without_agent]
                display.show(lines, time_left(plan, lines, measured), stopping=stop.signal is not None)
                due = time.monotonic() + max(REFRESH_INTERVAL, REST * (time.monotonic() - began))
            if (now_done := sum(state.kind == "done" for state in states.values())) > num_done:
                num_done = now_done
                save_scores(plan)
    return states


def measured_so_far(plan: Plan) -> Progress:
    """Measurements instead of steps. There are a few more than asked for: a method may need another's for its own."""
    done = len(list((plan.directory / PLACE).glob("measured/*/*/*.npz")))
    return Progress(min(done, len(plan.measured) - 1), len(plan.measured), {}, None)


def speeds(plan: Plan, console: Console, stop: Stop, num_steps: int | float) -> dict[str, Speed]:
    """The speed of each method with unfinished runs: from its metrics in this directory, or measured with a short run.

    Variants with the same cost per step are measured once. Nothing is measured if `num_steps` are too few to pay, or if
    there are several families of environments: that would take longer than a first run of each.
    """
    pending = {plan.kind_of(each): plan.config_of(each) for each in reversed(plan.members) if not plan.finished(each)}
    alike = what_settings_are(STUDIES[plan.name]) == "setting"
    known = {}
    for member in members(STUDIES[plan.name]) + plan.members:  # chosen or not
        found = speed(glance(plan.directory_of(member) / "metrics.csv"))
        known |= {kind_of(plan.config_of(member)): found} if found is not None else {}
    unknown = {kind_of(config): method for method, config in pending.items() if kind_of(config) not in known}
    here = plan.cluster is None  # the machines of a cluster may differ from this one
    if unknown and here and alike and plan.estimate and pays(unknown, num_steps):
        say(
            console, f"measuring the speed of {', '.join(sorted(unknown.values()))} on this machine{how(plan.config)} …"
        )
        measured = measure({method: pending[method] for method in unknown.values()}, plan.cores, stop)
        known |= {kind: measured[method] for kind, method in unknown.items() if method in measured}
    return {method: known[kind_of(config)] for method, config in pending.items() if kind_of(config) in known}


def estimate(plan: Plan, measured: Mapping[str, Speed]) -> str:
    """A line with the steps and the time of all unfinished runs."""
    pending = [member for member in plan.members if not plan.finished(member)]
    runs = [progress(plan.directory_of(member), plan.config_of(member)) for member in pending]
    steps = sum(run.total_steps - run.env_steps for run in runs)
    lines = [Line(member.name, State("waiting"), run) for member, run in zip(pending, runs, strict=True)]
    place = plan.place
    if not pending:
        return "no agent is left to train"
    rates = [f"{method} {found.steps_per_second:,.0f}" for method, found in measured.items()]
    if measured and len(measured) < len({plan.kind_of(member) for member in pending}):
        rates.append("others as the slowest of these")
    seconds = time_left(plan, lines, measured)
    todo = f"{len(pending)} of {len(plan.members)} runs to do, {size(plan.config, steps)}"
    left = f": about {duration(seconds)} at the measured steps/s ({', '.join(rates)})"
    shared = SHARED if on_host(plan.config.env) else ""
    return f"{todo}, {place.room} at a time {place.where}{'' if math.isnan(seconds) else left}{shared}"


def time_left(plan: Plan, lines: Sequence[Line], measured: Mapping[str, Speed]) -> float:
    """The time that is left of all runs. A method without a known speed counts as the slowest known of its family of
    environments; NaN if there is none.

    Running runs come first: they have their cores already.
    """
    kinds = {member.name: plan.kind_of(member) for member in plan.members}
    trained = [line for line in lines if line.name in kinds]
    todo = [line for line in trained if line.state.kind in ("running", "waiting", "held", "lost")]
    seconds = []
    for line in sorted(todo, key=lambda line: line.state.kind != "running"):
        running = line.state.kind == "running"
        known = (line.progress.speed if running else None) or speed_of(kinds[line.name], measured)
        seconds.append(math.nan if known is None else seconds_left(line.progress, known) + (not running) * known.start)
    return math.nan if any(map(math.isnan, seconds)) else makespan(seconds, plan.place.room)


def speed_of(kind: str, measured: Mapping[str, Speed]) -> Speed | None:
    """Its own speed, else the slowest of its family; None if none is known."""
    family = [found for name, found in measured.items() if name.rpartition("/")[0] == kind.rpartition("/")[0]]
    return measured.get(kind) or min(family, key=lambda found: found.steps_per_second, default=None)


def save_scores(plan: Plan) -> list[Result]:
    """Writes scores.csv: every finished run of the study, those of earlier commands too."""
    study = read_document(plan.directory)
    finished = [member for member in study["runs"] if plan.finished(member)] if study else []
    logged = {each: read_columns(plan.directory_of(each) / "metrics.csv") for each in finished}
    results = [result(each, columns, plan.scores_of(each)) for each, columns in logged.items() if columns]
    results += measured_results(plan.directory)
    with writing_to(plan.directory):
        write_scores(plan.directory / "scores.csv", results, what_settings_are(STUDIES[plan.name]))
    return results


def conclude(plan: Plan, states: Mapping[str, State], console: Console, stop: Stop) -> int:
    results = save_scores(plan)
    if results:
        labels = {plan.scores_of(member)[0].label for member in plan.members}
        console.print(score_table(results, labels.pop() if len(labels) == 1 else "score"))
    failures = {name: state.reason for name, state in states.items() if state.kind == "failed"}
    for name, reason in failures.items():
        say(console, f"failed: {name}: {reason} (more in {plan.directory / name}.log)")
    if stop.signal and any(state.kind != "done" for state in states.values()):
        num_done = sum(state.kind == "done" for state in states.values())
        say(console, f"stopped, {num_done} of {len(states)} runs done; the same command goes on from here")
        return 128 + stop.signal
    say(console, f"next: curiax report {plan.directory}")
    return 1 if failures else 0


def say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)
