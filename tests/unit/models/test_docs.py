"""The example on the page about adding a model works, and passes the laws of all models."""

from pathlib import Path
from typing import Any

import pytest
import torch

from nmtkit.data.batch import pad
from nmtkit.models import MODELS, deep_lstm, grconv, layers, rnnsearch
from nmtkit.models.kernels import Twin
from tests.unit.models import test_laws as laws

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "models.md"


@pytest.fixture
def mean() -> Any:
    """The example's model, read from the page."""
    code = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    namespace: dict[str, Any] = {"__name__": "mean"}
    exec(compile(code, str(PAGE), "exec"), namespace)
    torch.manual_seed(1)
    model = namespace["Mean"](namespace["MeanConfig"](2, 3, 2), laws.SRC_SIZE, laws.TGT_SIZE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model.double().eval()


def test_the_example_obeys_the_laws(mean: Any) -> None:
    batch = (*pad(laws.SOURCES), *pad(laws.TARGETS))
    laws.test_loss_equals_repeated_step(mean, batch, 0.1)
    laws.test_padding_changes_nothing(mean, batch, 0.0)
    laws.test_a_batch_of_n_is_n_batches_of_one(mean, batch)
    laws.test_gradient_equals_finite_differences(mean)
    laws.test_for_inference_takes_the_same_steps(mean, batch)


def test_every_pair_of_twins_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for module in (layers, rnnsearch, deep_lstm, grconv):
        for twin in vars(module).values():
            if isinstance(twin, Twin):
                assert f"`{twin.plain.__name__}`" in text
                assert f"`{twin.fast.__module__.rpartition('.')[2]}.py`" in text


def test_every_model_and_recipe_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, model in MODELS.items():
        assert (
            f"| `{name}` | `{model.__module__.removeprefix('nmtkit.').replace('.', '/')}.py`"
            in text
        )
