"""Representations: what they train, and what follows what."""

import jax
import jax.numpy as jnp
import numpy as np

from curiax import curiosity as curiosities
from curiax.agent.policy import make_encoder
from curiax.config import Config, NetworkConfig, WorldConfig
from curiax.curiosity.representations import bootstrapped, inverse_dynamics
from curiax.learner import masked_mean
from curiax.types import EnvSpec, Experience

T, B = 4, 3
SPEC = EnvSpec("none", observation_shape=(2,), num_actions=3, time_limit=100)
CONFIG = Config(
    curiosity="icm",
    network=NetworkConfig(encoder_hidden=(5,), embedding=4, action_embedding=2, belief=3, head_hidden=(3,)),
    world=WorldConfig(hidden=(5,), target_decay=0.75),
)
KEY = jax.random.key(0)
QUICK = {"xla_backend_optimization_level": 0}  # compiling this program is what costs, not running it
RNG = np.random.default_rng(0)


def random_like(shapes):
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * RNG.standard_normal(leaf.shape), leaf.dtype), shapes)


def make_experience() -> Experience:
    return Experience(
        obs=jnp.asarray(RNG.standard_normal((T + 1, B, 2)), jnp.float32),
        action=jnp.asarray(RNG.integers(0, SPEC.num_actions, (T, B)), jnp.int32),
        valid=jnp.ones((T, B), bool).at[2, 0].set(False),
        belief=jnp.asarray(RNG.standard_normal((T + 1, B, CONFIG.network.belief)), jnp.float32),
        action_embedding=jnp.asarray(RNG.standard_normal((T, B, 2)), jnp.float32),
    )


EXPERIENCE = make_experience()


def encoders():
    """Two encoders of one shape: the target's and the agent's."""
    shapes = jax.eval_shape(lambda: make_encoder(CONFIG.network, SPEC, KEY))
    return random_like(shapes), random_like(shapes)


def icm_losses(params, belief):
    """The two losses of ICM, as [2]."""
    output = curiosities.make(CONFIG, SPEC).score(params, (), (), EXPERIENCE._replace(belief=belief), KEY)
    return jnp.stack([masked_mean(output.losses[name]) for name in ("inverse", "prediction")])


icm_gradients = jax.jit(jax.jacrev(icm_losses, argnums=(0, 1)), compiler_options=QUICK)


def icm_reached(loss):
    """Which parts of ICM a loss trains, in every leaf or not at all."""
    params, _, _ = jax.eval_shape(curiosities.make(CONFIG, SPEC).init, KEY, ())
    (representation, measure), belief = icm_gradients(random_like(params), EXPERIENCE.belief)
    index = ("inverse", "prediction").index(loss)
    parts = representation | measure | {"belief": belief}
    reached = {name: {bool(np.any(leaf[index])) for leaf in jax.tree.leaves(part)} for name, part in parts.items()}
    assert all(len(leaves) == 1 for leaves in reached.values()), reached
    return {name for name, leaves in reached.items() if leaves == {True}}


def test_bootstrapped_targets_are_embedded_by_the_target_network():
    target, online = encoders()
    representation = bootstrapped(CONFIG, SPEC)
    represented = representation.represent((), target, EXPERIENCE)
    np.testing.assert_allclose(represented.target, target(EXPERIENCE.obs[1:]), rtol=1e-5)
    assert not np.allclose(represented.target, online(EXPERIENCE.obs[1:]))


def test_bootstrapped_states_are_the_beliefs_before_each_action():
    represented = bootstrapped(CONFIG, SPEC).represent((), encoders()[0], EXPERIENCE)
    np.testing.assert_array_equal(represented.state, EXPERIENCE.belief[:-1])
    np.testing.assert_array_equal(represented.action, EXPERIENCE.action_embedding)


def test_bootstrapped_target_starts_as_the_agent_s_encoder():
    _, online = encoders()
    _, targets = bootstrapped(CONFIG, SPEC).init(KEY, online)
    jax.tree.map(np.testing.assert_array_equal, targets, online)


def test_bootstrapped_target_follows_slowly():
    # α = 0.75: 0.75 · 4 + 0.25 · 8 = 5
    weights = encoders()[0]
    target, online = (jax.tree.map(lambda leaf, x=x: jnp.full_like(leaf, x), weights) for x in (4.0, 8.0))
    followed = bootstrapped(CONFIG, SPEC).follow(target, online, EXPERIENCE.obs)
    jax.tree.map(lambda leaf: np.testing.assert_allclose(leaf, 5.0, rtol=1e-6), followed)


def test_inverse_loss_alone_trains_the_features_of_icm():
    assert icm_reached("inverse") == {"encoder", "inverse"}


def test_forward_loss_leaves_the_features_of_icm_untouched():
    assert icm_reached("prediction") == {"action", "core", "predictor"}


def test_icm_predicts_the_features_of_the_next_observation_from_those_of_this_one():
    representation = inverse_dynamics(CONFIG, SPEC)
    params = random_like(jax.eval_shape(representation.init, KEY, ())[0])
    represented = representation.represent(params, (), EXPERIENCE)
    features = params["encoder"](EXPERIENCE.obs)
    np.testing.assert_allclose(represented.state, features[:-1], rtol=1e-5)
    np.testing.assert_allclose(represented.target, features[1:], rtol=1e-5)


def test_inverse_loss_of_a_guess_is_log_of_the_number_of_actions():
    representation = inverse_dynamics(CONFIG, SPEC)
    params = random_like(jax.eval_shape(representation.init, KEY, ())[0])
    params["inverse"] = jax.tree.map(jnp.zeros_like, params["inverse"])
    loss = representation.represent(params, (), EXPERIENCE).losses["inverse"]
    np.testing.assert_allclose(loss.value, np.log(3.0), rtol=1e-6)
    np.testing.assert_array_equal(loss.mask, EXPERIENCE.valid)
