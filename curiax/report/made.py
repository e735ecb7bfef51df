"""How a report was made: commands, configuration, versions and machine."""

import os
import platform
import shlex
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from curiax.errors import UserError
from curiax.report.names import enumerate_words
from curiax.report.read import RunData, Study
from curiax.studies import STUDIES
from curiax.studies.base import train_words, varied_fields
from curiax.training.run.directory import read_config

IDENTITY = ("env", "curiosity", "seed")
PACKAGES = ("curiax", "jax", "jaxlib", "equinox", "optax", "numpy")


def commands(study: Study) -> list[str]:
    """The command of the study, or of each run. With several families of worlds, also that of one run in each world."""
    if not study.command:
        return [train_command(run) for run in study.runs if run.trained]
    first = [next(study.group(*pair)[0] for pair in study.pairs if pair[0] == name) for name in study.settings]
    several = len({run.family for run in study.logged}) > 1
    each = [f"{train_command(run)}  # {run.setting}" for run in first if run.trained] if several else []
    return [study.command, *each]


def train_command(run: RunData) -> str:
    """The command that repeats a run."""
    try:
        return shlex.join(["curiax", *train_words(read_config(run.directory))])
    except UserError as error:
        return f"# {error}"


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"world": {"latent": 32}} → {"world.latent": 32}."""
    flat = {}
    for name, value in config.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def mixed_fields(study: Study) -> dict[str, list[Any]]:
    """The fields in which the runs of a family differ, except those that the study varies."""
    varied = varied_fields(STUDIES[study.name]) if study.name in STUDIES else ()
    families = dict.fromkeys(run.family for run in study.logged if run.trained)
    found = [differing_fields([run for run in study.logged if run.family == family]) for family in families]
    return {name: values for one in found for name, values in one.items() if name not in varied}


def differing_fields(runs: Sequence[RunData]) -> dict[str, list[Any]]:
    """The fields in which the runs differ, except environment, method and seed. A config of an older version may lack
    a field."""
    configs = [flatten(run.config) for run in runs if run.trained]
    names = dict.fromkeys(name for config in configs for name in config if name not in IDENTITY)
    values = {name: [config[name] for config in configs if name in config] for name in names}
    return {name: _unique(found) for name, found in values.items() if len(_unique(found)) > 1}


def warnings(study: Study) -> list[str]:
    """Warnings about the means: their runs may have different configs, or the same seed twice."""
    differing = [
        f"{name} is {enumerate_words([str(v) for v in values])}" for name, values in mixed_fields(study).items()
    ]
    lines = [f"The runs are not alike: {'; '.join(differing)}. Means are over all of them."] if differing else []
    names = [(run.setting, run.method, run.seed) for run in study.logged]
    if len(set(names)) < len(names):
        lines.append("Several runs have the same setting, method and seed; each counts as a seed of its own.")
    return lines


def facts() -> dict[str, str]:
    """Machine and versions, for a page."""
    return {"Machine": machine(), "Versions": ", ".join(f"{name} {number}" for name, number in versions().items())}


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    return found | ({"git commit of curiax": commit} if (commit := git_commit()) else {})


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # curiax itself, used from a checkout
        return "(not installed)"


def git_commit() -> str:
    """The commit of the code that writes the report, if it is a checkout; else ""."""
    here = Path(__file__).parents[2]
    if not (here / ".git").exists():
        return ""
    try:
        head = _git(here, "rev-parse", "HEAD")
        return head[:12] + (" with uncommitted changes" if _git(here, "status", "--porcelain", "--", "curiax") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def machine() -> str:
    """`2 cores, AMD EPYC, Linux-6.1-x86_64`."""
    return ", ".join(part for part in (f"{os.cpu_count()} cores", cpu_model(), platform.platform()) if part)


def cpu_model() -> str:
    """From Linux's own file: Python does not know it there."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _git(directory: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(directory), *args], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def _unique(values: list[Any]) -> list[Any]:
    return [value for index, value in enumerate(values) if value not in values[:index]]
