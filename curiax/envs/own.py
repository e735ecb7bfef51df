"""JAX environments of the user's: registered by name, and checked when they are made (docs/extending.md)."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from curiax.envs.table import ENVS, FAMILIES
from curiax.errors import UserError, cause

if TYPE_CHECKING:
    from curiax.envs.base import Environment
    from curiax.types import Profile


class Own(NamedTuple):
    make: Callable[[], "Environment"]
    profile: "Profile | None"  # None: its score is the return of an episode


OWN: dict[str, Own] = {}


def register(name: str, make: Callable[[], "Environment"], about: str = "", profile: "Profile | None" = None) -> None:
    """Adds a JAX environment as FAMILY/NAME; `about` is its line in `curiax list envs`. `make` is called when the
    environment is first used."""
    family, _, rest = name.partition("/")
    if not (family and rest):
        raise UserError(f"register {name}: must be FAMILY/NAME, such as mine/world")
    if family in FAMILIES:
        raise UserError(f"register {name}: {family}/… is a family of curiax; choose another name")
    OWN[name], ENVS[name] = Own(make, profile), about
    made.cache_clear()


@cache
def made(name: str) -> "Environment":
    """The registered environment of that name. Raises a UserError if it is not as an `Environment` must be."""
    from curiax.envs.base import Environment

    try:
        env = OWN[name].make()
        wrong = what_is_wrong(env) if isinstance(env, Environment) else f"make returned {type(env).__name__}"
    except Exception as error:  # whatever it raises
        raise UserError(f"{name}: cannot be made ({cause(error)})") from error
    if wrong:
        raise UserError(f"{name}: {wrong}")
    return env


def what_is_wrong(env: "Environment") -> str:
    """The first shape or dtype that is not as it must be, found without running anything; "" if there is none."""
    import jax
    import jax.numpy as jnp

    spec = env.spec
    noise = jax.eval_shape(env.draw, jax.random.key(0))
    state, obs = jax.eval_shape(env.reset, noise)
    vector = spec.action_parts is not None
    action = jax.ShapeDtypeStruct((spec.num_actions,) if vector else (), jnp.float32 if vector else jnp.int32)
    after, step = jax.eval_shape(env.step, state, action, noise)
    shape = tuple(spec.observation_shape)
    for where, each in {"reset": obs, "step": step.obs}.items():
        if each.shape != shape or each.dtype not in (jnp.float32, jnp.uint8):
            return f"the observation of {where} is {short(each)}, expected float32 or uint8 of shape {shape}"
    if [short(leaf) for leaf in jax.tree.leaves(state)] != [short(leaf) for leaf in jax.tree.leaves(after)]:
        return "the state after a step has other shapes or dtypes than after a reset"
    if "noise" not in step.info:
        return "info of a step has no noise: a bool, True where the observation shows noise"
    scalars = {"reward": (step.reward, "float32"), "info noise": (step.info["noise"], "bool")}
    scalars |= {"terminated": (step.terminated, "bool"), "truncated": (step.truncated, "bool")}
    for what, (value, dtype) in scalars.items():
        if short(value) != f"{dtype} of shape ()":
            return f"{what} of a step is {short(value)}, expected {dtype} of shape ()"
    return ""


def short(value: Any) -> str:
    return f"{value.dtype} of shape {value.shape}"
