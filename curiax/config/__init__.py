"""What can be set."""

from curiax.config.dotted import get
from curiax.config.schema import (
    LAPTOP,
    PAPER,
    PRESETS,
    AtariOptions,
    BonusConfig,
    Config,
    GymOptions,
    MethodConfig,
    NetworkConfig,
    VMPOConfig,
    WorldConfig,
    from_dict,
    keywords,
    to_dict,
)
from curiax.config.validation import RANGES, validate

__all__ = [
    "LAPTOP",
    "PAPER",
    "PRESETS",
    "RANGES",
    "AtariOptions",
    "BonusConfig",
    "Config",
    "GymOptions",
    "MethodConfig",
    "NetworkConfig",
    "VMPOConfig",
    "WorldConfig",
    "from_dict",
    "get",
    "keywords",
    "to_dict",
    "validate",
]
