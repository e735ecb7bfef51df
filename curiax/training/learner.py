"""One update as a pure function: trajectory → errors → rewards → returns → losses → gradients → targets."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key, PRNGKeyArray

from curiax import curiosity as curiosities
from curiax.agent.distributions import distribution_for, entropy_of
from curiax.agent.policy import make_agent, uniform
from curiax.agent.vmpo import init_duals, project_duals
from curiax.agent.vmpo_sparse import FORMS
from curiax.config import Config
from curiax.curiosity.base import Curiosity
from curiax.curiosity.experience import from_stream
from curiax.curiosity.reward import bonus_init, reward_streams, rules_for
from curiax.curiosity.table import RANDOM_POLICY
from curiax.curiosity.world_model import gradient_step, make_optimizer, masked_sums
from curiax.envs.base import Environment
from curiax.training.rollout import Actor, actor_init, rollout
from curiax.training.values import values_of
from curiax.types import EnvSpec, LearnerParams, LearnerState, Loss, State, Trajectory

Metrics = dict[str, Array]


class Learner(NamedTuple):
    """A learner with an environment that is part of the compiled program."""

    init: Callable[[PRNGKeyArray], LearnerState]
    update: Callable[[LearnerState], tuple[LearnerState, Metrics]]  # rollout, then learn
    learn: Callable[[LearnerState, Trajectory, PRNGKeyArray], tuple[LearnerState, Metrics]]


class BatchLearner(NamedTuple):
    """A learner whose trajectories come from outside."""

    init: Callable[[PRNGKeyArray], LearnerState]
    learn: Callable[[LearnerState, Trajectory, PRNGKeyArray], tuple[LearnerState, Metrics]]


class Scored(NamedTuple):
    """Results of the forward pass besides the losses."""

    error: Float[Array, "T B"]
    bonus: Any
    returns: Any  # G, or those of each stream of reward
    intrinsic: Float[Array, "T B"]
    temperature: Float[Array, ""]
    critic: Any
    metrics: Metrics


def make_learner(config: Config, env: Environment) -> Learner:
    """A learner whose `update` is rollout and learning in one function."""

    def begin(key: PRNGKeyArray) -> Actor:
        return actor_init(env, config.batch_size, config.network.belief, key)

    init, learn = make_batch_learner(config, env.spec, begin)

    def update(state: LearnerState) -> tuple[LearnerState, Metrics]:
        key, key_rollout, key_learn = jax.random.split(state.key, 3)
        stream, trajectory = rollout(env, state.acting, state.stream, config.unroll, key_rollout)
        return learn(state._replace(stream=stream, key=key), trajectory, key_learn)

    return Learner(init, update, learn)


def make_batch_learner(config: Config, spec: EnvSpec, begin: Callable[[PRNGKeyArray], Any]) -> BatchLearner:
    """A learner of this config. `begin` makes the environment's part of the state."""
    curiosity = curiosities.make(config, spec)
    optimizer = make_optimizer(config, curiosity.trains_beliefs)

    def init(key: PRNGKeyArray) -> LearnerState:
        return learner_init(config, spec, curiosity, optimizer, begin, key)

    if curiosities.resolve(config.curiosity) == RANDOM_POLICY:
        return random_learner(spec, init)

    def learn(state: LearnerState, trajectory: Trajectory, key: PRNGKeyArray) -> tuple[LearnerState, Metrics]:
        learned, scored, metrics = learner_learn(config, curiosity, optimizer, state, trajectory, key)
        if config.passes > 1:
            keys = jax.random.split(jax.random.fold_in(key, 1), config.passes - 1)
            learned = learn_again(config, curiosity, optimizer, state, learned, trajectory, scored.error, keys)
        return learned, metrics | cell_maps(spec, trajectory, scored.intrinsic, scored.error)

    return BatchLearner(init, learn)


