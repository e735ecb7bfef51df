"""The presets of each family of environments: the one place where sizes depend on the family."""

from dataclasses import replace
from typing import Any

from curiax.config.schema import BonusConfig, Config, NetworkConfig, VMPOConfig, WorldConfig
from curiax.errors import UserError, unknown_name

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
        encoder_bias=0.0,
        encoder_speed=1.0,
        belief=256,
    ),
    world=WorldConfig(
        horizon=1,
        hidden=(512, 512, 512),
        half_life=0,
        critic_hidden=(512, 512, 512),
        layer_norm=False,
        latent=256,
        noise=256,
        reconstruction_weight=1.0,
        temperature=0.5,
        contrast_share=1.0,
    ),
    bonus=BonusConfig(intrinsic_weight=0.2),
    vmpo=VMPOConfig(
        discount=0.999, return_lambda=1.0, epsilon_temperature=0.01, target_period=10, entropy_weight=0.001
    ),
)

PRESETS = {"laptop": LAPTOP, "paper": PAPER}

# LAPTOP was tuned in the maze (docs/maze.md). All other families start from these sizes and learning rates.
BASE = replace(
    LAPTOP,
    unroll=32,
    learning_rate=1e-3,
    log_every=25,
    checkpoint_every=1000,
    network=replace(LAPTOP.network, encoder_gain=1.0, encoder_bias=0.0),
    world=replace(LAPTOP.world, hidden=(128, 128), half_life=0, reconstruction_weight=5.0),
    vmpo=replace(LAPTOP.vmpo, target_period=10, epsilon_temperature=0.01),
)

# One frame of 84×84 is 12×12 patches of 7×7 pixels, and two small units read these: with 4×4 the encoder alone took as
# long as everything else. H = 8 as in the paper. There are 2,000 updates in all, and in the first hundreds errors fall
# to a thousandth: statistics that remember a hundred updates would find nothing above their mean, and pay nothing.
ATARI_LAPTOP = replace(
    BASE,
    env_steps=2_000_000,
    learning_rate=3e-4,
    log_every=5,
    checkpoint_every=100,
    network=replace(BASE.network, patch=7, channels=(16, 32), embedding=128, encoder_speed=1.0, belief=128),
    world=replace(BASE.world, horizon=8),
    bonus=replace(BASE.bonus, decay=0.9),
)

# Appendix C: as in the maze but for the horizon; 3 M learner steps.
ATARI_PAPER = replace(
    PAPER,
    env_steps=3_000_000 * 32 * 128,
    log_every=5,
    network=replace(PAPER.network, patch=1, channels=(16, 32, 32)),
    world=replace(PAPER.world, horizon=8),
)

# Someone's own environment pays, rarely, and its steps are dear: two gradient steps from each batch, statistics that
# remember the last success until the next, and a policy that follows all of a batch, success or not, by how much better
# than expected it went, and hardly moves where nothing did (docs/gymnasium.md).
GYM_LAPTOP = replace(
    BASE,
    reward="mixed",
    env_steps=1_000_000,
    batch_size=16,
    passes=2,
    log_every=10,
    checkpoint_every=200,
    learning_rate=1e-3,
    network=replace(BASE.network, encoder_hidden=(64,), encoder_speed=1.0, patch=4, channels=(16, 32)),
    bonus=replace(BASE.bonus, decay=0.999, intrinsic_weight=0.01),
    vmpo=replace(
        BASE.vmpo,
        form="sparse",
        target_period=4,
        epsilon_temperature=1.0,
        epsilon_alpha=0.02,
        entropy_weight=0.004,
    ),
)

# 1,345 numbers or 63×63 pixels in the classic game: one patch is one cell of its 9×9.
CRAFTAX_LAPTOP = replace(
    BASE,
    env_steps=2_000_000,
    log_every=10,
    checkpoint_every=200,
    network=replace(BASE.network, encoder_hidden=(256,), embedding=128, patch=7, channels=(16, 32)),
)
CRAFTAX_PAPER = replace(PAPER, network=replace(PAPER.network, patch=7))
CELL = 10  # pixels a side in pictures of the larger game

# A patch is one cell of the 9×9 that are drawn.
CRAFTER_LAPTOP = replace(CRAFTAX_LAPTOP, env_steps=1_000_000, batch_size=16)

GYMNAX_LAPTOP = replace(BASE, env_steps=1_000_000, network=replace(BASE.network, encoder_hidden=(64,)))

# A curiosity in somebody else's loop, which may be short, and its noise large (docs/one_env.md): z and ε are the
# paper's, and the critic, an inner product, sees a leak of hundreds of bits within tens of updates.
DROP_IN_LAPTOP = replace(
    BASE,
    world=replace(
        BASE.world,
        critic="separable",
        critic_steps=2,
        contrast_share=1.0,
        skip=True,
        latent=256,
        noise=256,
    ),
)

FAMILIES = {
    "maze": PRESETS,
    "scm": PRESETS,
    "craftax": {"laptop": CRAFTAX_LAPTOP, "paper": CRAFTAX_PAPER},
    "craftax/pixels": {
        preset.preset: replace(preset, network=replace(preset.network, patch=CELL))
        for preset in (CRAFTAX_LAPTOP, CRAFTAX_PAPER)
    },
    "crafter": {"laptop": CRAFTER_LAPTOP, "paper": CRAFTAX_PAPER},
    "gymnax": {"laptop": GYMNAX_LAPTOP, "paper": PAPER},
    "atari": {"laptop": ATARI_LAPTOP, "paper": ATARI_PAPER},
    "gym": {"laptop": GYM_LAPTOP, "paper": PAPER},
    "dropin": {"laptop": DROP_IN_LAPTOP, "paper": PAPER},
}


def preset_for(name: str, env: str) -> Config:
    """The preset of that name for an environment; its other fields are as in the preset."""
    family = env.partition("/")[0]
    own = family if family in FAMILIES else "gymnax"  # a JAX environment of the user's is most like gymnax's
    return FAMILIES.get(env, FAMILIES[own])[name]


def read_preset(preset: Any, family: str) -> Config:
    """The preset of that name for a family of environments. A config is returned as it is."""
    if isinstance(preset, Config):
        return preset
    if not isinstance(preset, str):
        raise UserError(f"preset: got {preset!r}, expected {' or '.join(PRESETS)}, or a curiax.config.Config")
    if preset not in PRESETS:
        raise UserError(unknown_name("preset", preset, PRESETS))
    return preset_for(preset, family)


def preset_of(args: list[str]) -> Config:
    """The preset that a command line names. It decides the defaults, so it is read before everything else."""
    for position, arg in enumerate(args):
        name, equals, value = arg.partition("=")
        if name == "--preset":
            value = value if equals else (args[position + 1] if position + 1 < len(args) else "")
            if value not in PRESETS:
                raise UserError(unknown_name("--preset", value, PRESETS))
            return PRESETS[value]
    return PRESETS["laptop"]
