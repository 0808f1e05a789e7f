"""Working in several processes: the process group of torchrun, local pools and forks."""
