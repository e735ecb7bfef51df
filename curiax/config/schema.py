"""Everything that can be set, as frozen dataclasses; each field has its range beside it."""

import dataclasses
import json
import reprlib
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_type_hints

import tyro

from curiax.config.dotted import checked
from curiax.config.ranges import Above, Count, Layers, Range, Seed, Size
from curiax.errors import UserError

Share = Annotated[float, Range(0, 1)]
Positive = Annotated[float, Above(0)]
NotNegative = Annotated[float, Range(0)]


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the agent's networks."""

    encoder_hidden: Layers = ()
    """hidden layers of the encoder ω; none makes it linear"""
    patch: Annotated[int, Range(1, 2**10)] = 1
    """images are cut into square patches of this side, each one input of the convolutions; 1 keeps the pixels"""
    channels: Annotated[Layers, "not empty"] = (16, 32, 32)
    """convolutional units of the encoder, where observations are images, and the channels of each"""
    embedding: Size = 64
    """size of w = ω(o)"""
    feature_hidden: Layers = (128,)
    """hidden layers of the encoders that methods other than BYOL have of their own"""
    encoder_gain: Positive = 6.0
    """factor of the initial weights of the last layer of ω, for vectors; above 1 suits sparse observations"""
    encoder_bias: NotNegative = 5.0
    """initial bias of the last layer of ω, for vectors; equivalent to this many inputs that are always 1"""
    encoder_speed: NotNegative = 0.1
    """learning rate of ω relative to the others; a slow encoder keeps its bootstrapped targets still"""
    belief: Size = 128
    """size of the belief b, of both GRUs, and of the hidden layer of policy and value"""


@dataclass(frozen=True)
class WorldConfig:
    """The curiosity's world model. H, τ, λ, z, ε are the paper's."""

    horizon: Count = 1
    """H: open-loop steps predicted; at most the unroll"""
    hidden: Annotated[Layers, "not empty"] = (256, 256)
    """hidden layers of predictor, reconstructor and generator"""
    half_life: Annotated[int, Range(0, 2**31 - 1)] = 500
    """updates in which the world model's learning rate halves, down to 1/400; 0 keeps it constant"""
    critic: Literal["concat", "separable"] = "concat"
    """the paper's MLP of context and z, or an inner product of an MLP of each, which is cheaper"""
    critic_hidden: Annotated[Layers, "not empty"] = (128, 128)
    """hidden layers of the critic, which sees every pair of a context and a hindsight vector"""
    layer_norm: bool = True
    """normalise the hidden layers of generator and reconstructor (LayerNorm without scale and shift)"""
    skip: bool = False
    """add linear maps, from the outcome to z and from z to the reconstruction: they carry noise of more numbers than
    the hidden layers have units"""
    latent: Annotated[int, Range(0, 2**16)] = 32
    """size of the hindsight vector z"""
    noise: Annotated[int, Range(0, 2**16)] = 32
    """size of the generator's noise ε"""
    reconstruction_weight: NotNegative = 8.0
    """1/λ: weight of the reconstruction loss; the contrastive loss has weight 1"""
    temperature: Positive = 0.5
    """τ: divides the critic's energies"""
    contrast_share: Share = 0.5
    """share of the time steps, drawn anew in each update, on which z is contrasted"""
    critic_steps: Annotated[int, Range(1, 1000)] = 1
    """steps of the critic in each update"""
    generator_speed: Positive = 1.0
    """learning rate of the generator, relative to the others"""


@dataclass(frozen=True)
class BonusConfig:
    """From errors to rewards."""

    decay: Annotated[float, Above(0, below=1)] = 0.99
    """memory of the reward statistics per update"""
    normalise: bool = True
    """divide errors by their running standard deviation"""
    prioritise: bool = True
    """pay only what exceeds the mean error"""
    intrinsic_weight: NotNegative = 0.2
    """weight of the intrinsic reward in the mixed regime"""


@dataclass(frozen=True)
class VMPOConfig:
    """V-MPO and its returns."""

    discount: Share = 0.99
    """γ"""
    return_lambda: Share = 0.95
    """λ of the returns; 1 is the return to the end of the unroll"""
    form: Literal["paper", "sparse"] = "paper"
    """V-MPO as published, or with η solved for in each batch, where rewards are rare (docs/gymnasium.md)"""
    epsilon_temperature: NotNegative = 0.1
    """ε_η: the larger, the more the best of the batch count"""
    epsilon_alpha: NotNegative = 0.005
    """ε_α: the KL limit of discrete policies"""
    target_period: Annotated[int, Range(1, 2**31 - 1)] = 45
    """updates between copies of the online network to the acting one"""
    entropy_weight: NotNegative = 0.001
    """weight of the entropy bonus"""
    intrinsic_discount: Share = 0.99
    """γ_I, of the intrinsic return; with `--value separate` only, as the next"""
    intrinsic_episodic: bool = True
    """the intrinsic return ends with the episode; otherwise it goes on into the next one"""


@dataclass(frozen=True)
class AtariOptions:
    """What an Atari game is played with."""

    sticky: Annotated[float, Range(0, 1), tyro.conf.arg(aliases=["--sticky"])] = 0.0
    """probability that the emulator repeats the last action instead of the one it is given"""
    noise: Annotated[Literal["none", "persistive", "patches"], tyro.conf.arg(aliases=["--noise"])] = "none"
    """noise over the frames, driven by the actions: a random walk of every pixel, or a strip of patches"""
    full_actions: bool = False
    """all 18 actions, instead of those that the game knows"""


