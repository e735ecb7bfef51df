"""One module per subcommand of `curiax`; `cli` dispatches."""
