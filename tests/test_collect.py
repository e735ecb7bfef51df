"""Experience from the host: the same as from the compiled program, collected one batch ahead at most."""

import dataclasses
import io
import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from host_maze import HOST, maze_of, on_host
from rich.console import Console
from test_train import TINY

from curiax import envs
from curiax.agent.policy import make_agent
from curiax.collect import Collector, found, host_actor_init, host_rollout, nothing_found, remember
from curiax.envs.base import HostEnvironment, HostStep
from curiax.errors import EnvironmentFailed
from curiax.learner import make_learner
from curiax.program import run_training
from curiax.rollout import rollout
from curiax.runs import read_metrics
from curiax.train import train
from curiax.types import EnvSpec, Trajectory

CONFIG = dataclasses.replace(
    on_host(TINY),
    curiosity="byol-explore",
    log_every=1,
    learning_rate=0.3,
    vmpo=dataclasses.replace(TINY.vmpo, target_period=1),  # the acting network changes with every update
)
SPEC = EnvSpec("counter", observation_shape=(20, 20), num_actions=3, time_limit=5)


@pytest.fixture(autouse=True)
def hosts(monkeypatch):
    monkeypatch.setitem(envs.HOSTS, "host", HOST)


def counter(batch_size=2, end=5, fail_at=None, threads=None):
    """Bytes that count the steps of an episode; `fail_at` raises at that step."""
    age, taken = np.zeros(batch_size, np.int64), 0

    def answer(first):
        last = age == end
        obs = np.broadcast_to(age[:, None, None], (batch_size, 20, 20)).astype(np.uint8)
        info = {"noise": np.zeros(batch_size, bool), "room": age + 256}
        episode = {"return": age.astype(np.float32)}
        return HostStep(obs, first, last, age.astype(np.float32), last, info, episode)

    def step(action):
        nonlocal age, taken
        taken += 1
        if taken == fail_at:
            raise RuntimeError("the cartridge fell out\nand more")
        if threads is not None:
            threads.append(threading.get_ident())
        assert action.shape == (batch_size,)
        first = age == end
        age = np.where(first, 0, age + 1)
        return answer(first)

    closed = []
    env = HostEnvironment(SPEC, lambda: answer(np.ones(batch_size, bool)), step, lambda: closed.append(True))
    return env, closed


def small_agent(spec=SPEC):
    return make_agent(dataclasses.replace(TINY.network, channels=(2,)), spec, jax.random.key(0))


def test_the_host_gives_the_trajectory_of_the_compiled_program():
    config = dataclasses.replace(CONFIG, batch_size=8, unroll=70)  # the last stream's first episode is cut at 63
    env = maze_of(config)
    state = jax.jit(make_learner(config, env).init)(jax.random.key(0))
    key = jax.random.split(state.key, 3)[1]
    _, compiled = jax.jit(lambda: rollout(env, state.acting, state.stream, config.unroll, key))()
    host = HOST.make(config, 8, 0)
    _, trajectory = host_rollout(host, state.acting, host_actor_init(host, 8), config.unroll, key)
    trajectory.info.pop("room")
    assert compiled.last.any() and trajectory.obs.dtype == compiled.obs.dtype
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), trajectory, compiled)


def test_training_in_step_on_the_host_is_training_in_the_compiled_program():
    config = dataclasses.replace(CONFIG, sync=True, log_every=2, learning_rate=1e-3)
    compiled = itertools.islice(train(dataclasses.replace(config, env="maze/on-demand")), 3)
    for ours, theirs in zip(train(config), compiled, strict=False):
        assert 1 <= ours.metrics.pop("rooms_found") <= 4 and ours.metrics.keys() == theirs.metrics.keys()
        values = [list(row.metrics.values()) for row in (ours, theirs)]
        np.testing.assert_allclose(*values, rtol=1e-2, atol=1e-4)
        np.testing.assert_array_equal(ours.maps["visits"], theirs.maps["visits"])


def acted_and_trained(sync):
    """What acted in each of four batches: a layer of the policy and the key. And the rows."""
    acted, ask = [], Collector.ask

    def spy(self, agent, key):
        acted.append((np.asarray(agent.policy.layers[0].weight), jax.random.key_data(key).tolist()))
        return ask(self, agent, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Collector, "ask", spy)
        return acted, list(itertools.islice(train(dataclasses.replace(CONFIG, sync=sync)), 4))


def policies(rows):
    return [np.asarray(row.state.acting.policy.layers[0].weight) for row in rows]


