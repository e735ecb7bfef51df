"""A package with an __init__, so that no installed package named tests comes before it: opensimplex brings one."""
