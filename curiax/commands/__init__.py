"""One module for each subcommand of `curiax`; `cli` dispatches."""
