"""The arena as data: its worlds, who runs in them, what is measured without an agent, and the scores."""

import csv
import subprocess
import sys
from io import StringIO

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from curiax import curiosity, envs
from curiax.commands.cli import main
from curiax.config.dotted import replaced
from curiax.config.presets import preset_for
from curiax.curiosity.table import METHODS
from curiax.errors import UserError
from curiax.lab.scm.run import jobs
from curiax.lab.scm.table import METHODS as MEASURED_METHODS
from curiax.studies import STUDIES
from curiax.studies.base import Member, base_config, changes, member_config, members, train_words
from curiax.studies.measured import measured_results, measuring, preference, read_measured
from curiax.studies.published import PUBLISHED
from curiax.studies.runner.progress import Speed
from curiax.studies.runner.run import conclude, estimate, make_plan, save_scores, speed_of
from curiax.training.learner import make_batch_learner
from curiax.training.signals import Stop
from curiax.types import Trajectory
from tests.support.arena_data import ARENA, config_of, write_arena, write_measured
from tests.support.terminal import ROOT

MAZE = ["maze-baseline", "maze-brownian", "maze-random", "maze-on-demand"]
SCM = ["scm-independent", "scm-state", "scm-action"]
GRIDS = ["doorkey-5x5", "doorkey-5x5-noisy", "multiroom-n6", "multiroom-n6-noisy"]
LAST = ("icm", "ama", "critic", "lbs", "disagreement", "progress")
BASE = base_config(ARENA, "laptop")


def config(world, method="byol-hindsight", base=BASE):
    return member_config(ARENA, base, Member(world, method, 0))


def test_the_worlds_have_the_names_that_others_read():
    assert list(ARENA.settings) == [*MAZE, *SCM, *GRIDS, "crafter", "craftax-classic"]


def test_every_method_is_in_every_world_or_there_is_a_reason():
    found = {(member.setting, member.method) for member in members(ARENA)}
    methods = [method for group in ARENA.methods for method in group]
    for world in ARENA.settings:
        missing = [method for method in methods if (world, method) not in found]
        assert missing == (["random-policy"] if world in SCM else []), world
        assert all(ARENA.left_out[f"{world}/{method}"] for method in missing)
    for method in methods:
        curiosity.resolve(method)
        assert method == "random-policy" or method in MEASURED_METHODS
    assert {"byol-hindsight", "icm+hindsight", "lpm", "critic", "lbs", "disagreement", "progress", "ama"} <= set(
        methods
    )


def test_three_seeds_five_of_the_byol_methods_in_the_maze_and_one_of_the_last_methods_in_slow_worlds():
    slow = [*GRIDS, "crafter", "craftax-classic"]
    seeds = {}
    for member in members(ARENA):
        seeds.setdefault((member.setting, member.method), []).append(member.seed)
    for (world, method), found in seeds.items():
        num = 5 if world in MAZE and method.startswith("byol") else 3
        num = 1 if (world in slow and method in LAST) or (world in GRIDS and method == "random-policy") else num
        assert found == list(range(num)), (world, method)


def test_the_most_telling_methods_run_first_in_all_worlds():
    first = [member for member in members(ARENA) if member.seed == 0][: 5 * 13 - 3]
    assert {member.method for member in first} == {"byol-hindsight", "byol-explore", "rnd", "random-policy", "lpm"}
    assert {member.setting for member in first} == set(ARENA.settings)


@pytest.mark.parametrize(
    ("world", "env", "fields"),
    [
        ("maze-on-demand", "maze/on-demand", {"env_steps": 2_000_000}),
        ("doorkey-5x5", "gym/MiniGrid-DoorKey-5x5-v0", {"evaluate_every": 40}),
        ("doorkey-5x5-noisy", "gym/MiniGrid-DoorKey-5x5-v0+cells", {"evaluate_every": 40}),
        ("multiroom-n6", "gym/MiniGrid-MultiRoom-N6-v0", {"env_steps": 2_000_000, "evaluate_every": 80}),
        ("multiroom-n6-noisy", "gym/MiniGrid-MultiRoom-N6-v0+cells", {"env_steps": 2_000_000, "evaluate_every": 80}),
        ("crafter", "crafter", {}),
        ("craftax-classic", "craftax/classic-symbolic", {"env_steps": 1_000_000}),
    ],
)
def test_a_world_has_its_own_familys_preset_and_few_fields_of_its_own(world, env, fields):
    found = config(world)
    assert changes(found) == fields and found.env == env
    assert found.reward == ("mixed" if world in GRIDS else "intrinsic")
    expected = {"env": env, "curiosity": "byol-hindsight"} | fields
    assert found == replaced(preset_for("laptop", env), expected)


