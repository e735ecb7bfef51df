"""One pure update: trajectory → errors → rewards → returns → losses → gradients → targets."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key, PRNGKeyArray

from curiax import curiosity as curiosities
from curiax.agent import popart
from curiax.agent.distributions import distribution_for
from curiax.agent.networks import embed_action
from curiax.agent.policy import believe, make_agent
from curiax.agent.returns import vtrace_returns
from curiax.agent.vmpo import init_duals, project_duals, remember_temperature, vmpo_losses
from curiax.config import Config
from curiax.curiosity.base import Curiosity, decay_of
from curiax.curiosity.reward import bonus_init, mix
from curiax.envs.base import Environment
from curiax.training.rollout import Actor, actor_init, rollout
from curiax.types import Agent, EnvSpec, Experience, LearnerParams, LearnerState, Masked, Params, Trajectory

Metrics = dict[str, Array]

# Masks of LearnerParams: the encoder ω, the curiosity, and the curiosity with encoder, action embedding and core.
ENCODER: Any = LearnerParams(agent=Agent(True, False, False, False, False), duals=False, curiosity=False)  # pyright: ignore
CURIOSITY: Any = LearnerParams(agent=Agent(False, False, False, False, False), duals=False, curiosity=True)  # pyright: ignore
BELIEFS: Any = LearnerParams(agent=Agent(True, True, True, False, False), duals=False, curiosity=True)  # pyright: ignore


class Learner(NamedTuple):
    init: Callable[[PRNGKeyArray], LearnerState]
    update: Callable[[LearnerState], tuple[LearnerState, Metrics]]  # rollout and learn
    learn: Callable[[LearnerState, Trajectory, PRNGKeyArray], tuple[LearnerState, Metrics]]


class BatchLearner(NamedTuple):
    """What is left of a learner where experience comes from elsewhere."""

    init: Callable[[PRNGKeyArray], LearnerState]
    learn: Callable[[LearnerState, Trajectory, PRNGKeyArray], tuple[LearnerState, Metrics]]


class Scored(NamedTuple):
    """What the forward pass finds besides the loss."""

    error: Float[Array, "T B"]
    bonus: Any
    returns: Float[Array, "T B"]
    intrinsic: Float[Array, "T B"]
    temperature: Float[Array, ""]
    critic: Any
    metrics: Metrics


def make_learner(config: Config, env: Environment) -> Learner:
    """Rollout and learning as one function of the state."""

    def begin(key: PRNGKeyArray) -> Actor:
        return actor_init(env, config.batch_size, config.network.belief, key)

    init, learn = make_batch_learner(config, env.spec, begin)

    def update(state: LearnerState) -> tuple[LearnerState, Metrics]:
        key, key_rollout, key_learn = jax.random.split(state.key, 3)
        stream, trajectory = rollout(env, state.acting, state.stream, config.unroll, key_rollout)
        return learn(state._replace(stream=stream, key=key), trajectory, key_learn)

    return Learner(init, update, learn)


def make_batch_learner(config: Config, spec: EnvSpec, begin: Callable[[PRNGKeyArray], Any]) -> BatchLearner:
    """Everything below is a function of the state and of the config; this binds the config.

    `begin` makes the part of the state that is the environment's.
    """
    curiosity = curiosities.make(config, spec)
    optimizer = make_optimizer(config, curiosity.trains_beliefs)

    def init(key: PRNGKeyArray) -> LearnerState:
        return learner_init(config, spec, curiosity, optimizer, begin, key)

    def learn(state: LearnerState, trajectory: Trajectory, key: PRNGKeyArray) -> tuple[LearnerState, Metrics]:
        learned, scored, metrics = learner_learn(config, curiosity, optimizer, state, trajectory, key)
        if config.passes > 1:
            keys = jax.random.split(jax.random.fold_in(key, 1), config.passes - 1)
            learned = learn_again(config, curiosity, optimizer, state, learned, trajectory, scored.error, keys)
        return learned, metrics | cell_maps(spec, trajectory, scored.intrinsic)

    return BatchLearner(init, learn)


def learner_init(
    config: Config,
    spec: EnvSpec,
    curiosity: Curiosity,
    optimizer: optax.GradientTransformation,
    begin: Callable[[PRNGKeyArray], Any],
    key: PRNGKeyArray,
) -> LearnerState:
    key, key_agent, key_curiosity, key_stream = jax.random.split(key, 4)
    agent = make_agent(config.network, spec, key_agent)
    curiosity_params, critic, targets = curiosity.init(key_curiosity, agent.encoder)
    params = LearnerParams(agent, init_duals(config.vmpo, distribution_for(spec)), curiosity_params)
    return LearnerState(
        params=params,
        acting=agent,
        critic=critic,
        targets=targets,
        optimizer=optimizer.init(params),
        bonus=bonus_init(),
        popart=popart.popart_init(),
        stream=begin(key_stream),
        key=key,
        num_updates=jnp.int32(0),
    )


def learner_learn(
    config: Config,
    curiosity: Curiosity,
    optimizer: optax.GradientTransformation,
    state: LearnerState,
    trajectory: Trajectory,
    key: PRNGKeyArray,
    paid: Float[Array, "T B"] | None = None,
) -> tuple[LearnerState, Scored, Metrics]:
    """One update from one batch. Rewards come from the parameters that existed when the batch was collected."""

    def loss(params: LearnerParams) -> tuple[Float[Array, ""], Scored]:
        return learner_loss(config, curiosity, params, state, trajectory, key, paid)

    grads, scored = jax.grad(loss, has_aux=True)(state.params)  # reward first, then update
    new, optimizer_state = descend(optimizer, grads, state.optimizer, state.params)
    new = new._replace(duals=project_duals(remember_temperature(config.vmpo, new.duals, scored.temperature)))

    statistics = popart.art(state.popart, scored.returns, trajectory.valid, config.vmpo.popart_step)
    agent = new.agent._replace(value=popart.pop(new.agent.value, state.popart, statistics))
    acting = state.acting._replace(value=popart.pop(state.acting.value, state.popart, statistics))
    num_updates = state.num_updates + 1
    refresh = num_updates % config.vmpo.target_period == 0
    metrics = scored.metrics | gradient_norms(grads) | new.duals | {"value_scale": statistics.scale}
    state = state._replace(
        params=new._replace(agent=agent),
        acting=jax.tree.map(lambda online, old: jnp.where(refresh, online, old), agent, acting),
        critic=scored.critic,
        targets=curiosity.follow(state.targets, agent.encoder, trajectory.obs),
        optimizer=optimizer_state,
        bonus=scored.bonus,
        popart=statistics,
        num_updates=num_updates,
    )
    return state, scored, metrics


def learn_again(
    config: Config,
    curiosity: Curiosity,
    optimizer: optax.GradientTransformation,
    before: LearnerState,
    first: LearnerState,
    trajectory: Trajectory,
    paid: Float[Array, "T B"],
    keys: Key[Array, " passes"],
) -> LearnerState:
    """Further steps from the same batch, for the rewards of the first; all of them count as one update."""

    def step(state: LearnerState, key: PRNGKeyArray) -> tuple[LearnerState, None]:
        state = state._replace(bonus=before.bonus, num_updates=before.num_updates)
        return learner_learn(config, curiosity, optimizer, state, trajectory, key, paid)[0], None

    return jax.lax.scan(step, first, keys)[0]


def learner_loss(
    config: Config,
    curiosity: Curiosity,
    params: LearnerParams,
    state: LearnerState,
    trajectory: Trajectory,
    key: PRNGKeyArray,
    paid: Float[Array, "T B"] | None = None,
) -> tuple[Float[Array, ""], Scored]:
    """The forward pass: beliefs once, for policy, value and curiosity; one pass gives losses and rewards.

    `paid` are the errors to reward, where they were found by an earlier pass.
    """
    agent, valid, vmpo = params.agent, trajectory.valid, config.vmpo
    previous_action = jnp.concatenate([trajectory.previous_action[None], trajectory.action])
    belief = believe(agent, trajectory.belief, trajectory.obs, previous_action, trajectory.first)
    embedded = embed_action(agent.action_embedding, trajectory.action)
    experience = Experience(trajectory.obs, trajectory.action, valid, belief, embedded)
    curious = curiosity.score(params.curiosity, state.critic, state.targets, experience, key)
    error = curious.error if paid is None else paid
    bonus, reward, intrinsic = mix(config.bonus, config.reward, state.bonus, error, trajectory.reward, valid)

    belief = belief_of_heads(config, curiosity, belief)
    value = agent.value(belief)[..., 0]
    discount = jnp.where(trajectory.terminated, 0.0, vmpo.discount)
    returns = vtrace_returns(
        popart.unnormalise(state.popart, value), (1 - vmpo.discount) * reward, discount, valid, vmpo.lambda_
    )
    value_error = popart.normalise(state.popart, returns) - value[:-1]  # (G − V)/σ, the advantage
    policy = vmpo_losses(
        vmpo, params.duals, agent.policy(belief[:-1]), trajectory.logits, trajectory.action, value_error, valid
    )
    losses = curious.losses | {
        "policy": Masked(policy.policy, jnp.array(True)),
        "value": Masked(jnp.square(value_error), valid),
        "entropy": Masked(-policy.entropy, valid),
    }
    means = masked_means(losses | {"kl": Masked(policy.kl, valid)})
    kl = means.pop("kl")
    weights = loss_weights(config)
    total = jnp.sum(jnp.stack([weights.get(name, 1.0) * mean for name, mean in means.items()]))
    metrics = {f"loss/{name}": mean for name, mean in means.items()} | curious.metrics
    metrics |= {"entropy": -means["entropy"], "kl": kl}
    metrics |= step_metrics(trajectory, error, intrinsic)
    temperature, metrics = policy.temperature, jax.lax.stop_gradient(metrics)
    return total, Scored(error, bonus, returns, intrinsic, temperature, curious.critic, metrics)


def belief_of_heads(config: Config, curiosity: Curiosity, belief: Float[Array, "T1 B D"]) -> Float[Array, "T1 B D"]:
    """Policy and value train encoder and core if they are to, or if nothing else does."""
    shared = config.vmpo.train_beliefs or not curiosity.trains_beliefs
    return belief if shared else jax.lax.stop_gradient(belief)


def make_optimizer(config: Config, trains_beliefs: bool = True) -> optax.GradientTransformation:
    """Adam behind a limit on the norm of the whole gradient. The learning rate of the encoder ω is its own.

    The world model's learning rate decays: the curiosity's, and that of encoder and core if the curiosity trains them.
    """
    clip = optax.clip_by_global_norm(config.max_gradient_norm)
    adam = optax.flatten(optax.chain(clip, optax.adam(config.learning_rate)))  # one long vector
    steps = [adam, optax.masked(optax.scale(config.network.encoder_speed), ENCODER)]
    if config.world.half_life:
        world = BELIEFS if trains_beliefs else CURIOSITY
        steps.append(optax.masked(optax.scale_by_schedule(decay_of(config.world)), world))
    return optax.chain(*steps)


def descend(
    optimizer: optax.GradientTransformation, grads: Params, optimizer_state: Any, params: Any
) -> tuple[Any, Any]:
    """One step of the optimiser."""
    with jax.numpy_dtype_promotion("standard"):  # optax relies on it
        updates, optimizer_state = optimizer.update(grads, optimizer_state)
    return optax.apply_updates(params, updates), optimizer_state


def loss_weights(config: Config) -> dict[str, float]:
    """Every loss of the library and its weight; any other counts fully."""
    world = config.world
    return {
        "policy": 1.0,
        "value": config.vmpo.value_weight,
        "entropy": config.vmpo.entropy_weight,
        "prediction": 1.0,
        "reconstruction": world.reconstruction_weight,
        "invariance": world.invariance_weight,
        "side_prediction": 1.0,
        "hindsight_only": 1.0,
        "likelihood": 1.0,
        "inverse": 1.0,
        "autoencoding": 1.0,
        "dynamics": 1.0,
        "error_penalty": config.method.emi_error,
        "information": config.method.emi_information,
        "prior": config.method.emi_prior,
        "distillation": 1.0,
        "evalue": 1.0,
    }


def masked_means(losses: dict[str, Masked]) -> dict[str, Float[Array, ""]]:
    sums = masked_sums(list(losses.values()))
    return {name: total / jnp.maximum(count, 1.0) for name, (total, count) in zip(losses, sums, strict=True)}


def masked_mean(loss: Masked) -> Float[Array, ""]:
    return masked_means({"loss": loss})["loss"]


def masked_sums(values: list[Masked]) -> list[tuple[Float[Array, ""], Float[Array, ""]]]:
    """The sum and the count of each. Streams, the last axis, are added up for all at once: over many processes that is
    one message instead of as many as there are numbers."""
    parts = []
    for value, mask in values:
        others = tuple(range(value.ndim - 1))
        parts += [jnp.sum(jnp.where(mask, value, 0.0), others), jnp.sum(mask.astype(jnp.float32), others)]
    streams = [part for part in parts if part.ndim]
    added = iter(jnp.sum(jnp.stack(streams), axis=-1) if streams else ())
    sums = [next(added) if part.ndim else part for part in parts]
    return list(zip(sums[::2], sums[1::2], strict=True))


def step_metrics(trajectory: Trajectory, error: Float[Array, "T B"], intrinsic: Float[Array, "T B"]) -> Metrics:
    """What the agent did. Sums come with their counts as "name/sum" and "name/count": a ratio of sums is exact over
    any number of updates."""
    valid = trajectory.valid
    noise = trajectory.info["noise"] & valid
    ended = trajectory.last[1:]
    ratios = {
        "noise_dwell": (noise.astype(jnp.float32), valid),
        "error_on_noise": (error, noise),
        "error_elsewhere": (error, valid & ~noise),
        "intrinsic_reward": (intrinsic, valid),
    }
    ratios |= {name: (value, ended) for name, value in trajectory.episode.items()}
    sums = masked_sums([Masked(*pair) for pair in ratios.values()])
    totals = {f"{name}/sum": total for name, (total, _) in zip(ratios, sums, strict=True)}
    return totals | {f"{name}/count": count for name, (_, count) in zip(ratios, sums, strict=True)}


def cell_maps(spec: EnvSpec, trajectory: Trajectory, intrinsic: Float[Array, "T B"]) -> Metrics:
    """How often the agent came to each cell, and the reward it got there; nothing where there are no cells."""
    if "cell" not in trajectory.info:
        return {}
    valid, cell = trajectory.valid, trajectory.info["cell"]
    empty = jnp.zeros(spec.map_shape[0] * spec.map_shape[1])
    maps = {"visits": valid.astype(jnp.float32), "reward": jnp.where(valid, intrinsic, 0.0)}
    return {f"map/{name}": empty.at[cell].add(value).reshape(spec.map_shape) for name, value in maps.items()}


def gradient_norms(grads: LearnerParams) -> Metrics:
    named = {"agent": grads.agent, "curiosity": grads.curiosity}
    return {f"gradient/{name}": optax.tree.norm(part) for name, part in named.items()}
