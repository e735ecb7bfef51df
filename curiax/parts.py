"""The parts of a config: groups of options, as frozen dataclasses."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro


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
    """updates in which the learning rate of the world model halves, down to a hundredth; 0 keeps it constant"""
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
    epsilon_temperature: float = 0.01
    """ε_η"""
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
