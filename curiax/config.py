"""Everything that can be set, as frozen dataclasses, and the two presets."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from curiax.errors import UserError


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the agent's networks."""

    encoder_hidden: tuple[int, ...] = ()
    """hidden layers of the encoder ω; none makes it linear"""
    channels: tuple[int, ...] = (16, 32, 32)
    """the encoder's units, where observations are images, and the channels of each"""
    image_hidden: tuple[int, ...] = ()
    """hidden layers between these and w"""
    embedding: int = 64
    """size of w = ω(o)"""
    feature_hidden: tuple[int, ...] = (128,)
    """hidden layers of the encoders that methods other than BYOL have of their own"""
    encoder_speed: float = 0.3
    """learning rate of the encoder ω, relative to the agent's"""
    action_embedding: int = 32
    """size of the embedding of an action"""
    belief: int = 128
    """size of the belief b, the state of both GRUs"""
    head_hidden: tuple[int, ...] = (128,)
    """hidden layers of the policy and value heads"""


@dataclass(frozen=True)
class WorldConfig:
    """The curiosity's world model. τ, λ, z, ε, H are the paper's."""

    horizon: int = 1
    """H: open-loop steps predicted"""
    hidden: tuple[int, ...] = (128, 128)
    """hidden layers of predictor, reconstructor, generator and critic"""
    layer_norm: bool = True
    """LayerNorm in the hidden layers of predictor, reconstructor and generator"""
    hindsight: Literal["direct", "innovation"] = "innovation"
    """generator and reconstructor: the paper's MLPs, or channels for what the predictor missed (docs/methods.md)"""
    target_decay: float = 0.99
    """α: the target encoder's memory per update"""
    latent: int = 32
    """size of the hindsight vector z"""
    noise: int = 32
    """size of the generator's noise ε"""
    blur: float = 0.0
    """noise added to z, in units of each coordinate's spread: nothing finer can be told by z, or hidden in it"""
    reconstruction_weight: float = 5.0
    """1/λ: weight of reconstruction against invariance"""
    relative: bool = False
    """weigh reconstruction in units of the mean prediction error: 1/λ then means the same in every representation"""
    invariance_weight: float = 1.0
    """weight of the contrastive loss in the model; 0 leaves it out"""
    temperature: float = 0.5
    """τ: divides the critic's energies"""
    critic: Literal["concat", "separable"] = "separable"
    """an MLP of [b, a, z], or an inner product of an MLP of [b, a] and an MLP of z"""
    contrast_share: float = 1.0
    """share of the time steps, drawn anew each update, on which z is contrasted"""
    updates: Literal["alternating", "simultaneous"] = "simultaneous"
    """critic and model: one step each in turn, or both from one backward pass"""
    open_routes: tuple[Literal["generator-inputs", "critic-inputs"], ...] = ()
    """where the contrastive gradient may pass to encoder and beliefs besides training generator and critic"""
    hindsight_speed: float = 1.0
    """learning rate of generator, reconstructor and critic, relative to the agent's"""
    critic_speed: float = 1.0
    """learning rate of the critic, relative to that of generator and reconstructor"""
    warm_up: int = 1000
    """updates in which 1/λ and hindsight_speed come down, evenly in their logarithms, from a value at the start"""
    warm_up_weight: float = 25.0
    """1/λ at the start of the warm-up: with less, z says nothing and is not listened to (docs/methods.md)"""
    warm_up_speed: float = 3.0
    """hindsight_speed at the start of the warm-up"""
    measure_outcomes: bool = False
    """also measure how well z alone tells the outcome (metrics hindsight_only_error, target_variance)"""
    side_share: float = 0.25
    """share of the time steps on which direct hindsight's side predictor learns, a measuring instrument"""


@dataclass(frozen=True)
class MethodConfig:
    """What only one method has. EMI's weights are its authors' for Atari."""

    emi_information: float = 0.1
    """EMI: weight of the mutual information"""
    emi_error: float = 100.0
    """EMI: weight of ‖S‖², the part of the dynamics that is not linear"""
    emi_prior: float = 0.5
    """EMI: weight of the KL from the action embeddings to N(0, I)"""
    dora_discount: float = 0.99
    """DORA: γ_E; 0 counts visits of the action itself, not of where it leads"""
    dora_rate: float = 0.01
    """DORA: α_E, how far one visit takes an E-value; a pair that is paid for counts as visited once at least"""


@dataclass(frozen=True)
class BonusConfig:
    """From errors to rewards."""

    decay: float = 0.99
    """memory of the reward statistics per update"""
    prioritise: bool = True
    """pay only what exceeds the mean error"""
    rescale_horizon: bool = False
    """with H > 1, rescale the first transitions of a sequence, which get fewer error terms"""
    include_invariance: bool = False
    """add the contrastive term to the reward"""
    intrinsic_weight: float = 0.2
    """weight of the intrinsic reward in the mixed regime"""


