"""A device without hardware: tensors that say they are elsewhere, but have values on the CPU.

`simulated_device()` gives torch a second device for a `with` block. Whatever is created there or
moved there is a `DeviceTensor`: its operations run on the CPU, so that training and search go
their whole way with real values, but the block fails where a GPU would: at an operation on tensors
of two devices, and at any tensor that was made on the wrong one. It also records each place where
the host would wait for a GPU (`Wait`).

torch's own fake tensors have no values, so that neither the packing of a batch nor a search can go
beyond its first decision, and autograd aborts with fake tensors of "cuda" where torch is built
without CUDA. The device is named "meta" here, the only one besides "cpu" that autograd knows in
every build. Which operations wait is written down in this file; `bench/gpu.py` counts them on a
real GPU.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import nmtkit

DEVICE = torch.device("meta")
PACKAGE = f"{Path(nmtkit.__file__).parent}/"
aten = torch.ops.aten

SHAPES_FROM_VALUES = {
    aten.nonzero.default,
    aten.masked_select.default,
    aten.unique_dim.default,
    aten._unique2.default,
    aten.unique_consecutive.default,
    aten.repeat_interleave.Tensor,
    aten.bincount.default,
}
"""Operations whose result has a shape that the device must tell the host."""

INDEXING = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default}

COPIES = {aten._to_copy.default, aten.copy_.default}
"""Operations that move values between devices."""


class Wait(NamedTuple):
    """A place where the host waits for the device.

    kind: "value": it reads values of the device; "shape": it needs a shape that depends on values;
    "upload": it copies to the device and waits for that. place: "FILE:FUNCTION" of the package.
    """

    kind: str
    place: str


class DeviceTensor(Tensor):
    """A tensor of the simulated device, with its values in `host`."""

    host: Tensor

    @staticmethod
    def __new__(cls, host: Tensor) -> "DeviceTensor":
        """Wrap a tensor of the CPU."""
        wrapped: DeviceTensor = Tensor._make_wrapper_subclass(
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=DEVICE,
        )
        wrapped.host = host
        return wrapped

    def tolist(self) -> Any:
        """Return the values, as `Tensor.tolist`, which refuses subclasses."""
        return self.cpu().tolist()

    def new_tensor(  # type: ignore[override]
        self, data: Any, *, dtype: torch.dtype | None = None
    ) -> Tensor:
        """Copy values to the device, as `Tensor.new_tensor`, which waits for the copy."""
        return torch.tensor(data, dtype=dtype or self.dtype).to(DEVICE)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        """Return the values; reading them is not recorded."""
        return f"DeviceTensor({self.host!r})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Refuse operations outside the block."""
        raise RuntimeError(f"{function} of a DeviceTensor outside simulated_device()")


