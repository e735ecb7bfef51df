"""What each field may be."""

import dataclasses
import math

from curiax.config.dotted import get
from curiax.config.schema import AtariOptions, Config, keywords
from curiax.errors import UserError

# field -> (lowest, highest, lowest and highest themselves allowed?)
RANGES: dict[str, tuple[float, float, bool]] = {
    "env_steps": (1, float("inf"), True),
    "seed": (0, 2**32 - 1, True),
    "coin_reward": (-1e6, 1e6, True),
    "batch_size": (1, 2**20, True),
    "unroll": (2, 2**20, True),
    "passes": (1, 1000, True),
    "learning_rate": (0, 1, False),
    "max_gradient_norm": (0, float("inf"), False),
    "log_every": (1, 2**20, True),
    "checkpoint_every": (1, float("inf"), True),
    "keep_checkpoints": (2, 1000, True),
    "network.patch": (1, 2**10, True),
    "network.embedding": (1, 2**16, True),
    "network.encoder_gain": (0, float("inf"), False),
    "network.encoder_speed": (0, float("inf"), True),
    "network.action_embedding": (1, 2**16, True),
    "network.belief": (1, 2**16, True),
    "world.latent": (0, 2**16, True),
    "world.noise": (0, 2**16, True),
    "world.half_life": (0, float("inf"), True),
    "world.target_decay": (0, 1, True),
    "world.reconstruction_weight": (0, float("inf"), True),
    "world.invariance_weight": (0, float("inf"), True),
    "world.temperature": (0, float("inf"), False),
    "world.contrast_share": (0, 1, True),
    "method.emi_information": (0, float("inf"), True),
    "method.emi_error": (0, float("inf"), True),
    "method.emi_prior": (0, float("inf"), True),
    "method.dora_discount": (0, 1, True),
    "method.dora_rate": (0, 1, False),
    "bonus.decay": (0, 1, False),
    "bonus.intrinsic_weight": (0, float("inf"), True),
    "vmpo.discount": (0, 1, True),
    "vmpo.lambda_": (0, 1, True),
    "vmpo.top_fraction": (0.01, 1, True),
    "vmpo.temperature": (0, float("inf"), False),
    "vmpo.temperature_memory": (0, 1, True),
    "vmpo.alpha": (0, float("inf"), False),
    "vmpo.epsilon_temperature": (0, float("inf"), True),
    "vmpo.epsilon_alpha": (0, float("inf"), True),
    "vmpo.epsilon_mean": (0, float("inf"), True),
    "vmpo.epsilon_covariance": (0, float("inf"), True),
    "vmpo.target_period": (1, float("inf"), True),
    "vmpo.popart_step": (0, 1, False),
    "vmpo.value_weight": (0, float("inf"), True),
    "vmpo.entropy_weight": (0, float("inf"), True),
    "atari.sticky": (0, 1, True),
    "atari.noops": (0, 1000, True),
    "atari.frame_limit": (4, 2**31 - 1, True),
    "gym.kinds": (0, 256, True),
}

LAYERS = (
    "network.encoder_hidden",
    "network.feature_hidden",
    "network.channels",
    "network.image_hidden",
    "network.head_hidden",
    "world.hidden",
    "world.critic_hidden",
)


def validate(config: Config) -> Config:
    """Returns the config, or says which field has which value and what is allowed."""
    for name, (low, high, closed) in RANGES.items():
        value = get(config, name)
        inside = math.isfinite(value) and (low <= value <= high if closed else low < value < high)
        if not inside:
            bounds = f"from {low:.9g} to {high:.9g}" + ("" if closed else ", neither included")
            raise UserError(f"--{name.replace('_', '-')} {value}: must be {bounds}")
    for name in LAYERS:
        if any(size < 1 for size in get(config, name)):
            sizes = " ".join(map(str, get(config, name)))
            raise UserError(f"--{name.replace('_', '-')} {sizes}: every layer must have at least one unit")
    keywords(config.gym)  # they can be read
    for name in ("world.hidden", "world.critic_hidden", "network.channels"):
        if not get(config, name):
            raise UserError(f"--{name}: there must be at least one layer")
    if not 1 <= config.world.horizon <= config.unroll:
        raise UserError(f"--world.horizon {config.world.horizon}: must be from 1 to the unroll, {config.unroll}")
    refuse_options_of_games(config)
    if "hindsight" in config.curiosity and config.batch_size < 2:
        raise UserError("--batch-size 1: hindsight contrasts trajectories with each other and needs at least 2")
    if config.bonus.include_invariance and config.world.contrast_share < 1:
        raise UserError("--bonus.include-invariance: every step must be contrasted; set --world.contrast-share 1")
    return config


def refuse_options_of_games(config: Config) -> None:
    """Outside of Atari nothing reads them."""
    if config.env.startswith("atari/"):
        return
    for name, usual in dataclasses.asdict(AtariOptions()).items():
        if (value := getattr(config.atari, name)) != usual:
            flag = f"--atari.{name.replace('_', '-')}"
            raise UserError(f"{flag} {value}: is for Atari, and {config.env} is not a game of Atari")
