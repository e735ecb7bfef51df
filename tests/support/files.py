"""What a directory holds."""


def contents(directory):
    """Every file below a directory, and what it holds."""
    return {file.relative_to(directory): file.read_bytes() for file in directory.rglob("*") if file.is_file()}
