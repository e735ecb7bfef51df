"""`curiax diagnose ENV`: where is the noise in an environment? See docs/diagnose.md."""