def test_frames_are_as_in_the_published_runs_and_the_last_tenth_is_five_evaluations():
    for world, frames in {"doorkey-5x5": 1e6, "multiroom-n6-noisy": 2e6, "crafter": 1e6}.items():
        assert config(world).env_steps == frames
    for world in GRIDS:
        assert 45 <= config(world).num_updates // config(world).evaluate_every <= 50


def test_what_the_user_sets_holds_in_every_world_and_so_does_a_number_of_steps():
    base = replaced(BASE, {"world.latent": 7, "env_steps": 640})
    for world in (*MAZE, *GRIDS, "crafter", "craftax-classic"):
        found, usual = config(world, base=base), config(world)
        assert (found.world.latent, found.env_steps) == (7, 640)
        assert found == replaced(usual, {"world.latent": 7, "env_steps": 640})


def test_a_method_of_the_users_is_in_every_world_by_one_line(monkeypatch):
    curiosity.register("mine", "pixel+hindsight")
    try:
        monkeypatch.setitem(STUDIES, "arena", ARENA._replace(methods=(("mine",), *ARENA.methods)))
        plan = make_plan("arena", BASE, only=["*/mine"])
        assert {member.setting for member in (*plan.members, *plan.measured)} == set(ARENA.settings)
        asked = jobs(["state/mine"], [0])
        assert [job.method for job in asked] == ["pixel+predict", "mine"] or len(asked) == 2
    finally:
        del curiosity.METHODS["mine"]


def test_what_the_worlds_decide_is_refused(capsys):
    assert main(["study", "arena", "--dry-run", "--reward", "mixed"]) == 2
    assert "is what the study varies" in capsys.readouterr().err
    assert main(["study", "arena", "--dry-run", "--env-steps", "640", "--only", "crafter/rnd/0"]) == 0


def test_runs_and_measurements_are_told_apart(capsys):
    plan = make_plan("arena", BASE, only=["scm-state/rnd", "crafter/rnd"])
    assert [member.name for member in plan.members] == [f"crafter/rnd/{seed}" for seed in range(3)]
    assert [member.name for member in plan.measured] == [f"scm-state/rnd/{seed}" for seed in range(3)]
    with pytest.raises(UserError, match="--only"):
        make_plan("arena", BASE, only=["scm-state/random-policy"])


def test_a_speed_is_known_within_a_family_of_environments_alone():
    plan = make_plan("arena", BASE, seeds=[0], only=["maze-random/rnd", "crafter/*"])
    assert {plan.kind_of(member) for member in plan.members} >= {"maze/rnd", "crafter/rnd", "crafter/lpm"}
    speeds = {"maze/rnd": Speed(9000, 0), "crafter/rnd": Speed(600, 0), "crafter/lpm": Speed(500, 0)}
    assert speed_of("crafter/rnd", speeds) == Speed(600, 0)
    assert speed_of("crafter/icm", speeds) == Speed(500, 0), "the slowest of the family"
    assert speed_of("gym/rnd", speeds) is None
    assert "about" in estimate(plan, speeds) and "about" not in estimate(plan, {"maze/rnd": Speed(9000, 0)})


def test_the_words_for_a_run_are_those_of_its_world():
    words = train_words(config("multiroom-n6", "lpm"))
    assert words[1:] == [
        *("gym/MiniGrid-MultiRoom-N6-v0", "--curiosity", "lpm", "--seed", "0", "--preset", "laptop"),
        *("--env-steps", "2000000", "--evaluate-every", "80"),
    ]


