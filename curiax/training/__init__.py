"""How the agent learns: rollouts, the learner, the training loop, run directories, devices and processes."""
