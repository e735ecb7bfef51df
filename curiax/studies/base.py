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
    family: str  # of the environments: FAMILY/SETTING, where a setting is no more than its environment
    settings: tuple[str, ...] | dict[str, dict[str, Any]]  # or a name -> dotted fields, "env" among them
    methods: tuple[tuple[str, ...], ...]  # to be compared: one group goes through all settings before the next
    seeds: tuple[int, ...]
    fewer_seeds: dict[str, int] = {}  # noqa: RUF012 — method -> number of seeds, where it runs only the first few
    fields: dict[str, Any] = {}  # noqa: RUF012 — of the config, where the preset's value is not wanted
    variants: dict[str, dict[str, Any]] = {}  # noqa: RUF012 — a name that stands among the methods -> dotted fields


class Member(NamedTuple):
    """A run of a study."""

    setting: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """Its directory within the study's."""
        return f"{self.setting}/{self.method}/{self.seed}"


def members(study: Study, seeds: Sequence[int] | None = None, only: Sequence[str] = ()) -> list[Member]:
    """The runs of a study, the most telling first; `only` are patterns of SETTING/METHOD or SETTING/METHOD/SEED."""
    found = [
        Member(setting, method, seed)
        for seed in dict.fromkeys(study.seeds if seeds is None else seeds)
        for group in study.methods
        for setting in study.settings
        for method in group
        if seeds is not None or seed in study.seeds[: study.fewer_seeds.get(method)]
    ]
    for pattern in only:
        if not any(matches(member, pattern) for member in found):
            names = [f"{setting}/{method}" for setting in study.settings for group in study.methods for method in group]
            raise UserError(unknown_name("--only", pattern, names))
    return [member for member in found if not only or any(matches(member, pattern) for pattern in only)]


def matches(member: Member, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (member.name, f"{member.setting}/{member.method}"))


def setting_fields(study: Study, setting: str) -> dict[str, Any]:
    """What a setting is, as fields of the config."""
    return study.settings[setting] if isinstance(study.settings, dict) else {"env": f"{study.family}/{setting}"}


def base_config(study: Study, preset: str) -> Config:
    """What all runs of the study have in common; its environment is that of the first."""
    env = setting_fields(study, next(iter(study.settings)))["env"]
    return replaced(preset_for(preset, study.family), {"env": env} | study.fields)


def member_config(study: Study, base: Config, member: Member) -> Config:
    variant = study.variants.get(member.method, {"curiosity": member.method})
    return replaced(base, setting_fields(study, member.setting) | {"seed": member.seed} | variant)


def varied_fields(study: Study) -> list[str]:
    """Dotted names of the fields in which its runs may differ."""
    parts = [setting_fields(study, name) for name in study.settings] + list(study.variants.values())
    return list(dict.fromkeys(name for fields in parts for name in fields))


def refuse_what_varies(study: Study, base: Config, config: Config) -> None:
    """What a study varies cannot be asked for: it would be overwritten."""
    identity = ("env", "curiosity", "seed")
    for name in (*identity, *varied_fields(study)):
        if get(config, name) != get(base, name):
            if name in identity:
                raise UserError("environment, method and seed are the study's: choose with --only and --seeds")
            raise UserError(f"{option(name, get(config, name))[0]} is what the study varies: choose with --only")


def changes(config: Config) -> dict[str, Any]:
    """Dotted names and values of the fields that are not as the environment's preset has them."""
    preset = dataclasses.replace(preset_for(config.preset, config.env), env=config.env)
    return {name: new for name, (_, new) in differences(preset, config).items()}


def train_words(config: Config) -> list[str]:
    """What to write after `curiax` to train so."""
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
