"""Where is the noise in an environment? `curiax diagnose ENV`; see docs/diagnose.md."""
