"""Random finite worlds, and the quantities of the paper's proofs as exact sums.

Axes: W worlds, S pairs (x, a), Y outcomes, Z hindsight symbols, d dimensions of an outcome. Logarithms are natural.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import entr, logsumexp, rel_entr

FLOOR = 1e-6  # added before normalising, so that every probability is positive and every logarithm finite


class World(NamedTuple):
    """W finite worlds, each with a generator and a reconstructor."""

    visits: Float[ndarray, "W S"]  # ρ_π(x) π(a|x)
    dynamics: Float[ndarray, "W S Y"]  # τ(y|x,a)
    generator: Float[ndarray, "W S Y Z"]  # p_θ(z|x,a,y)
    outcomes: Float[ndarray, "W Y d"]  # y as a point
    reconstructor: Float[ndarray, "W S Z d"]  # f_η(x,a,z)


def log_uniform(rng: np.random.Generator, low: float, high: float, size: tuple[int, ...]) -> ndarray:
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def random_simplex(rng: np.random.Generator, num_worlds: int, shape: tuple[int, ...]) -> ndarray:
    """Samples of Dirichlet distributions over the last axis, from nearly deterministic to nearly uniform."""
    concentration = log_uniform(rng, 0.1, 10.0, (num_worlds,) + (1,) * len(shape))
    weights = rng.standard_gamma(concentration, (num_worlds, *shape)) + FLOOR
    return weights / weights.sum(-1, keepdims=True)


def sample_worlds(rng: np.random.Generator, num_worlds: int, shape: tuple[int, int, int], dim: int) -> World:
    """Random worlds. Reconstructors are posterior means plus errors; with small errors the bounds are nearly tight."""
    contexts, outcomes, latents = shape
    spread = log_uniform(rng, 0.1, 3.0, (num_worlds, 1, 1))
    world = World(
        visits=random_simplex(rng, num_worlds, (contexts,)),
        dynamics=random_simplex(rng, num_worlds, (contexts, outcomes)),
        generator=random_simplex(rng, num_worlds, (contexts, outcomes, latents)),
        outcomes=spread * rng.standard_normal((num_worlds, outcomes, dim)),
        reconstructor=np.zeros((num_worlds, contexts, latents, dim)),
    )
    mean = np.einsum("wszy,wyd->wszd", outcome_given_latent(world), world.outcomes)
    error = log_uniform(rng, 0.01, 1.0, (num_worlds, 1, 1, 1)) * spread[..., None]
    return world._replace(reconstructor=mean + error * rng.standard_normal(mean.shape))


def reparameterise(world: World) -> World:
    """The same dynamics, with generator and reconstructor at their optimum θ*, η* (Theorem 1).

    z is the interval between steps of the distribution functions that a uniform number falls into; y = f(x,a,z)
    inverts them.
    """
    num_worlds, _, num_outcomes = world.dynamics.shape
    steps = np.cumsum(world.dynamics, axis=-1)[..., :-1]
    edges = np.sort(np.pad(steps.reshape(num_worlds, -1), ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))))
    middle = (edges[:, 1:] + edges[:, :-1]) / 2
    outcome = np.sum(steps[:, :, None, :] < middle[:, None, :, None], axis=-1)
    consistent = outcome[:, :, None, :] == np.arange(num_outcomes)[:, None]
    mass = consistent * np.diff(edges)[:, None, None, :]
    return world._replace(
        generator=mass / mass.sum(-1, keepdims=True),
        reconstructor=world.outcomes[np.arange(num_worlds)[:, None, None], outcome],
    )


def latent_given_context(world: World) -> Float[ndarray, "W S Z"]:
    """p_θ(z|x,a) = E_{Y~τ} p_θ(z|x,a,Y)."""
    return np.einsum("wsy,wsyz->wsz", world.dynamics, world.generator)


def latent_prior(world: World) -> Float[ndarray, "W Z"]:
    """p_θ(z), the marginal over visits."""
    return np.einsum("ws,wsz->wz", world.visits, latent_given_context(world))


def outcome_given_latent(world: World) -> Float[ndarray, "W S Z Y"]:
    """p_θ(y|x,a,z), by Bayes' rule."""
    joint = world.dynamics[..., None] * world.generator
    return np.swapaxes(joint / joint.sum(2, keepdims=True), 2, 3)


def pointwise_information(world: World) -> Float[ndarray, "W S Z"]:
    """PMI_θ(x,a;z) = log p_θ(z|x,a)/p_θ(z)."""
    return np.log(latent_given_context(world) / latent_prior(world)[:, None])


def leakage(world: World) -> Float[ndarray, "W S"]:
    """D_KL(p_θ(Z|x,a) ‖ p_θ(Z))."""
    return rel_entr(latent_given_context(world), latent_prior(world)[:, None]).sum(-1)


def chi_square(world: World) -> Float[ndarray, "W S"]:
    """χ²(x,a) = Σ_z p_θ(z|x,a)²/p_θ(z) − 1."""
    return np.sum(latent_given_context(world) ** 2 / latent_prior(world)[:, None], axis=-1) - 1


def remaining_entropy(world: World, latent: Float[ndarray, "W #S Z"]) -> Float[ndarray, "W S"]:
    """H_θ[Y|x,a,Z] with Z ~ `latent`."""
    return np.sum(latent * entr(outcome_given_latent(world)).sum(-1), axis=-1)


def outcome_information(world: World, latent: Float[ndarray, "W #S Z"]) -> Float[ndarray, "W S"]:
    """I_θ[Y;Z|x,a] = E_Z D_KL(p_θ(Y|x,a,Z) ‖ τ(Y|x,a)) with Z ~ `latent`."""
    divergence = rel_entr(outcome_given_latent(world), world.dynamics[:, :, None, :]).sum(-1)
    return np.sum(latent * divergence, axis=-1)


def squared_errors(world: World) -> Float[ndarray, "W S Y Z"]:
    """L_rec = ‖y − f_η(x,a,z)‖²."""
    return np.sum((world.outcomes[:, None, :, None] - world.reconstructor[:, :, None]) ** 2, axis=-1)


def hindsight_reward(world: World, scale: Float[ndarray, "W S"]) -> Float[ndarray, "W S"]:
    """R_{θ,η}(x,a) = R_rec/λ + R_inv, both expectations over Y ~ τ, Z ~ p_θ(·|x,a,Y) (Definition 2)."""
    joint = world.dynamics[..., None] * world.generator
    reconstruction = np.sum(joint * squared_errors(world), axis=(2, 3))
    invariance = np.sum(joint * pointwise_information(world)[:, :, None], axis=(2, 3))
    return reconstruction / scale + invariance


def model_divergence(
    world: World, scale: Float[ndarray, "W S"], latent: Float[ndarray, "W #S Z"]
) -> Float[ndarray, "W S"]:
    """D_KL(τ ‖ τ_{θ,η}), τ_{θ,η}(y|x,a) = E_{Z ~ latent} p_η(y|x,a,Z), p_η Gaussian with 2σ² = λ in d dimensions.

    p_η is a density, evaluated at the possible points of Y; the proof does not need it to sum to one.
    """
    dim = world.outcomes.shape[-1]
    scale = scale[:, :, None, None]
    log_density = -dim / 2 * np.log(scale * np.pi) - squared_errors(world) / scale
    log_model = logsumexp(log_density + np.log(latent)[:, :, None], axis=-1)
    return np.sum(world.dynamics * (np.log(world.dynamics) - log_model), axis=-1)
