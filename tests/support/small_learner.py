"""A learner of small networks in a made-up environment, and random experience for it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from curiax import curiosity as curiosities
from curiax.agent.vmpo import init_duals
from curiax.agent.vmpo_sparse import FORMS
from curiax.config import Config, NetworkConfig, VMPOConfig, WorldConfig
from curiax.curiosity.measures.critic import CriticState, critic_optimizer
from curiax.curiosity.reward import bonus_init
from curiax.curiosity.world_model import masked_means, weighted_sum
from curiax.envs.base import Environment
from curiax.training.learner import learner_learn, learner_losses, make_learner
from curiax.training.values import values_of
from curiax.types import EnvSpec, LearnerState, Loss, TimeStep, Trajectory

T, B, A = 5, 4, 3
PAID = "byol+hindsight-contrast-paid"  # whose reward also holds the contrastive loss
CONFIG = Config(
    curiosity=PAID,
    batch_size=B,
    unroll=T,
    network=NetworkConfig(encoder_hidden=(), feature_hidden=(), embedding=4, belief=4),
    world=WorldConfig(hidden=(5,), critic_hidden=(5,), layer_norm=False, latent=3, noise=2, contrast_share=1.0),
    vmpo=VMPOConfig(target_period=2, discount=0.5, return_lambda=1.0, epsilon_alpha=10.0),
)
KEY = jax.random.key(3)
SGD = optax.sgd(0.1)  # not Adam, whose first step hardly depends on the size of a gradient


def walk() -> Environment:
    """Adds to the coordinate of the action; an episode ends by chance, or after four steps."""

    def step(state, action, noise):
        state = state + jax.nn.one_hot(action, A)
        none = jnp.array(False)
        return state, TimeStep(state, state[0], noise[0] > 0.9, none, {"noise": none}, {})

    return Environment(
        spec=EnvSpec("walk", observation_shape=(A,), num_actions=A, time_limit=4),
        draw=lambda key: jax.random.uniform(key, (A,)),
        reset=lambda noise: (noise, noise),
        step=step,
    )


ENV = walk()


def make_state(config: Config) -> LearnerState:
    """The state of a learner before its first update, its weights random."""
    rng = np.random.default_rng(1)
    shapes = jax.eval_shape(make_learner(config, ENV).init, KEY)._replace(key=(), optimizer=())
    state = jax.tree.map(lambda leaf: jnp.asarray(rng.uniform(0.1, 1, leaf.shape), leaf.dtype), shapes)
    params = jax.tree.map(lambda leaf: jnp.asarray(rng.uniform(-1, 1, leaf.shape), leaf.dtype), shapes.params)
    params = params._replace(duals=init_duals(FORMS[config.vmpo.form]))
    if isinstance(state.critic, CriticState):  # with an Adam that knows nothing yet
        critic = jax.tree.map(
            lambda leaf: jnp.asarray(rng.uniform(-1, 1, leaf.shape), leaf.dtype), shapes.critic.params
        )
        state = state._replace(critic=CriticState(critic, critic_optimizer(config).init(critic)))
    state = state._replace(params=params, optimizer=SGD.init(params), bonus=bonus_init())
    return state._replace(popart=values_of(config).init(), key=KEY, num_updates=jnp.int32(0))


def learn_by(config: Config, state: LearnerState, trajectory: Trajectory):
    new, _, metrics = learner_learn(config, curiosities.make(config, ENV.spec), SGD, state, trajectory, KEY)
    return new, metrics


def total(losses: dict[str, Loss]):
    return weighted_sum(losses, masked_means(losses))


def loss_of(config: Config, params, state: LearnerState, trajectory: Trajectory):
    losses, scored = learner_losses(config, curiosities.make(config, ENV.spec), params, state, trajectory, KEY)
    return total(losses), scored


learn = jax.jit(learn_by, static_argnums=0)
evaluate = jax.jit(loss_of, static_argnums=0)


def make_trajectory(ends=(), terminated=()) -> Trajectory:
    """Random experience; `ends` are the final observations (t, b), `terminated` the steps that end for good."""
    rng = np.random.default_rng(0)
    last, ended = np.zeros((T + 1, B), bool), np.zeros((T, B), bool)
    for index in ends:
        last[index] = True
    for index in terminated:
        ended[index] = True
    return Trajectory(
        obs=jnp.asarray(rng.standard_normal((T + 1, B, A)), jnp.float32),
        first=jnp.asarray(np.roll(last, 1, axis=0)),
        last=jnp.asarray(last),
        action=jnp.asarray(rng.integers(0, A, (T, B)), jnp.int32),
        logits=jnp.asarray(rng.standard_normal((T, B, A)), jnp.float32),
        reward=jnp.asarray(rng.standard_normal((T, B)), jnp.float32),
        terminated=jnp.asarray(ended),
        belief=jnp.asarray(rng.standard_normal((B, CONFIG.network.belief)), jnp.float32),
        previous_action=jnp.zeros(B, jnp.int32),
        info={"noise": jnp.zeros((T, B), bool)},
        episode={},
    )


TRAJECTORY = make_trajectory(ends=[(2, 1)])
START = make_state(CONFIG)


def equal(left, right) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, left, right))


def close(left, right) -> bool:
    return jax.tree.all(jax.tree.map(lambda a, b: np.allclose(a, b, rtol=1e-4, atol=1e-6), left, right))


def finite(tree) -> bool:
    return jax.tree.all(jax.tree.map(lambda leaf: bool(np.isfinite(leaf).all()), tree))
