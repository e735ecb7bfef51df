"""Where a run is computed: which options fit together, and that they are no part of the run."""

import dataclasses

import pytest

from curiax.commands.train import parse_train
from curiax.config import to_dict
from curiax.errors import UserError
from curiax.training.job import JobOptions, check_job
from tests.support.tiny import TINY

WHOLE = JobOptions(coordinator="127.0.0.1:1234", num_processes=2, process_id=1)


@pytest.mark.parametrize("options", [JobOptions(), JobOptions(devices=8), JobOptions(coordinator="auto"), WHOLE])
def test_options_that_fit_together_are_returned(options):
    assert check_job(options) == options


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"coordinator": None}, "--num-processes: needs --coordinator HOST:PORT, the address of process 0"),
        ({"coordinator": "auto"}, "--num-processes: not with --coordinator auto, which finds it itself"),
        ({"coordinator": "127.0.0.1"}, "--coordinator 127.0.0.1: must be HOST:PORT, or auto"),
        ({"process_id": None}, "--coordinator: needs --num-processes and --process-id too, unless it is auto"),
        ({"process_id": 2}, "--process-id 2: must be from 0 to 1"),
        ({"process_id": -1}, "--process-id -1: must be from 0 to 1"),
        ({"num_processes": 0}, "--num-processes 0: must be at least 1"),
        ({"devices": 0}, "--devices 0: must be at least 1"),
        ({"peer_timeout": 0}, "--peer-timeout 0: must be at least 1"),
    ],
)
def test_options_that_do_not_are_refused_in_one_line(changes, line):
    with pytest.raises(UserError) as caught:
        check_job(dataclasses.replace(WHOLE, **changes))
    assert str(caught.value) == line


def test_the_command_line_reads_them_and_the_config_does_not_hold_them():
    words = ["maze/on-demand", "--devices", "4", "--coordinator", "host0:1234", "--num-processes", "2"]
    command = parse_train([*words, "--process-id", "1"])
    assert command.job == JobOptions(devices=4, coordinator="host0:1234", num_processes=2, process_id=1)
    names = {field.name for field in dataclasses.fields(JobOptions)}
    assert not names & to_dict(TINY).keys()
