"""The critic: energies of all pairs of contexts and hindsight vectors, the contrastive value L_con, and training."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax.agent.networks import MLP, add_bias
from curiax.config import Config
from curiax.curiosity.base import decay_of
from curiax.curiosity.world_model import descend
from curiax.types import Params, State

MASKED = -1e9  # an energy whose exponential is zero; −∞ would make gradients NaN


class Concat(NamedTuple):
    """The paper's critic: one MLP of [b, a, z]."""

    mlp: MLP


class Separable(NamedTuple):
    """⟨f(b, a), h(z)⟩: one network evaluation per item instead of one per pair."""

    context: MLP
    latent: MLP


class CriticState(NamedTuple):
    """A critic and the state of its Adam."""

    params: Params  # Concat or Separable
    optimizer: State


def make_critic(form: str, context: int, latent: int, hidden: tuple[int, ...], key: PRNGKeyArray) -> Concat | Separable:
    if form == "concat":
        return Concat(MLP(context + latent, hidden, 1, key))
    key_context, key_latent = jax.random.split(key)
    size = hidden[-1]
    return Separable(
        context=MLP(context, hidden[:-1], size, key_context), latent=MLP(latent, hidden[:-1], size, key_latent)
    )


def energies(
    critic: Concat | Separable, context: Float[Array, "*batch K c"], z: Float[Array, "*batch K l"]
) -> Float[Array, "*batch K K"]:
    """g(context_j, z_k) in row j, column k: rows are contexts, columns are hindsight vectors. Unbounded."""
    if isinstance(critic, Separable):
        left, right = critic.context(context), critic.latent(z)
        return jnp.einsum("...jd,...kd->...jk", left, right) * left.shape[-1] ** -0.5
    # The first layer is linear in [context, z]: each half is computed once per item and the two are added pairwise.
    first, *middle, last = critic.mlp.layers
    num_context = context.shape[-1]
    from_context = add_bias(context @ first.weight[:num_context], first.bias)
    from_latent = z @ first.weight[num_context:]
    x = jax.nn.relu(from_context[..., :, None, :] + from_latent[..., None, :, :])
    for layer in middle:
        x = jax.nn.relu(layer(x))
    return last(x)[..., 0]


def contrastive_value(
    energy: Float[Array, "*batch K K"], valid: Bool[Array, "*batch K"], temperature: float
) -> Float[Array, "*batch K"]:
    """L_con(j) = e_jj − log Σ_k exp e_jk + log K,  e = g/τ, the sum over valid columns k. Never above log K.

    InfoNCE (van den Oord et al., 2018), a lower bound of the mutual information of context and z.
    """
    scaled = energy / temperature
    # The diagonal as a masked sum: sharded, it needs no communication between devices.
    own = jnp.sum(jnp.where(jnp.eye(scaled.shape[-1], dtype=bool), scaled, 0.0), axis=-1)
    columns = jnp.where(valid[..., None, :], scaled, MASKED)
    count = jnp.maximum(jnp.sum(valid.astype(energy.dtype), axis=-1, keepdims=True), 1.0)
    return own - jax.nn.logsumexp(columns, axis=-1) + jnp.broadcast_to(jnp.log(count), own.shape)


def critic_init(config: Config, context: int, key: PRNGKeyArray) -> CriticState:
    world = config.world
    critic: Params = make_critic(world.critic, context, world.latent, world.critic_hidden, key)
    return CriticState(critic, critic_optimizer(config).init(critic))


def critic_optimizer(config: Config) -> optax.GradientTransformation:
    adam = optax.flatten(optax.adam(config.learning_rate))  # one long vector is faster
    decay = decay_of(config.world, config.world.critic_steps)
    return optax.chain(adam, optax.scale_by_schedule(decay)) if config.world.half_life else adam


def contrast(
    config: Config,
    critic: CriticState,
    context: Float[Array, "*batch K c"],
    z: Float[Array, "*batch K l"],
    valid: Bool[Array, "*batch K"],
    key: PRNGKeyArray,
) -> tuple[CriticState, Float[Array, "*batch K"]]:
    """The critic after its ascent steps on the mean of L_con, and L_con under the new critic.

    z is constant in the critic's steps, and the new critic is constant in the returned L_con, which so trains only z.
    Steps beyond the first contrast the pairs of the batch in random groups, so with candidates from other time steps.
    """
    pairs = (context, jax.lax.stop_gradient(z), valid)
    critic = ascend(config, critic, *pairs)

    def again(critic: CriticState, key: PRNGKeyArray) -> tuple[CriticState, None]:
        return ascend(config, critic, *regroup(key, *pairs)), None

    if config.world.critic_steps > 1:
        critic, _ = jax.lax.scan(again, critic, jax.random.split(key, config.world.critic_steps - 1))
    critic = critic._replace(params=jax.lax.stop_gradient(critic.params))
    return critic, contrastive_value(energies(critic.params, context, z), valid, config.world.temperature)


def ascend(
    config: Config,
    critic: CriticState,
    context: Float[Array, "*batch K c"],
    z: Float[Array, "*batch K l"],
    valid: Bool[Array, "*batch K"],
) -> CriticState:
    """The critic after one ascent step on the mean of L_con."""

    def loss(params: Params) -> Float[Array, ""]:
        values = contrastive_value(energies(params, context, z), valid, config.world.temperature)
        count = jnp.maximum(jnp.sum(valid.astype(values.dtype)), 1.0)  # no valid step gives no gradient, and no NaN
        return -jnp.sum(jnp.where(valid, values, 0.0)) / count

    grads = jax.grad(loss)(critic.params)
    return CriticState(*descend(critic_optimizer(config), grads, critic.params, critic.optimizer))


def regroup(key: PRNGKeyArray, *arrays: Shaped[Array, "..."]) -> list[Shaped[Array, "..."]]:
    """The arrays [..., T, K, *any], in which the pairs of all time steps are put into new groups of K."""
    *_, num_steps, size = arrays[-1].shape
    order = jax.random.permutation(key, num_steps * size)
    before = arrays[-1].ndim - 2
    return [
        jnp.take(x.reshape(*x.shape[:before], -1, *x.shape[before + 2 :]), order, axis=before).reshape(x.shape)
        for x in arrays
    ]