def random_learner(spec: EnvSpec, init: Callable[[PRNGKeyArray], LearnerState]) -> BatchLearner:
    """A learner that acts at random and learns nothing."""

    def begin(key: PRNGKeyArray) -> LearnerState:
        state = init(key)
        return state._replace(acting=uniform(state.acting, spec))

    def learn(state: LearnerState, trajectory: Trajectory, key: PRNGKeyArray) -> tuple[LearnerState, Metrics]:
        nothing = jnp.zeros_like(trajectory.reward)
        metrics = step_metrics(trajectory, nothing, nothing)
        state = state._replace(num_updates=state.num_updates + 1, tally=tally_of(state.tally, metrics))
        entropy = jnp.mean(entropy_of(trajectory.logits, trajectory.action), where=trajectory.valid)
        return state, metrics | {"entropy": entropy} | cell_maps(spec, trajectory, nothing, nothing)

    return BatchLearner(begin, learn)


def learner_init(
    config: Config,
    spec: EnvSpec,
    curiosity: Curiosity,
    optimizer: optax.GradientTransformation,
    begin: Callable[[PRNGKeyArray], Any],
    key: PRNGKeyArray,
) -> LearnerState:
    """The state before the first update."""
    key, key_agent, key_curiosity, key_stream = jax.random.split(key, 4)
    values = values_of(config)
    agent = make_agent(config.network, spec, key_agent, values.num_outputs)
    curiosity_params, critic, targets = curiosity.init(key_curiosity, agent.encoder)
    params = LearnerParams(agent, init_duals(FORMS[config.vmpo.form], distribution_for(spec)), curiosity_params)
    return LearnerState(
        params=params,
        acting=agent,
        critic=critic,
        targets=targets,
        optimizer=optimizer.init(params),
        bonus=bonus_init(),
        popart=values.init(),
        stream=begin(key_stream),
        key=key,
        num_updates=jnp.int32(0),
        tally={name: jnp.float32(0) for name in ("episodes", *spec.tallied)} if spec.tallied else (),
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
    """One update from one batch. Rewards are computed with the parameters before the update.

    `paid` are errors from an earlier pass; they are rewarded instead of this pass's errors.
    """

    def losses(params: LearnerParams) -> tuple[dict[str, Loss], Scored]:
        return learner_losses(config, curiosity, params, state, trajectory, key, paid)

    done = gradient_step(optimizer, losses, state.params, state.optimizer)
    scored, new = done.aux, done.params
    form, values = FORMS[config.vmpo.form], values_of(config)
    used = {"temperature": scored.temperature} if form.keeps_temperature else {}
    new = new._replace(duals=project_duals(new.duals | used))

    statistics = values.art(state.popart, scored.returns, trajectory.valid, form.popart_step)
    agent = new.agent._replace(value=values.pop(new.agent.value, state.popart, statistics))
    acting = state.acting._replace(value=values.pop(state.acting.value, state.popart, statistics))
    num_updates = state.num_updates + 1
    refresh = num_updates % config.vmpo.target_period == 0
    metrics = loss_metrics(done.losses) | scored.metrics | gradient_norms(done.grads)
    metrics |= new.duals | values.scales(statistics)
    state = state._replace(
        params=new._replace(agent=agent),
        acting=jax.tree.map(lambda online, old: jnp.where(refresh, online, old), agent, acting),
        critic=scored.critic,
        targets=curiosity.follow(state.targets, agent.encoder, trajectory.obs[1:], None),
        optimizer=done.optimizer,
        bonus=scored.bonus,
        popart=statistics,
        num_updates=num_updates,
        tally=tally_of(state.tally, scored.metrics),
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
    """Further gradient steps on the same batch with the rewards of the first. All of them count as one update."""

    def step(state: LearnerState, key: PRNGKeyArray) -> tuple[LearnerState, None]:
        state = state._replace(bonus=before.bonus, num_updates=before.num_updates, tally=before.tally)
        return learner_learn(config, curiosity, optimizer, state, trajectory, key, paid)[0], None

    return jax.lax.scan(step, first, keys)[0]


def learner_losses(
    config: Config,
    curiosity: Curiosity,
    params: LearnerParams,
    state: LearnerState,
    trajectory: Trajectory,
    key: PRNGKeyArray,
    paid: Float[Array, "T B"] | None = None,
) -> tuple[dict[str, Loss], Scored]:
    """The forward pass, which gives losses and rewards. Beliefs are computed once for policy, value and curiosity."""
    agent, valid, vmpo = params.agent, trajectory.valid, config.vmpo
    form = FORMS[vmpo.form]
    experience = from_stream(agent, trajectory)
    curious = curiosity.score(params.curiosity, state.critic, state.targets, experience, key)
    error = curious.error if paid is None else paid
    rules = rules_for(config.bonus, curiosity.signed)
    bonus, rewards = reward_streams(rules, state.bonus, error, trajectory.reward, valid)

    belief = experience.belief  # not stopped: policy and value losses train the encoder and the core too
    judged = values_of(config).judge(config, state.popart, agent.value(belief), rewards, trajectory)
    policy = form.losses(
        vmpo, params.duals, agent.policy(belief[:-1]), trajectory.logits, trajectory.action, judged.advantage, valid
    )
    losses = curious.losses | {"policy": Loss(policy.policy, jnp.array(True))} | judged.losses
    losses |= {
        "entropy": Loss(-policy.entropy, valid, vmpo.entropy_weight),
        "kl": Loss(jax.lax.stop_gradient(policy.kl), valid, 0.0),  # only a metric
    }
    intrinsic = rewards.intrinsic
    metrics = jax.lax.stop_gradient(curious.metrics | step_metrics(trajectory, error, intrinsic))
    return losses, Scored(error, bonus, judged.returns, intrinsic, policy.temperature, curious.critic, metrics)


def loss_metrics(means: dict[str, Float[Array, ""]]) -> Metrics:
    """The mean losses as metrics."""
    means = dict(means)
    kl = means.pop("kl")
    return {f"loss/{name}": mean for name, mean in means.items()} | {"entropy": -means["entropy"], "kl": kl}


def step_metrics(trajectory: Trajectory, error: Float[Array, "T B"], intrinsic: Float[Array, "T B"]) -> Metrics:
    """Metrics of the transitions, as "name/sum" and "name/count": the ratio of sums is exact over many updates."""
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
    sums = masked_sums([Loss(*pair) for pair in ratios.values()])
    totals = {f"{name}/sum": total for name, (total, _) in zip(ratios, sums, strict=True)}
    return totals | {f"{name}/count": count for name, (_, count) in zip(ratios, sums, strict=True)}


def tally_of(tally: State, metrics: Metrics) -> State:
    """The tally with the episodes that ended in an update, whose sums are among its metrics."""
    if not tally:
        return ()
    sums = metrics | {"episodes/sum": metrics["length/count"]}
    return {name: total + sums[f"{name}/sum"] for name, total in tally.items()}


def cell_maps(
    spec: EnvSpec, trajectory: Trajectory, intrinsic: Float[Array, "T B"], error: Float[Array, "T B"]
) -> Metrics:
    """Visits, summed intrinsic reward and summed error of each cell; {} if the environment has no cells."""
    if "cell" not in trajectory.info:
        return {}
    valid, cell = trajectory.valid, trajectory.info["cell"]
    empty = jnp.zeros(spec.map_shape[0] * spec.map_shape[1])
    maps = {
        "visits": valid.astype(jnp.float32),
        "reward": jnp.where(valid, intrinsic, 0.0),
        "error": jnp.where(valid, error, 0.0),
    }
    return {f"map/{name}": empty.at[cell].add(value).reshape(spec.map_shape) for name, value in maps.items()}


def gradient_norms(grads: LearnerParams) -> Metrics:
    """The norms of the gradients of agent and curiosity, before clipping."""
    named = {"agent": grads.agent, "curiosity": grads.curiosity}
    return {f"gradient/{name}": optax.tree.norm(part) for name, part in named.items()}