class SimulatedDevice(TorchDispatchMode):
    """Runs the operations of the block; waits: how often the host waited, and where."""

    def __init__(self) -> None:
        """Record nothing yet."""
        super().__init__()
        self.waits: Counter[Wait] = Counter()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operation on the CPU, and wrap its result if it is of the device."""
        kwargs = dict(kwargs or {})
        tensors = list(_tensors([*args, *kwargs.values()]))
        here = [tensor for tensor in tensors if isinstance(tensor, DeviceTensor)]
        elsewhere = [tensor for tensor in tensors if not isinstance(tensor, DeviceTensor)]
        goes_to = _destination(function, args, kwargs, bool(here))
        if here and elsewhere:
            _check_devices(function, args, elsewhere)
        self._record(function, args, kwargs, here, elsewhere, goes_to)
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        on_host = {name: _map(_on_host, value) for name, value in kwargs.items()}
        result = function(*_map(_on_host, args), **on_host)
        if function is aten._to_copy.default and goes_to and result is args[0]:
            result = result.clone()
        known = {id(tensor.host): tensor for tensor in here}
        return _map(lambda value: _wrapped(value, known, goes_to), result)

    def _record(
        self,
        function: Any,
        args: Any,
        kwargs: dict[str, Any],
        here: list[DeviceTensor],
        elsewhere: list[Tensor],
        goes_to: bool,
    ) -> None:
        """Record that the host waits for the device, if it does."""
        kind = None
        if function in COPIES and (bool(here) != goes_to or elsewhere and here):
            downloads = not goes_to
            blocking = not (kwargs.get("non_blocking") or len(args) > 2 and args[2])
            kind = "value" if downloads else "upload" if blocking else None
        elif not here:
            return
        elif function is aten._local_scalar_dense.default:
            kind = "value"
        elif (
            function in SHAPES_FROM_VALUES or function in INDEXING and _needs_shape(function, args)
        ):
            kind = "shape"
        elif function in INDEXING and any(tensor.dim() for tensor in elsewhere):
            kind = "upload"
        if kind:
            self.waits[Wait(kind, _place())] += 1


def _destination(function: Any, args: Any, kwargs: dict[str, Any], has_device: bool) -> bool:
    """Return whether the result is on the device."""
    if function is aten.copy_.default:
        return isinstance(args[0], DeviceTensor)
    if kwargs.get("device") is not None:
        return bool(torch.device(kwargs["device"]) == DEVICE)
    return has_device


def _check_devices(function: Any, args: Any, elsewhere: list[Tensor]) -> None:
    """Raise RuntimeError for an operation on tensors of two devices, which a GPU refuses.

    It takes single numbers of the CPU, and indices, which it copies.
    """
    if function in COPIES or all(tensor.dim() == 0 for tensor in elsewhere):
        return
    indices = list(_tensors(args[1])) if function in INDEXING else []
    if not all(any(tensor is index for index in indices) for tensor in elsewhere):
        raise RuntimeError(f"{function}: tensors on two devices, at {_place()}")


def _needs_shape(function: Any, args: Any) -> bool:
    """Return whether indexing by a mask needs the number of its elements.

    It does not where one number is written, which fills by the mask.
    """
    masked = any(index is not None and index.dtype == torch.bool for index in args[1])
    return masked and (function is aten.index.Tensor or args[2].dim() > 0)


def _tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors of an operation's arguments, also those in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _map(function: Callable[[Any], Any], values: Any) -> Any:
    """Return values, or what is in their lists and tuples, after function.

    torch's `tree_map` does so for any nesting, in a multiple of the operations' own time.
    """
    if isinstance(values, list | tuple):
        mapped = [_map(function, value) for value in values]
        return mapped if isinstance(values, list) else tuple(mapped)
    return function(values)


def _on_host(value: Any) -> Any:
    return value.host if isinstance(value, DeviceTensor) else value


def _wrapped(value: Any, known: dict[int, DeviceTensor], goes_to: bool) -> Any:
    """Return the DeviceTensor of a result; an argument that was changed in place is itself."""
    if not isinstance(value, Tensor):
        return value
    if id(value) in known:
        return known[id(value)]
    return DeviceTensor(value) if goes_to else value


def _place() -> str:
    """Return "FILE:FUNCTION" of the innermost code of the package, or "outside"."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            function = code.co_qualname.partition(".<locals>")[0]
            return f"{code.co_filename[len(PACKAGE) :]}:{function}"
        frame = frame.f_back
    return "outside"


@contextlib.contextmanager
def simulated_device() -> Iterator[SimulatedDevice]:
    """Let `DEVICE` be the simulated device in the block."""
    with contextlib.ExitStack() as stack:
        for patch in _patches():
            stack.enter_context(patch)
        yield stack.enter_context(SimulatedDevice())


def _patches() -> list[Any]:
    """Return patches of what torch does for the device "meta" before it asks the mode."""
    tensor, autocast, optimizer = torch.tensor, _Autocast(), sys.modules["torch.optim.optimizer"]

    def make_tensor(data: Any, *, device: Any = None, **options: Any) -> Tensor:
        made = tensor(data, **options)
        return made if device is None else made.to(device)

    def supported() -> list[str]:
        return ["cpu", DEVICE.type]

    return [
        mock.patch.object(torch, "tensor", make_tensor),
        mock.patch.object(torch, "inference_mode", torch.no_grad),
        mock.patch.object(torch, "autocast", autocast.enter),
        mock.patch.object(torch, "is_autocast_enabled", autocast.is_enabled),
        mock.patch.object(torch, "get_autocast_dtype", autocast.dtype),
        mock.patch.object(optimizer, "_get_fused_kernels_supported_devices", supported),
        mock.patch.object(optimizer, "_get_foreach_kernels_supported_devices", supported),
        mock.patch.object(
            optimizer,
            "_foreach_supported_types",
            [*optimizer._foreach_supported_types, DeviceTensor],
        ),
    ]


class _Autocast:
    """Says that autocast is on, for code that asks; torch's own products stay as they are."""

    def __init__(self) -> None:
        self._dtype: torch.dtype | None = None

    @contextlib.contextmanager
    def enter(
        self, device: str, dtype: torch.dtype | None = None, enabled: bool = True
    ) -> Iterator[None]:
        """Do as `torch.autocast`."""
        before, self._dtype = self._dtype, dtype if enabled else None
        try:
            yield
        finally:
            self._dtype = before

    def is_enabled(self, device: str | None = None) -> bool:
        """Do as `torch.is_autocast_enabled`."""
        return self._dtype is not None

    def dtype(self, device: str) -> torch.dtype:
        """Do as `torch.get_autocast_dtype`."""
        assert self._dtype is not None
        return self._dtype