def test_a_preference_is_one_if_novelty_alone_pays_and_minus_one_if_noise_does():
    assert preference(0.3, 0.0) == 1 and preference(0.0, 0.3) == -1 and preference(0.0, 0.0) == 0
    assert preference(0.3, 0.1) == pytest.approx(0.5) == pytest.approx(-preference(0.1, 0.3))
    assert preference(3.0, 1.0) == pytest.approx(preference(0.3, 0.1)), "methods have units of their own"
    assert preference(0.1, -0.3) == 1 and preference(-0.1, -0.3) == pytest.approx(0.5), "rewards may be negative"


def test_what_was_measured_is_read_as_scores(tmp_path):
    assert read_measured(tmp_path) == {} == {row.method: row for row in measured_results(tmp_path)}
    write_measured(tmp_path, [("rnd", "state", 0, 0.3, 0.1), ("byol-hindsight", "action", 2, 0.4, 0.0)])
    rnd, byol = measured_results(tmp_path)
    assert (rnd.setting, rnd.method, rnd.seed, rnd.score) == ("scm-state", "rnd", 0, pytest.approx(0.5))
    assert (byol.setting, byol.seed, byol.score, byol.env_steps) == ("scm-action", 2, 1.0, 2400 * 256)
    assert np.isnan(byol.noise_dwell) and np.isnan(byol.wall_minutes)


def test_only_what_is_not_measured_yet_is_asked_for_with_all_that_the_table_had(tmp_path):
    write_measured(tmp_path, [("rnd", "state", 0, 0.3, 0.1)])
    assert measuring(tmp_path, [Member("scm-state", "rnd", 0)]) == [] == measuring(tmp_path, [])
    (task,) = measuring(tmp_path, [Member("scm-action", "lpm", 1)])
    assert task.words == [
        *("study", "scm", "--out", str(tmp_path / "scm"), "--seeds", "0", "1"),
        *("--only", "state/rnd", "--only", "action/lpm"),
    ]


def test_a_damaged_table_of_measurements_is_a_clear_error(tmp_path):
    write_measured(tmp_path, [("rnd", "state", 0, 0.3, 0.1)])
    (tmp_path / "scm" / "errors.csv").write_text("method,kind\nrnd,state\n")
    with pytest.raises(UserError, match=r"errors\.csv: not a table of this version"):
        read_measured(tmp_path)


def finished_arena(root):
    """A run of each kind of score, and a measurement; every run is as long as the study asks for, 2 rows."""
    evaluations = {"evaluation/return": [0.2, 0.9], "return": [0.1, 0.5], "noise_dwell": [0.0, 0.99]}
    runs = {
        ("maze-random", "rnd"): [{"trackers": [0.0, 3.0], "noise_dwell": [0.0, 0.25]}],
        ("doorkey-5x5-noisy", "rnd"): [evaluations],
        ("crafter", "rnd"): [{"score": [0.5, 1.9], "achievements": [1.0, 2.0], "noise_dwell": [0.0, 0.0]}],
    }
    write_arena(root, runs)
    write_measured(root, [("rnd", "state", 0, 0.3, 0.1)])
    steps = {world: config_of(world, method, 0, 2).env_steps for world, method in runs}
    return make_plan("arena", BASE, seeds=[0], only=[f"{world}/rnd" for world in steps], directory=root)


def finish(plan, monkeypatch):
    """Takes the runs of a made-up arena as complete."""
    monkeypatch.setattr(type(plan), "finished", lambda plan, member: plan.directory_of(member).exists())


def test_scores_of_all_worlds_are_rows_of_one_table(tmp_path, monkeypatch):
    plan = finished_arena(tmp_path)
    finish(plan, monkeypatch)
    save_scores(plan)
    with (tmp_path / "scores.csv").open(newline="") as file:
        rows = {row["world"]: row for row in csv.DictReader(file)}
    assert list(rows["crafter"])[:6] == ["world", "method", "seed", "score", "noise_dwell", "env_steps"]
    scores = {world: float(row["score"]) for world, row in rows.items()}
    expected = {"maze-random": 3.0, "doorkey-5x5-noisy": 0.9, "crafter": 1.9, "scm-state": 0.5}
    assert scores == pytest.approx(expected)
    assert rows["doorkey-5x5-noisy"]["return"] == "0.5", "of the policy that is sampled, while it trains"
    assert rows["maze-random"]["noise_dwell"] == "0.25" and rows["scm-state"]["noise_dwell"] == ""


