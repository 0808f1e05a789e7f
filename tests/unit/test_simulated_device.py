"""The simulated device: it computes as the CPU, fails as a GPU would, and records waiting."""

from collections.abc import Callable, Iterator

import pytest
import torch

from tests.simulated_device import DEVICE, DeviceTensor, SimulatedDevice, Wait, simulated_device


@pytest.fixture
def device() -> Iterator[SimulatedDevice]:
    with simulated_device() as device:
        yield device


def kinds(device: SimulatedDevice) -> list[str]:
    """Return the kinds of waits so far, and forget them."""
    result = [wait.kind for wait in device.waits.elements()]
    device.waits.clear()
    return result


def test_tensors_stay_on_the_device(device: SimulatedDevice) -> None:
    made = torch.arange(6.0, device=DEVICE).view(2, 3)
    moved = torch.ones(3).to(DEVICE, non_blocking=True)
    result = torch.softmax(made + moved, dim=1) @ made.t()
    assert isinstance(result, DeviceTensor) and result.device == DEVICE
    assert not kinds(device)
    host = torch.arange(6.0).view(2, 3)
    torch.testing.assert_close(result.host, torch.softmax(host + 1, dim=1) @ host.t())


def test_gradients_and_updates_equal_those_of_the_cpu(device: SimulatedDevice) -> None:
    values = []
    for place in (torch.device("cpu"), DEVICE):
        layer = torch.nn.Linear(2, 2)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.fill_(0.5)
        layer.to(place)
        optimizer = torch.optim.Adam(layer.parameters(), fused=True)
        out = torch.empty(1, 2, device=place)
        with torch.no_grad():
            torch.tanh(layer(torch.ones(1, 2, device=place)), out=out)
        (layer(torch.ones(3, 2, device=place)) * out).sum().backward()
        optimizer.step()
        values.append([getattr(value, "host", value) for value in layer.parameters()])
    torch.testing.assert_close(*values)


@pytest.mark.parametrize("operation", [torch.add, torch.matmul, torch.maximum])
def test_two_devices_in_one_operation_are_refused(
    device: SimulatedDevice, operation: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> None:
    with pytest.raises(RuntimeError, match="two devices"):
        operation(torch.ones(2, device=DEVICE), torch.ones(2))
    torch.ones(2, device=DEVICE) + torch.ones(())  # a GPU takes single numbers of the CPU


def test_reading_a_value_is_recorded(device: SimulatedDevice) -> None:
    values = torch.tensor([3.0, 4.0]).to(DEVICE, non_blocking=True)
    assert values.tolist() == [3, 4] and kinds(device) == ["value"]
    assert float(values[0]) == 3 and kinds(device) == ["value"]
    assert bool((values > 2).all()) and kinds(device) == ["value"]
    assert values.cpu().sum() == 7 and kinds(device) == ["value"]
    target = torch.zeros(2)
    target.copy_(values)
    assert kinds(device) == ["value"]


def test_shapes_that_depend_on_values_are_recorded(device: SimulatedDevice) -> None:
    values = torch.arange(4, device=DEVICE)
    assert len(values.nonzero()) == 3 and kinds(device) == ["shape"]
    assert len(values[values > 1]) == 2 and kinds(device) == ["shape"]
    assert len(torch.unique(values)) == 4 and kinds(device) == ["shape"]
    values[values > 1] = torch.zeros(2, dtype=torch.int64, device=DEVICE)
    assert kinds(device) == ["shape"]
    values[values > 1] = 9  # fills by the mask
    values.masked_fill_(values > 0, 5)
    torch.where(values > 1, values, 0)
    assert not kinds(device)


def test_uploads_that_wait_are_recorded(device: SimulatedDevice) -> None:
    host = torch.arange(3)
    on_device = host.to(DEVICE)
    assert kinds(device) == ["upload"]
    torch.tensor([1, 2], device=DEVICE)
    assert kinds(device) == ["upload"]
    made = on_device.new_tensor([[5, 6]])
    assert kinds(device) == ["upload"] and made.dtype == torch.int64
    assert made.tolist() == [[5, 6]] and kinds(device) == ["value"]
    on_device[host]  # indices of the CPU are copied
    assert kinds(device) == ["upload"]
    host.to(DEVICE, non_blocking=True)
    torch.full([], 0.5, device=DEVICE)
    on_device[0] = 7
    assert not kinds(device)


def test_the_place_is_that_in_the_package(device: SimulatedDevice) -> None:
    from nmtkit.models.packing import Packing

    Packing.of(torch.ones(2, 3, device=DEVICE).bool(), DEVICE)
    assert device.waits == {Wait("value", "models/packing.py:Packing.of"): 1}


def test_tensors_are_of_no_use_outside() -> None:
    with simulated_device():
        values = torch.ones(2, device=DEVICE)
    with pytest.raises(RuntimeError, match="outside"):
        values + 1
