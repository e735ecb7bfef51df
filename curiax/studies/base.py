"""A study is data: settings × methods × seeds, and what it changes in the preset."""

import dataclasses
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from curiax.config import Config, get
from curiax.config.dotted import differences, option, replaced
from curiax.config.presets import preset_for
from curiax.errors import UserError, unknown_name


class Study(NamedTuple):
    about: str
    family: str  # of environments; a setting without fields is the environment FAMILY/SETTING
    settings: tuple[str, ...] | dict[str, dict[str, Any]]  # or name -> dotted fields, including "env" of any family
    methods: tuple[tuple[str, ...], ...]  # in groups: a group runs in all settings before the next group
    seeds: tuple[int, ...]
    fewer_seeds: dict[str, int] = {}  # noqa: RUF012 — SETTING/METHOD, with * and ? -> number of seeds, if not all
    fields: dict[str, Any] = {}  # noqa: RUF012 — of the config, instead of the preset's
    variants: dict[str, dict[str, Any]] = {}  # noqa: RUF012 — a name among the methods -> dotted fields
    measured: tuple[str, ...] = ()  # settings in which `curiax study scm` measures the methods; no agent is trained
    left_out: dict[str, str] = {}  # noqa: RUF012 — SETTING/METHOD -> why it is not in the study


class Member(NamedTuple):
    """A run of a study."""

    setting: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """Its directory, relative to the study's."""
        return f"{self.setting}/{self.method}/{self.seed}"


def members(study: Study, seeds: Sequence[int] | None = None, only: Sequence[str] = ()) -> list[Member]:
    """The runs of a study, the most important first; `only` are patterns of SETTING/METHOD or SETTING/METHOD/SEED."""
    found = [
        Member(setting, method, seed)
        for seed in dict.fromkeys(study.seeds if seeds is None else seeds)
        for group in study.methods
        for setting in study.settings
        for method in group
        if f"{setting}/{method}" not in study.left_out
        if seeds is not None or seed in study.seeds[: num_seeds(study, setting, method)]
    ]
    for pattern in only:
        if not any(matches(member, pattern) for member in found):
            names = [f"{setting}/{method}" for setting in study.settings for group in study.methods for method in group]
            raise UserError(unknown_name("--only", pattern, names))
    return [member for member in found if not only or any(matches(member, pattern) for pattern in only)]


def num_seeds(study: Study, setting: str, method: str) -> int:
    """The number of seeds by default: that of the first pattern that fits, or all."""
    found = (number for pattern, number in study.fewer_seeds.items() if fnmatchcase(f"{setting}/{method}", pattern))
    return next(found, len(study.seeds))


def matches(member: Member, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (member.name, f"{member.setting}/{member.method}"))


def setting_fields(study: Study, setting: str) -> dict[str, Any]:
    """The fields of the config that make a setting."""
    return study.settings[setting] if isinstance(study.settings, dict) else {"env": f"{study.family}/{setting}"}


def what_settings_are(study: Study) -> str:
    """The head of their column in scores.csv: settings of one environment, or worlds of several families."""
    families = {setting_fields(study, name)["env"].partition("/")[0] for name in study.settings}
    return "setting" if len(families) == 1 else "world"


def base_config(study: Study, preset: str) -> Config:
    """The config that all runs of the study share, with the environment of the first setting."""
    return family_config(study, preset, next(iter(study.settings)))


def family_config(study: Study, preset: str, setting: str) -> Config:
    """The preset of a setting's environment, with the fields of the study."""
    env = setting_fields(study, setting)["env"]
    return replaced(preset_for(preset, env), {"env": env} | study.fields)


def member_config(study: Study, base: Config, member: Member) -> Config:
    """The config of a run: the preset of its environment, and whatever `base` changes in that of the first setting."""
    changed = differences(base_config(study, base.preset), base)
    asked = {name: new for name, (_, new) in changed.items() if name != "env"}
    variant = study.variants.get(member.method, {"curiosity": member.method})
    own = family_config(study, base.preset, member.setting)
    return replaced(own, setting_fields(study, member.setting) | asked | {"seed": member.seed} | variant)


def varied_fields(study: Study) -> list[str]:
    """Dotted names of the fields that the study varies."""
    parts = [setting_fields(study, name) for name in study.settings] + list(study.variants.values())
    return list(dict.fromkeys(name for fields in parts for name in fields))


def refuse_what_varies(study: Study, base: Config, config: Config) -> None:
    """Raises a `UserError` if the user sets a field that the study varies. Only a number of steps is for all runs."""
    identity = ("env", "curiosity", "seed")
    for name in (*identity, *(name for name in varied_fields(study) if name != "env_steps")):
        if get(config, name) != get(base, name):
            if name in identity:
                raise UserError("environment, method and seed are the study's: choose with --only and --seeds")
            raise UserError(f"{option(name, get(config, name))[0]} is what the study varies: choose with --only")


def changes(config: Config) -> dict[str, Any]:
    """Dotted names and values of the fields that differ from the environment's preset."""
    preset = dataclasses.replace(preset_for(config.preset, config.env), env=config.env)
    return {name: new for name, (_, new) in differences(preset, config).items()}


def train_words(config: Config) -> list[str]:
    """The command-line arguments, after `curiax`, that train this config."""
    words = [
        "train",
        config.env,
        "--curiosity",
        config.curiosity,
        "--seed",
        str(config.seed),
        "--preset",
        config.preset,
    ]
    for name, value in changes(config).items():
        if name not in ("env", "curiosity", "seed"):
            words += option(name, value)
    return words
