"""Everything that can be set, as frozen dataclasses, and the two presets."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from curiax.errors import UserError
from curiax.parts import AtariOptions, BonusConfig, MethodConfig, NetworkConfig, VMPOConfig, WorldConfig
from curiax.parts_gym import GymOptions, keywords


@dataclass(frozen=True)
class Config:
    """A run: enough to repeat it."""

    env: Annotated[str, tyro.conf.Positional] = "maze/on-demand"
    """an environment, see `curiax list envs`"""
    curiosity: str = "byol-hindsight"
    """a method, see `curiax list methods`"""
    seed: int = 0
    """the one source of randomness"""
    preset: Literal["laptop", "paper"] = "laptop"
    """where the defaults come from"""
    reward: Literal["intrinsic", "mixed"] = "intrinsic"
    """curiosity alone, or added to the environment's own reward"""
    coin_reward: float = 0.0
    """what the maze pays for a coin"""
    env_steps: int = 3_500_000
    """environment steps in all"""
    batch_size: int = 32
    """B: trajectories per update, and K of the contrastive loss"""
    unroll: int = 16
    """T: steps per trajectory"""
    passes: int = 1
    """gradient steps from each batch, all for the same rewards; where steps of the environment are dear, several"""
    learning_rate: float = 8e-4
    """Adam's step size"""
    max_gradient_norm: float = 1.0
    """a larger gradient is scaled down to this norm"""
    sync: bool = False
    """where the environment is stepped on the host: never collect a batch while learning from another"""
    log_every: int = 50
    """updates per row of metrics; they run as one compiled program"""
    checkpoint_every: int = 2000
    """updates between checkpoints"""
    keep_checkpoints: int = 3
    """how many checkpoints stay on disk"""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    world: WorldConfig = field(default_factory=WorldConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    bonus: BonusConfig = field(default_factory=BonusConfig)
    vmpo: VMPOConfig = field(default_factory=VMPOConfig)
    atari: AtariOptions = field(default_factory=AtariOptions)
    gym: GymOptions = field(default_factory=GymOptions)

    @property
    def steps_per_update(self) -> int:
        return self.batch_size * self.unroll

    @property
    def num_updates(self) -> int:
        """Whole log intervals, so that every run ends on a row of metrics."""
        interval = self.steps_per_update * self.log_every
        return max(1, round(self.env_steps / interval)) * self.log_every


LAPTOP = Config()

# The paper's numbers, verbatim (appendix C); Adam's β₁ = 0.9 is optax's default. 100,000 learner steps.
PAPER = Config(
    preset="paper",
    env_steps=100_000 * 32 * 128,
    batch_size=32,
    unroll=128,
    learning_rate=1e-4,
    log_every=25,
    checkpoint_every=1000,
    network=NetworkConfig(
        encoder_hidden=(512,),
        feature_hidden=(512,),
        embedding=512,
        encoder_gain=1.0,
        encoder_speed=1.0,
        action_embedding=32,
        belief=256,
        head_hidden=(256,),
    ),
    world=WorldConfig(
        horizon=1,
        hidden=(512, 512, 512),
        half_life=0,
        critic_hidden=(512, 512, 512),
        layer_norm=False,
        target_decay=0.99,
        latent=256,
        noise=256,
        reconstruction_weight=1.0,
        temperature=0.5,
        critic="concat",
        contrast_share=1.0,
    ),
    bonus=BonusConfig(intrinsic_weight=0.2),
    vmpo=VMPOConfig(discount=0.999, lambda_=1.0, target_period=10, train_beliefs=True, entropy_weight=0.001),
)

PRESETS = {"laptop": LAPTOP, "paper": PAPER}

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


def get(config: Any, name: str) -> Any:
    """The value of a dotted field name."""
    for part in name.split("."):
        config = getattr(config, part)
    return config


def to_dict(config: Config) -> dict[str, Any]:
    return dataclasses.asdict(config)


def from_dict(values: dict[str, Any]) -> Config:
    """The inverse of `to_dict`, also after a trip through JSON."""
    parts = {
        "network": NetworkConfig,
        "world": WorldConfig,
        "method": MethodConfig,
        "bonus": BonusConfig,
        "vmpo": VMPOConfig,
        "atari": AtariOptions,
        "gym": GymOptions,
    }
    built = {name: part(**_tuples(values.get(name, {}))) for name, part in parts.items()}
    return Config(**(_tuples(values) | built))


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