def test_ahead_a_batch_is_acted_by_the_policy_of_one_update_before_and_in_step_by_the_newest():
    in_step, rows = acted_and_trained(sync=True)
    for (policy, _), newest in zip(in_step[1:], policies(rows), strict=False):
        np.testing.assert_array_equal(policy, newest)
    ahead, rows = acted_and_trained(sync=False)
    for (policy, _), before in zip(ahead[2:], policies(rows), strict=False):
        np.testing.assert_array_equal(policy, before)
    np.testing.assert_array_equal(ahead[1][0], ahead[0][0])
    assert not np.array_equal(ahead[2][0], ahead[1][0])
    assert [key for _, key in ahead[:4]] == [key for _, key in in_step[:4]]
    again = acted_and_trained(sync=False)[1]  # a thread, but nothing is left to chance
    np.testing.assert_array_equal(policies(again), policies(rows))


def test_the_final_observation_stays_and_bytes_stay_bytes():
    env, _ = counter()
    actor, trajectory = host_rollout(env, small_agent(), host_actor_init(env, 8), 8, jax.random.key(0))
    assert trajectory.obs.dtype == np.uint8
    assert trajectory.obs[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert np.flatnonzero(trajectory.last[:, 0]).tolist() == [5] and trajectory.first[:, 0].tolist()[:1] == [True]
    assert trajectory.valid[:, 0].tolist() == [True] * 5 + [False] + [True] * 2
    _, after = host_rollout(env, small_agent(), actor, 3, jax.random.key(1))
    assert after.obs[:, 0, 0, 0].tolist() == [2, 3, 4, 5]  # where the last one ended
    np.testing.assert_array_equal(after.previous_action, trajectory.action[-1])


def test_a_collector_has_a_thread_of_its_own_and_closes_what_it_opened():
    threads = []
    env, closed = counter(threads=threads)
    with Collector(lambda: env, 3, 8) as collector:
        asked = [collector.ask(small_agent(), jax.random.key(n)) for n in range(2)]
        assert [one.result().obs[0, 0, 0, 0] for one in asked] == [0, 3]
        assert not closed
    assert closed == [True]
    assert len(set(threads)) == 1 and threads[0] != threading.get_ident()


def test_an_environment_that_raises_ends_training_in_one_line_after_the_rows_before(monkeypatch):
    env, closed = counter(fail_at=9)
    monkeypatch.setitem(envs.HOSTS, "host", envs.Host(lambda *_: env, lambda _: SPEC))
    network = dataclasses.replace(TINY.network, channels=(2,))
    rows = train(dataclasses.replace(CONFIG, env="host/counter", unroll=4, network=network))
    assert [next(rows).num_updates, next(rows).num_updates] == [1, 2]
    line = r"^host/counter failed after update 2 \(RuntimeError: the cartridge fell out\)$"
    with pytest.raises(EnvironmentFailed, match=line):
        next(rows)
    assert closed == [True]


def test_rooms_are_remembered_over_the_whole_run_and_resets_are_in_none():
    def batch(rooms, last):
        parts = dict.fromkeys(Trajectory._fields)
        parts |= {"info": {"room": jnp.array(rooms)}, "last": jnp.array(last)}
        return Trajectory(**parts)

    none = nothing_found()
    one = remember(none, batch([[3, 4], [3, 900]], [[False, False], [False, True], [False, False]]))
    two = remember(one, batch([[3, 256 * 2 + 4]], [[False, False], [False, False]]))
    assert found(none) == found(()) == {}
    assert (found(one), found(two)) == ({"rooms_found": 2.0}, {"rooms_found": 3.0})


def test_a_failing_emulator_leaves_a_checkpoint_and_the_run_goes_on_from_it(tmp_path, monkeypatch):
    network = dataclasses.replace(TINY.network, channels=(2,))
    config = dataclasses.replace(CONFIG, env="host/counter", unroll=4, network=network, env_steps=40)
    seeds = []

    def run(fail_at):
        """Trains, and gives what was said."""

        def make(config, batch_size, seed):
            seeds.append(seed)
            return counter(fail_at=fail_at)[0]

        monkeypatch.setitem(envs.HOSTS, "host", envs.Host(make, lambda _: SPEC))
        console = Console(file=io.StringIO(), width=200)
        assert run_training(config, tmp_path / "run", False, console) == 0
        return console.file.getvalue()

    with pytest.raises(EnvironmentFailed, match="after update 2"):
        run(fail_at=9)  # in the third batch
    assert (tmp_path / "run/checkpoints/2").exists()
    assert "going on from update 2 of 5\nepisodes start anew" in run(fail_at=None)
    assert len(set(seeds)) == 2  # other chances than before
    rows = list(read_metrics(tmp_path / "run/metrics.csv"))
    assert [row["update"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["rooms_found"] for row in rows] == [4, 5, 5, 5, 5]  # a room counts where a step leads: ages 1 to 5
