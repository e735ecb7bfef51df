"""How the agent learns: rollouts, the learner, the training loop, run directories, many devices."""
