"""The paper's claims: quantities worked by hand, sums that agree, claims that hold, and checks that can fail."""

import itertools
import json
import math

import jax.numpy as jnp
import numpy as np
import pytest

from curiax.commands.cli import main
from curiax.curiosity.measures.critic import contrastive_value
from curiax.lab.theory import claims, contrastive, show, worlds
from curiax.lab.theory.asymptotics import large_batches
from curiax.lab.theory.cases import sample_cases
from curiax.lab.theory.claims import CLAIMS, Claim

NUM_WORLDS = 240
HOLDING = [claim for claim in CLAIMS if not claim.printed]
PRINTED = [claim for claim in CLAIMS if claim.printed]
titled = {"ids": lambda claim: claim.title}


@pytest.fixture(scope="module")
def cases():
    return sample_cases(NUM_WORLDS, seed=3)


@pytest.fixture(scope="module")
def world(cases):
    """Four pairs (x, a), three outcomes, three hindsight symbols."""
    return cases[1].world


@pytest.fixture
def leaky():
    """Two pairs (x, a), equally often; z is 0 three times in four in the first, once in four in the second."""
    latent = np.array([[0.75, 0.25], [0.25, 0.75]])
    return worlds.World(
        visits=np.full((1, 2), 0.5),
        dynamics=np.full((1, 2, 2), 0.5),
        generator=np.repeat(latent[None, :, None], 2, axis=2),
        outcomes=np.array([[[0.0], [1.0]]]),
        reconstructor=np.full((1, 2, 2, 1), 0.5),
    )


def test_information_and_chi_square_by_hand(leaky):
    assert worlds.latent_prior(leaky) == pytest.approx(0.5)
    assert worlds.leakage(leaky) == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))
    assert worlds.chi_square(leaky) == pytest.approx(0.25)


def test_reward_and_divergence_by_hand(leaky):
    """Outcome and z are independent given (x, a); every squared error is 1/4, so p_η is the same everywhere."""
    scale = np.full((1, 2), 2.0)
    latent = worlds.latent_given_context(leaky)
    assert worlds.remaining_entropy(leaky, latent) == pytest.approx(math.log(2))
    assert worlds.outcome_information(leaky, latent) == pytest.approx(0, abs=1e-15)
    assert worlds.hindsight_reward(leaky, scale) == pytest.approx(0.125 + worlds.leakage(leaky))
    log_density = -0.5 * math.log(2 * math.pi) - 0.125
    assert worlds.model_divergence(leaky, scale, latent) == pytest.approx(-math.log(2) - log_density)


def test_gap_of_two_by_hand(leaky):
    """E[M log M], M the mean of two ratios from {1/2, 3/2}, each half the time."""
    case = sample_cases(1, seed=0)[0]._replace(world=leaky, offset=np.array([[0.3, -2.0]]))
    batch = next(large_batches(case))
    assert batch.batch_size == 2
    assert batch.gap == pytest.approx(0.25 * 1.5 * math.log(1.5) + 0.25 * 0.5 * math.log(0.5))


@pytest.mark.parametrize("batch_size", [2, 3, 5])
def test_counts_and_tuples_give_the_same_sums(world, batch_size):
    critic = np.random.default_rng(0).normal(size=(len(world.visits), 4, 3))
    prior = worlds.latent_prior(world)
    draws = [contrastive.all_tuples(batch_size, 3), contrastive.all_counts(batch_size, 3)]
    assert [len(draw.counts) for draw in draws] == [3 ** (batch_size - 1), math.comb(batch_size + 1, 2)]
    assert [draw.batch_size for draw in draws] == [batch_size, batch_size]
    by_tuples, by_counts = (contrastive.expected(contrastive.losses(critic, draw), prior, draw) for draw in draws)
    np.testing.assert_allclose(by_counts, by_tuples, rtol=1e-12)


def test_the_sum_is_what_the_library_estimates():
    """The mean of `contrastive_value` over all batches of three pairs (x, a) and z, each with its probability."""
    case = sample_cases(1, seed=5)[0]
    joint = case.world.visits[0][:, None] * worlds.latent_given_context(case.world)[0]
    critic = case.critics[0, 2]
    items = list(itertools.product(range(2), range(2)))
    batches = np.array(list(itertools.product(items, repeat=3)))
    context, z = batches[..., 0], batches[..., 1]
    energy = jnp.asarray(critic[context[:, :, None], z[:, None, :]], jnp.float32)
    value = contrastive_value(energy, jnp.ones(context.shape, bool), 1.0)
    estimate = np.sum(joint[context, z].prod(1) * np.asarray(value, np.float64).mean(1))
    bonus = claims.contrastive_bonus(case, contrastive.all_tuples(3, 2))[0, 2]
    assert estimate == pytest.approx(np.sum(case.world.visits[0] * bonus), abs=1e-6)