@dataclass(frozen=True)
class VMPOConfig:
    """V-MPO and its returns."""

    discount: float = 0.99
    """γ"""
    lambda_: float = 0.95
    """λ of the returns; 1 is the return to the end of the unroll"""
    top_fraction: float = 0.5
    """share of the batch, by advantage, that the policy follows"""
    temperature: float = 0.5
    """η at the start"""
    alpha: float = 0.5
    """α at the start"""
    epsilon_temperature: float = 0.01
    """ε_η"""
    epsilon_alpha: float = 0.005
    """ε_α: the KL limit"""
    target_period: int = 10
    """updates between copies of the online network to the acting one"""
    train_beliefs: bool = False
    """do policy and value train encoder and core too (representation sharing), where the curiosity trains them?"""
    value_weight: float = 0.5
    """weight of the value loss"""
    entropy_weight: float = 0.02
    """weight of the entropy bonus"""


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
    env_steps: int = 3_000_000
    """environment steps in all"""
    batch_size: int = 32
    """B: trajectories per update, and K of the contrastive loss"""
    unroll: int = 32
    """T: steps per trajectory"""
    learning_rate: float = 3e-4
    """Adam's step size"""
    log_every: int = 25
    """updates per row of metrics; they run as one compiled program"""
    checkpoint_every: int = 1000
    """updates between checkpoints"""
    keep_checkpoints: int = 3
    """how many checkpoints stay on disk"""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    world: WorldConfig = field(default_factory=WorldConfig)
    method: MethodConfig = field(default_factory=MethodConfig)
    bonus: BonusConfig = field(default_factory=BonusConfig)
    vmpo: VMPOConfig = field(default_factory=VMPOConfig)

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
    checkpoint_every=1000,
    network=NetworkConfig(
        encoder_hidden=(512,),
        feature_hidden=(512,),
        embedding=512,
        encoder_speed=1.0,
        action_embedding=32,
        belief=256,
        head_hidden=(256,),
    ),
    world=WorldConfig(
        horizon=1,
        hidden=(512, 512, 512),
        layer_norm=False,
        hindsight="direct",
        target_decay=0.99,
        latent=256,
        noise=256,
        reconstruction_weight=1.0,
        temperature=0.5,
        critic="concat",
        contrast_share=1.0,
        updates="alternating",
        hindsight_speed=1.0,
        warm_up=0,
    ),
    bonus=BonusConfig(intrinsic_weight=0.2),
    vmpo=VMPOConfig(discount=0.999, lambda_=1.0, train_beliefs=True, entropy_weight=0.001),
)

PRESETS = {"laptop": LAPTOP, "paper": PAPER}

# field -> (lowest, highest, lowest and highest themselves allowed?)
RANGES: dict[str, tuple[float, float, bool]] = {
    "env_steps": (1, float("inf"), True),
    "seed": (0, 2**32 - 1, True),
    "coin_reward": (-1e6, 1e6, True),
    "batch_size": (1, 2**20, True),
    "unroll": (2, 2**20, True),
    "learning_rate": (0, 1, False),
    "log_every": (1, 2**20, True),
    "checkpoint_every": (1, float("inf"), True),
    "keep_checkpoints": (2, 1000, True),
    "network.embedding": (1, 2**16, True),
    "network.encoder_speed": (0, float("inf"), True),
    "network.action_embedding": (1, 2**16, True),
    "network.belief": (1, 2**16, True),
    "world.latent": (0, 2**16, True),
    "world.noise": (0, 2**16, True),
    "world.blur": (0, float("inf"), True),
    "world.target_decay": (0, 1, True),
    "world.reconstruction_weight": (0, float("inf"), True),
    "world.invariance_weight": (0, float("inf"), True),
    "world.temperature": (0, float("inf"), False),
    "world.contrast_share": (0, 1, True),
    "world.hindsight_speed": (0, float("inf"), False),
    "world.critic_speed": (0, float("inf"), False),
    "world.warm_up": (0, float("inf"), True),
    "world.warm_up_weight": (0, float("inf"), False),
    "world.warm_up_speed": (0, float("inf"), False),
    "world.side_share": (0, 1, True),
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
    "vmpo.alpha": (0, float("inf"), False),
    "vmpo.epsilon_temperature": (0, float("inf"), True),
    "vmpo.epsilon_alpha": (0, float("inf"), True),
    "vmpo.target_period": (1, float("inf"), True),
    "vmpo.value_weight": (0, float("inf"), True),
    "vmpo.entropy_weight": (0, float("inf"), True),
}

LAYERS = (
    "network.encoder_hidden",
    "network.feature_hidden",
    "network.channels",
    "network.image_hidden",
    "network.head_hidden",
    "world.hidden",
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
    for name in ("world.hidden", "network.channels"):
        if not get(config, name):
            raise UserError(f"--{name}: there must be at least one layer")
    if not 1 <= config.world.horizon <= config.unroll:
        raise UserError(f"--world.horizon {config.world.horizon}: must be from 1 to the unroll, {config.unroll}")
    if "hindsight" in config.curiosity and config.batch_size < 2:
        raise UserError("--batch-size 1: hindsight contrasts trajectories with each other and needs at least 2")
    if config.world.hindsight == "innovation" and config.world.open_routes:
        raise UserError("--world.open-routes: needs --world.hindsight direct; innovations leave the beliefs alone")
    if config.world.hindsight == "direct" and config.world.relative:
        raise UserError("--world.relative: needs --world.hindsight innovation, whose prediction error is the unit")
    if config.bonus.include_invariance and config.world.contrast_share < 1:
        raise UserError("--bonus.include-invariance: every step must be contrasted; set --world.contrast-share 1")
    return config


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
    }
    built = {name: part(**_tuples(values.get(name, {}))) for name, part in parts.items()}
    return Config(**(_tuples(values) | built))


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
