"""The configuration of a run."""

from curiax.config.dotted import get
from curiax.config.presets import LAPTOP, PAPER, PRESETS, preset_for
from curiax.config.schema import (
    AtariOptions,
    BonusConfig,
    Config,
    GymOptions,
    NetworkConfig,
    VMPOConfig,
    WorldConfig,
    from_dict,
    keywords,
    retired,
    to_dict,
)
from curiax.config.validation import validate

__all__ = [
    "LAPTOP",
    "PAPER",
    "PRESETS",
    "AtariOptions",
    "BonusConfig",
    "Config",
    "GymOptions",
    "NetworkConfig",
    "VMPOConfig",
    "WorldConfig",
    "from_dict",
    "get",
    "keywords",
    "preset_for",
    "retired",
    "to_dict",
    "validate",
]