@dataclass(frozen=True)
class GymOptions:
    """How a Gymnasium environment is made and stepped."""

    kwargs: tuple[str, ...] = ()
    """arguments of gymnasium.make, as NAME=VALUE; a value is JSON, or else a word"""
    kinds: Annotated[int, Range(0, 256)] = 0
    """integer observations are categories below this number, and become one-hot; 0: they are amounts"""
    vectorization: Literal["auto", "sync", "async"] = "auto"
    """one after the other, a process for each, or (auto) the environment's own vector form, where it has one"""


@dataclass(frozen=True)
class Config:
    """A run: enough to repeat it."""

    env: Annotated[str, tyro.conf.Positional] = "maze/on-demand"
    """an environment, see `curiax list envs`"""
    curiosity: str = "byol-hindsight"
    """a method, see `curiax list methods`"""
    seed: Seed = 0
    """the one source of randomness"""
    preset: Literal["laptop", "paper"] = "laptop"
    """where the defaults come from"""
    reward: Literal["intrinsic", "mixed"] = "intrinsic"
    """curiosity alone, or added to the environment's own reward"""
    value: Literal["single", "separate"] = "single"
    """one value function of the mixed reward, or one of each of its two streams (docs/gymnasium.md)"""
    env_steps: Annotated[int, Range(1, 10**15)] = 3_500_000
    """environment steps in all, rounded to whole log intervals"""
    batch_size: Annotated[int, Range(1, 2**20)] = 32
    """B: trajectories per update, and K of the contrastive loss"""
    unroll: Annotated[int, Range(2, 2**20)] = 16
    """T: steps per trajectory"""
    passes: Annotated[int, Range(1, 1000)] = 1
    """gradient steps from each batch, for the same rewards; several where environment steps are slow"""
    learning_rate: Annotated[float, Above(0, below=1)] = 8e-4
    """Adam's step size"""
    sync: bool = False
    """where the environment is stepped on the host: never collect a batch while learning from another"""
    log_every: Annotated[int, Range(1, 2**20)] = 50
    """updates per row of metrics; they run as one compiled program"""
    checkpoint_every: Count = 2000
    """updates between checkpoints"""
    evaluate_every: Annotated[int, Range(0, 2**31 - 1)] = 0
    """updates between evaluations of the deterministic policy, each of 20 episodes; 0 for none"""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    world: WorldConfig = field(default_factory=WorldConfig)
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


def keywords(options: GymOptions) -> dict[str, Any]:
    """`kwargs` as a dict."""
    return dict(keyword(text) for text in options.kwargs)


def keyword(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise UserError(f"--gym.kwargs {text}: must be NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def to_dict(config: Config) -> dict[str, Any]:
    return dataclasses.asdict(config)


def from_dict(values: dict[str, Any]) -> Config:
    """The inverse of `to_dict`, also after a trip through JSON. Retired fields of older versions are dropped.

    Raises a ValueError that names a field which is unknown or of another type. Ranges are checked by `validate`.
    """
    try:
        return _build(Config, values, "")
    except UserError as error:
        raise ValueError(str(error)) from None


def _build(part: type, values: Any, prefix: str) -> Any:
    if not isinstance(values, dict):
        raise ValueError(f"{prefix.rstrip('.') or 'config'}: got {reprlib.repr(values)}, expected names and values")
    built: dict[str, Any] = {}
    known = get_type_hints(part, include_extras=True)
    for name, value in values.items():
        if prefix + name in RETIRED:
            continue
        name = RENAMED.get(prefix + name, name)
        if name not in known:
            raise ValueError(f"{reprlib.repr(f'{prefix}{name}')} is no field")
        if dataclasses.is_dataclass(known[name]):
            built[name] = _build(known[name], value, f"{prefix}{name}.")
        else:
            built[name] = checked(f"{prefix}{name}", known[name], value)
    return part(**built)


def retired(values: dict[str, Any]) -> list[str]:
    """The retired fields that a saved config has, by their dotted names."""
    flat = [*values, *(f"{group}.{name}" for group, part in values.items() if isinstance(part, dict) for name in part)]
    return [name for name in flat if name in RETIRED]


RENAMED = {"vmpo.lambda_": "return_lambda"}
# Fields of older versions. A saved config may have them; they are dropped when it is read.
RETIRED = frozenset(
    """
    coin_reward max_gradient_norm keep_checkpoints method
    network.image_hidden network.action_embedding network.head_hidden
    world.target_decay world.invariance_weight world.measure_outcomes world.updates world.shortcut
    world.speed world.hindsight_speed world.critic_speed world.warm_up_weight world.warm_up_speed world.side_share
    world.blur world.relative world.open_routes world.form world.hindsight world.warm_up
    bonus.rescale_horizon bonus.include_invariance
    vmpo.top_fraction vmpo.temperature vmpo.temperature_memory vmpo.control_variate vmpo.alpha
    vmpo.epsilon_mean vmpo.epsilon_covariance vmpo.train_beliefs vmpo.popart_step vmpo.value_weight
    atari.noops atari.frame_limit gym.autoreset
    """.split()  # noqa: SIM905 — a list to be read
)
