"""What a user can get wrong."""


class UserError(Exception):
    """A mistake of the user's: one line, exit code 2."""