def test_a_study_of_different_scores_has_no_scores_name_at_the_head(tmp_path, monkeypatch):
    plan, said = finished_arena(tmp_path), StringIO()
    finish(plan, monkeypatch)
    assert conclude(plan, {}, Console(file=said, width=200), Stop()) == 0
    assert "score" in said.getvalue() and "trackers" not in said.getvalue()


def test_published_scores_are_in_worlds_of_the_arena_and_name_their_source():
    assert {world for row in PUBLISHED for world in row.scores} <= set(ARENA.settings)
    assert all(row.source for row in PUBLISHED)
    crafter = {row.name: (row.scores["crafter"], row.spread) for row in PUBLISHED if "crafter" in row.scores}
    assert crafter == {"Plan2Explore": (2.1, 0.1), "RND": (2.0, 0.1), "Random policy": (1.6, None)}
    assert METHODS["random-policy"].name == "Random policy"


@pytest.mark.slow
def test_an_arena_of_two_families_trains_resumes_and_is_done(tmp_path):
    words = ["study", "arena", "--no-estimate", "--seeds", "0", "--out", str(tmp_path / "arena"), "--jobs", "1"]
    words += ["--only", "maze-random/random-policy", "--only", "doorkey-5x5/random-policy", "--env-steps", "5120"]
    command = [sys.executable, "-m", "curiax", *words]
    first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert (first.returncode, first.stderr) == (0, "")
    before = (tmp_path / "arena" / "scores.csv").read_text()
    assert before.count("random-policy") == 2
    assert main(words) == 0
    assert (tmp_path / "arena" / "scores.csv").read_text() == before
    longer = [*words[:-1], "10240"]
    assert main(longer) == 0, "more steps resume the same runs"
    with (tmp_path / "arena" / "scores.csv").open(newline="") as file:
        steps = {row["world"]: int(row["env_steps"]) for row in csv.DictReader(file)}
    assert steps["doorkey-5x5"] == 10240


def batch_of(found, spec):
    """The shapes of a batch of experience in an environment."""
    T, B, flag, real = found.unroll, found.batch_size, jnp.bool_, jnp.float32
    whole = {"obs": (spec.observation_shape, jnp.uint8 if len(spec.observation_shape) == 3 else real)}
    whole |= {"first": ((), flag), "last": ((), flag)}
    steps = {"action": ((), jnp.int32), "logits": ((spec.num_actions,), real), "reward": ((), real)}
    steps |= {"terminated": ((), flag)}
    shapes = {name: jax.ShapeDtypeStruct((T + 1, B, *shape), dtype) for name, (shape, dtype) in whole.items()}
    shapes |= {name: jax.ShapeDtypeStruct((T, B, *shape), dtype) for name, (shape, dtype) in steps.items()}
    shapes["belief"] = jax.ShapeDtypeStruct((B, found.network.belief), real)
    shapes["previous_action"] = jax.ShapeDtypeStruct((B,), jnp.int32)
    info = {"noise": flag} | ({"cell": jnp.int32} if spec.map_shape else {})
    shapes["info"] = {name: jax.ShapeDtypeStruct((T, B), dtype) for name, dtype in info.items()}
    episode = ("return", "length", *spec.tallied)
    return Trajectory(**shapes, episode={name: jax.ShapeDtypeStruct((T, B), real) for name in episode})


@pytest.mark.slow
@pytest.mark.parametrize("world", ["maze-on-demand", "multiroom-n6-noisy", "crafter", "craftax-classic"])
def test_every_method_can_learn_in_every_family_of_worlds(world):
    """All of a learner but the numbers: shapes and dtypes, traced and not compiled."""
    for method in (method for group in ARENA.methods for method in group):
        found = config(world, method)
        spec = envs.spec_of(found)
        learner = make_batch_learner(found, spec, lambda key: ())
        key = jax.eval_shape(lambda: jax.random.key(0))
        state = jax.eval_shape(learner.init, key)
        after, metrics = jax.eval_shape(learner.learn, state, batch_of(found, spec), key)
        assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(lambda x: (x.shape, x.dtype), state)
        assert "intrinsic_reward/sum" in metrics, (method, list(metrics))
