"""What can go wrong that is said in one line."""


class UserError(Exception):
    """A mistake of the user's: one line, exit code 2."""


class EnvironmentFailed(UserError):
    """An environment on the host raised; what was learned before is good."""


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__
