"""Neural networks, optimizers, data loading and distributions for flambeau."""
