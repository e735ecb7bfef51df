"""Experience from the host: the same as from the compiled program, collected one batch ahead at most."""

import dataclasses
import functools
import io
import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from curiax import envs
from curiax.agent.policy import make_agent
from curiax.commands.program import run_training
from curiax.errors import EnvironmentFailed
from curiax.training.rollout import actor_init, rollout
from curiax.training.rollout_host import Collector, found, host_actor_init, host_rollout, nothing_found, remember
from curiax.training.run.directory import Run
from curiax.training.run.metrics import read_metrics
from curiax.training.train import make_host_learner, train
from curiax.types import Trajectory
from tests.support.host_counter import FLAT, counter
from tests.support.host_maze import HOST, maze_of, on_host
from tests.support.tiny import TINY

CONFIG = dataclasses.replace(
    on_host(TINY),
    curiosity="byol-explore",
    log_every=1,
    learning_rate=1e-3,
    vmpo=dataclasses.replace(TINY.vmpo, target_period=1),  # the acting network changes with every update
)
learner_of = functools.cache(make_host_learner)


@pytest.fixture(autouse=True)
def hosts(monkeypatch):
    """The maze on the host; learners that do the same are compiled once."""
    monkeypatch.setitem(envs.HOSTS, "host", HOST)
    alike = {"sync": False, "log_every": 1, "env_steps": 1}
    monkeypatch.setattr(
        "curiax.training.train.make_host_learner", lambda config: learner_of(dataclasses.replace(config, **alike))
    )


@functools.cache
def agent_for(spec):
    return jax.jit(lambda key: make_agent(TINY.network, spec, key))(jax.random.key(0))


@pytest.mark.slow
def test_the_host_gives_the_trajectory_of_the_compiled_program():
    config = dataclasses.replace(CONFIG, batch_size=8, unroll=70)  # the last stream's first episode is cut at 63
    env = maze_of(config)
    key, _, _, key_stream = jax.random.split(jax.random.key(config.seed), 4)  # as a learner begins
    key, agent = jax.random.split(key, 3)[1], agent_for(env.spec)
    _, compiled = jax.jit(lambda: rollout(env, agent, actor_init(env, 8, 8, key_stream), config.unroll, key))()
    host = HOST.make(config, 8, 0)
    _, trajectory = host_rollout(host, agent, host_actor_init(host, 8), config.unroll, key)
    trajectory.info.pop("room")
    assert compiled.last.any() and trajectory.obs.dtype == compiled.obs.dtype
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), trajectory, compiled)


@pytest.mark.slow
def test_training_in_step_on_the_host_is_training_in_the_compiled_program():
    config = dataclasses.replace(CONFIG, sync=True, log_every=2)
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


@pytest.mark.slow
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
    env, _ = counter(spec=FLAT)
    actor, trajectory = host_rollout(env, agent_for(FLAT), host_actor_init(env, 8), 8, jax.random.key(0))
    assert trajectory.obs.dtype == np.uint8
    assert trajectory.obs[:, 0, 0].tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert np.flatnonzero(trajectory.last[:, 0]).tolist() == [5] and trajectory.first[:, 0].tolist()[:1] == [True]
    assert trajectory.valid[:, 0].tolist() == [True] * 5 + [False] + [True] * 2
    _, after = host_rollout(env, agent_for(FLAT), actor, 3, jax.random.key(1))
    assert after.obs[:, 0, 0].tolist() == [2, 3, 4, 5]  # where the last one ended
    np.testing.assert_array_equal(after.previous_action, trajectory.action[-1])


def test_a_collector_has_a_thread_of_its_own_and_closes_what_it_opened():
    threads = []
    env, closed = counter(threads=threads, spec=FLAT)
    with Collector(lambda: env, 3, 8) as collector:
        asked = [collector.ask(agent_for(FLAT), jax.random.key(n)) for n in range(2)]
        assert [one.result().obs[0, 0, 0] for one in asked] == [0, 3]
        assert not closed
    assert closed == [True]
    assert len(set(threads)) == 1 and threads[0] != threading.get_ident()


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


def failing(env, fail_at, closed):
    """The same environment, every step in a room of its own, until a step fails."""
    taken = itertools.count(1)

    def step(action):
        number, answer = next(taken), env.step(action)
        if number == fail_at:
            raise RuntimeError("the cartridge fell out\nand more")
        return answer._replace(info=answer.info | {"room": np.full(len(action), number)})

    return env._replace(step=step, close=lambda: closed.append(True))


def test_a_failing_emulator_ends_in_one_line_and_a_checkpoint_and_the_run_goes_on_from_it(tmp_path, monkeypatch):
    config = dataclasses.replace(CONFIG, env_steps=40)
    seeds, closed = [], []

    def make(fail_at, config, batch_size, seed):
        seeds.append(seed)
        return failing(HOST.make(config, batch_size, seed), fail_at, closed)

    def run(fail_at):
        """Trains, and gives what was said."""
        monkeypatch.setitem(envs.HOSTS, "host", envs.Host(functools.partial(make, fail_at), HOST.spec))
        console = Console(file=io.StringIO(), width=200)
        assert run_training(config, tmp_path / "run", False, console) == 0
        return console.file.getvalue()

    line = r"^host/on-demand failed after update 2 \(RuntimeError: the cartridge fell out, .*:\d+\)$"
    with pytest.raises(EnvironmentFailed, match=line):
        run(fail_at=9)  # in the third batch
    assert (tmp_path / "run/checkpoints/2").exists() and closed == [True]
    assert "going on from update 2 of 5\nnew episodes start" in run(fail_at=None)
    assert len(set(seeds)) == 2  # other chances than before
    rows = list(read_metrics(tmp_path / "run/metrics.csv"))
    assert [row["update"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["rooms_found"] for row in rows] == [4, 8, 8, 8, 12]  # the eight of before are not forgotten


@pytest.mark.slow
def test_what_a_killed_run_did_after_its_checkpoint_is_set_aside(tmp_path, monkeypatch):
    """Emulators do not do the same again: rows that were lost with them belong to no state there is."""
    config = dataclasses.replace(CONFIG, env_steps=40, checkpoint_every=2)
    monkeypatch.setitem(envs.HOSTS, "host", HOST)

    class Killed(Exception): ...

    def killed(state):
        if int(state.num_updates) == 4:
            raise Killed

    console = Console(file=io.StringIO(), width=200)
    with monkeypatch.context() as patch:
        save = Run.save
        patch.setattr(Run, "save", lambda run, state: killed(state) or save(run, state))
        with pytest.raises(Killed):
            run_training(config, tmp_path / "run", False, console)
    assert run_training(config, tmp_path / "run", False, console) == 0
    assert "rows after update 2 have no checkpoint, and were moved to metrics.lost.1.csv" in console.file.getvalue()
    updates = [[row["update"] for row in read_metrics(path)] for path in sorted((tmp_path / "run").glob("metrics*"))]
    assert updates == [[1, 2, 3, 4, 5], [3, 4]]
