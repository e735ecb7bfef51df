"""A study of two short runs."""

from tests.support.programs import metrics_but_seconds

METHOD = "on-demand/byol-explore"


FIELDS = """
    --env-steps 3200 --batch-size 2 --unroll 4 --log-every 1 --checkpoint-every 50
    --network.encoder-hidden 8 --network.embedding 8 --network.belief 8
    --world.hidden 8 8 --world.critic-hidden 8 8
""".split()  # noqa: SIM905 — as one would type it


PATIENCE = 600  # seconds; compiling on a busy machine takes its time


def words(directory, *more):
    """The study of two seeds of the method that compiles fastest."""
    return ["study", "maze", "--only", METHOD, "--seeds", "0", "1", "--out", str(directory), *FIELDS, *more]


def assert_same_run(run, reference):
    assert metrics_but_seconds(run) == metrics_but_seconds(reference)
    assert (run / "cells.f32").read_bytes() == (reference / "cells.f32").read_bytes()
    assert (run / "DONE").read_text() == (reference / "DONE").read_text()
