"""Settings of OpenNMT-py's models."""

from pathlib import Path

import pytest
from opennmt_systems import OpenNMTRecurrent, OpenNMTTransformer
from systems import Task


@pytest.mark.parametrize("system", [OpenNMTRecurrent, OpenNMTTransformer])
def test_schedules_of_the_peer_end_with_the_training(
    task: Task, system: type[OpenNMTRecurrent]
) -> None:
    import json

    arguments = system(Path("python")).write_training(task)
    settings = json.loads(Path(arguments[1]).read_text())
    assert settings["train_steps"] == task.updates == settings["save_checkpoint_steps"]
    assert 0 < settings.get("start_decay_steps", settings.get("warmup_steps")) < task.updates
