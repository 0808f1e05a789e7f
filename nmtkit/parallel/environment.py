"""What `torchrun`, or what else starts several processes for a job, tells each in its environment.

Read without torch, so that a command knows at once whether it is one of several.
"""

import os

NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torch needs to bring processes together; where one of them is missing, none counts."""


def size() -> int:
    """How many processes were started for this job; 1 where nobody says."""
    told = all(os.environ.get(name) for name in NEEDED)
    return int(os.environ["WORLD_SIZE"]) if told else 1


def rank() -> int:
    """Which of them this is, from 0."""
    return int(os.environ["RANK"]) if size() > 1 else 0


def local_rank() -> int:
    """Which of those of this machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def restarted() -> bool:
    """Whether torchrun has begun the job anew, as one of its processes on this machine failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