def test_critic_gradient_is_the_slope_of_the_bonus(world):
    rng = np.random.default_rng(1)
    critic, step = rng.normal(size=(2, len(world.visits), 4, 3))
    latent, prior = worlds.latent_given_context(world), worlds.latent_prior(world)
    draw = contrastive.all_tuples(3, 3)

    def bonus(g):
        return np.sum(latent * contrastive.expected(contrastive.losses(g, draw), prior, draw), axis=-1)

    slope = (bonus(critic + 1e-5 * step) - bonus(critic - 1e-5 * step)) / 2e-5
    gradient = contrastive.critic_gradient(critic, latent, prior, draw)
    np.testing.assert_allclose(np.sum(gradient * step, axis=-1), slope, atol=1e-8)


def test_sampled_distributions_are_distributions(cases):
    for case in cases:
        for part in (*case.world[:3], *case.world_3d[:3], case.variational):
            assert part.min() > 0
            np.testing.assert_allclose(part.sum(-1), 1)


def test_reparameterised_world_has_the_same_dynamics_and_independent_noise(world):
    best = worlds.reparameterise(world)
    prior = worlds.latent_prior(best)
    hits = np.all(best.reconstructor[:, :, None] == best.outcomes[:, None, :, None], axis=-1)
    np.testing.assert_allclose(np.einsum("wsyz,wz->wsy", hits, prior), world.dynamics, atol=1e-12)
    np.testing.assert_allclose(worlds.latent_given_context(best), np.repeat(prior[:, None], 4, axis=1), atol=1e-12)


def test_without_leakage_the_two_priors_of_theorem_1_are_one(cases):
    world = cases[0].world
    same = np.repeat(world.generator[:, :1, :1], 2, axis=1).repeat(2, axis=2)  # z tells nothing
    world = world._replace(generator=same)
    limit = claims.paper_limit(world)
    margins = [claims.optimism(world, limit, 1, marginal=marginal) for marginal in (False, True)]
    np.testing.assert_allclose(*margins, atol=1e-12)


@pytest.mark.parametrize("claim", HOLDING, **titled)
def test_claim_holds(claim, cases):
    row = claims.tally(claim, cases)
    assert (row.violations, row.worlds_violated) == (0, 0)
    assert row.worst_margin >= -claims.TOLERANCE
    assert row.instances >= row.worlds > 0
    assert show.verdict(row) == "holds"


@pytest.mark.parametrize("claim", PRINTED, **titled)
def test_printed_form_fails(claim, cases):
    row = claims.tally(claim, cases)
    assert row.violations >= row.worlds_violated > 0
    assert row.worst_margin < -0.01
    assert show.verdict(row) == f"printed form fails in {row.worlds_violated} of {row.worlds} worlds"


def shifted(function, by):
    return lambda *args: function(*args) + by


# The start of a title, a quantity of the claim, and a small error in it.
ERRORS = [
    ("Lemma 2:", contrastive, "losses", 1e-4),
    ("Lemma 3:", contrastive, "losses", 0.05),
    ("Lemma 4: log", worlds, "pointwise_information", np.array([1e-4, 0])),
    ("Lemma 4: L_con", contrastive, "losses", 1e-3),
    ("Lemma 4: L_con", contrastive, "losses", -1e-3),
    ("Lemma 5:", worlds, "outcome_information", 1e-6),
    ("Theorem 1: R ≥ KL", worlds, "hindsight_reward", -0.05),
    ("Theorem 1: R ≥ KL", claims, "paper_limit", 0.3),
    ("Theorem 1: prior p(Z)", worlds, "hindsight_reward", -0.05),
    ("Theorem 1: prior p(Z)", claims, "remaining", 0.3),
    ("Theorem 1: Y in 3-d", worlds, "hindsight_reward", -0.05),
    ("Theorem 1: Y in 3-d", claims, "paper_limit", 0.3),
    ("Theorem 1: R ≥ 0", worlds, "hindsight_reward", -0.5),
    ("Theorem 1: R = 0", worlds, "hindsight_reward", 1e-6),
    ("Theorem 2: R_con ≤", contrastive, "losses", 0.05),
    ("Theorem 2: R_con →", contrastive, "losses", 1e-6),
    ("Theorem 2: R_con →", contrastive, "losses", -1e-6),
    ("Theorem 2: R_con →", worlds, "chi_square", 1e-3),
    ("InfoNCE:", contrastive, "losses", 0.05),
    ("Ceiling:", contrastive, "losses", 1e-6),
]


@pytest.mark.parametrize(("start", "module", "name", "error"), ERRORS)
def test_an_error_is_counted(start, module, name, error, cases, monkeypatch):
    (claim,) = (claim for claim in HOLDING if claim.title.startswith(start))
    two_latents = cases[:1]
    monkeypatch.setattr(module, name, shifted(getattr(module, name), error))
    row = claims.tally(claim, two_latents)
    assert row.violations >= row.worlds_violated > 0
    assert show.verdict(row).startswith("BROKEN in")


