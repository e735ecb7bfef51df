"""Everything that can be set, as frozen dataclasses, and the two presets."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from curiax.errors import UserError


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the agent's networks."""

    encoder_hidden: tuple[int, ...] = ()
    """hidden layers of the encoder ω; none makes it linear"""
    patch: int = 1
    """side of the square patches that an image is cut into before all else; 1 keeps its pixels"""
    channels: tuple[int, ...] = (16, 32, 32)
    """the encoder's units, where observations are images, and the channels of each"""
    image_hidden: tuple[int, ...] = ()
    """hidden layers between these and w"""
    embedding: int = 64
    """size of w = ω(o)"""
    feature_hidden: tuple[int, ...] = (128,)
    """hidden layers of the encoders that methods other than BYOL have of their own"""
    encoder_gain: float = 6.0
    """factor of the initial weights of the last layer of ω, for vectors; above 1 makes up for sparse observations"""
    encoder_speed: float = 0.1
    """learning rate of the encoder ω, relative to the agent's: its slow copy is the target, which should stand still"""
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
    hidden: tuple[int, ...] = (256, 256)
    """hidden layers of predictor, reconstructor and generator"""
    half_life: int = 500
    """updates in which the learning rate of the world model halves, down to 1/400; 0 keeps it constant"""
    critic_hidden: tuple[int, ...] = (128, 128)
    """hidden layers of the critic, which sees every pair of a context and a hindsight vector"""
    layer_norm: bool = True
    """normalise the hidden layers of generator and reconstructor (LayerNorm without scale and shift)"""
    target_decay: float = 0.99
    """α: the target encoder's memory per update"""
    latent: int = 32
    """size of the hindsight vector z"""
    noise: int = 32
    """size of the generator's noise ε"""
    reconstruction_weight: float = 8.0
    """1/λ: weight of reconstruction against invariance"""
    invariance_weight: float = 1.0
    """weight of the contrastive loss in the model; 0 leaves it out"""
    temperature: float = 0.5
    """τ: divides the critic's energies"""
    critic: Literal["concat", "separable"] = "concat"
    """an MLP of [b, a, z], or an inner product of an MLP of [b, a] and an MLP of z"""
    contrast_share: float = 0.5
    """share of the time steps, drawn anew each update, on which z is contrasted"""
    measure_outcomes: bool = False
    """also measure how well (b, a) alone, and z alone, tell the outcome"""


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
    temperature_memory: float = 0.0
    """0: η follows its gradient. Else it is solved for in each batch, and falls no faster than by this factor"""
    control_variate: bool = False
    """what the policy loss has of all samples alike is found as an expectation, not from samples: far less noise"""
    alpha: float = 0.5
    """every α at the start"""
    epsilon_temperature: float = 0.1
    """ε_η: the larger, the more the best of the batch count"""
    epsilon_alpha: float = 0.005
    """ε_α: the KL limit, where actions are numbered"""
    epsilon_mean: float = 0.01
    """ε_αμ: the KL limit of a Gaussian policy's mean"""
    epsilon_covariance: float = 1e-4
    """ε_αΣ: and of its covariance, which would otherwise shrink before the mean is found"""
    target_period: int = 45
    """updates between copies of the online network to the acting one"""
    train_beliefs: bool = True
    """do policy and value train encoder and core too (representation sharing), where the curiosity trains them?"""
    popart_step: float = 0.01
    """how far an update moves the scale of values, which begins at 1, to that of its returns; few updates need more"""
    value_weight: float = 0.5
    """weight of the value loss"""
    entropy_weight: float = 0.001
    """weight of the entropy bonus"""


@dataclass(frozen=True)
class AtariOptions:
    """What an Atari game is played with."""

    sticky: Annotated[float, tyro.conf.arg(aliases=["--sticky"])] = 0.0
    """probability that the emulator repeats the last action instead of the one it is given"""
    noise: Annotated[Literal["none", "persistive", "patches"], tyro.conf.arg(aliases=["--noise"])] = "none"
    """noise laid over the frames: a random walk of every pixel, or a strip of patches, both driven by the actions"""
    noops: int = 30
    """an episode begins with up to so many no-ops; EnvPool plays one at least"""
    frame_limit: int = 108_000
    """frames of an episode, four to an agent step; then it is truncated"""
    full_actions: bool = False
    """all 18 actions, instead of those that the game knows"""


@dataclass(frozen=True)
class GymOptions:
    """How a Gymnasium environment is made and stepped."""

    kwargs: tuple[str, ...] = ()
    """arguments of gymnasium.make, as NAME=VALUE; a value is JSON, or else a word"""
    kinds: int = 0
    """integers of an observation are kinds of things below this number, each an input of its own; 0: amounts"""
    vectorization: Literal["auto", "sync", "async"] = "auto"
    """one after the other, a process for each, or (auto) the environment's own vector form, where it has one"""
    autoreset: Literal["next-step", "same-step", "disabled"] = "next-step"
    """Gymnasium's mode of the vector environment: what is learned is the same in each, next-step wastes no steps"""


def keywords(options: GymOptions) -> dict[str, Any]:
    """`kwargs`, read."""
    return dict(keyword(text) for text in options.kwargs)


def keyword(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise UserError(f"--gym.kwargs {text}: must be NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


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
    vmpo=VMPOConfig(
        discount=0.999,
        lambda_=1.0,
        target_period=10,
        epsilon_temperature=0.01,
        train_beliefs=True,
        entropy_weight=0.001,
    ),
)

PRESETS = {"laptop": LAPTOP, "paper": PAPER}


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