def test_a_q_that_is_no_distribution_breaks_lemma_1(cases):
    case = cases[0]._replace(variational=1.5 * cases[0].variational)
    assert claims.tally(HOLDING[0], [case]).violations > 0


def test_every_claim_is_shown_to_be_able_to_fail():
    starts = ("Lemma 1:", *(start for start, *_ in ERRORS))
    assert [claim.title for claim in HOLDING if not claim.title.startswith(starts)] == []


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_only_the_right_rate_fits_the_gap(factor, cases, monkeypatch):
    """χ²/K, which Jensen's inequality alone would give, and χ²/(4K) are refuted; χ²/(2K) is not."""
    true = worlds.chi_square
    monkeypatch.setattr(worlds, "chi_square", lambda world: factor * true(world))
    margins = claims.chi_square_gap(cases[0])
    assert bool((margins >= -claims.TOLERANCE).all()) == (factor == 1.0)


def test_relative_gap_goes_to_one():
    gaps = show.measure_gaps(sample_cases(NUM_WORLDS, seed=0)[0])
    distance = np.abs(gaps.relative - 1).max(0)
    assert gaps.batch_sizes[0] == 2
    assert gaps.batch_sizes[-1] == 8192
    assert distance[0] > 0.1
    assert distance[-1] < 1e-3
    assert np.all(np.diff(gaps.chi_square) >= 0)
    assert gaps.chi_square[0] >= show.SMALLEST


def test_violations_are_counted_by_instance_and_by_world(cases):
    margins = np.array([[0.5, -0.25, -1e-12], [-1.0, -2.0, 0.0], [1.0, 2.0, 3.0], [np.nan, 1.0, 1.0]])
    row = claims.tally(Claim("claim", "where", lambda _: margins), cases[:1])
    assert (row.worlds, row.instances, row.violations, row.worlds_violated) == (4, 12, 4, 3)


@pytest.fixture
def out(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_command_prints_writes_and_draws(out, capsys):
    args = ["theory", "--worlds", "60", "--seed", "1"]
    assert main([*args, "--json", str(out / "table.json"), "--figure", str(out / "gap.png")]) == 0
    printed = capsys.readouterr().out
    result = json.loads((out / "table.json").read_text())
    assert (result["worlds"], result["seed"]) == (60, 1)
    assert [row["claim"] for row in result["claims"]] == [claim.title for claim in CLAIMS]
    for row in result["claims"]:
        (line,) = (line for line in printed.splitlines() if row["claim"] in line and row["verdict"] in line)
        words = (row["where"], f" {row['instances']:,} ", f" {row['violations']:,} ", f"{row['worst_margin']:.1e}")
        assert [word for word in words if word not in line] == []
    assert len(result["gap"]["gap"][0]) == len(result["gap"]["batch_sizes"])
    assert (out / "gap.png").read_bytes().startswith(b"\x89PNG")


def test_same_seed_same_table_other_seed_other_worlds():
    rows = [claims.tally(HOLDING[0], sample_cases(30, seed)) for seed in (7, 7, 8)]
    assert rows[0] == rows[1]
    assert rows[0].worst_margin != rows[2].worst_margin


def test_worlds_are_shared_out_in_chunks(monkeypatch):
    monkeypatch.setattr("curiax.lab.theory.cases.CHUNK", 4)
    cases = sample_cases(17, seed=0)
    assert [len(case.offset) for case in cases] == [4, 2, 4, 2, 4, 1]
    assert [len(case.offset) for case in sample_cases(1, seed=0)] == [1]


def test_a_broken_claim_is_exit_code_1(out, capsys, monkeypatch):
    monkeypatch.setattr(worlds, "outcome_information", shifted(worlds.outcome_information, 1e-6))
    assert main(["theory", "--worlds", "30"]) == 1
    assert "BROKEN in 30 of 30 worlds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--worlds", "0"], "--worlds 0: must be at least 1"),
        (["--seed", "-1"], "--seed -1: must be from 0 to 4294967295"),
        (["--worlds", "3", "--json", "missing/table.json"], "--json missing/table.json: cannot be written ("),
        (["--worlds", "30", "--figure", "missing/gap.png"], "--figure missing/gap.png: cannot be written ("),
        (["--worlds", "30", "--figure", "gap.nonsense"], "gap.nonsense: its name must end in .png, .svg, .pdf"),
        (["--worlds", "many"], "many"),
    ],
)
def test_a_mistake_is_one_line(args, words, out, capsys, monkeypatch):
    monkeypatch.chdir(out)
    assert main(["theory", *args]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_nothing_to_draw_is_one_line(tmp_path):
    gaps = show.Gaps([2, 4], np.zeros(0), np.zeros((0, 2)))
    with pytest.raises(show.UserError, match="take more --worlds"):
        show.draw(tmp_path / "gap.png", gaps)
