"""The encoder on a GPU through torch and transformers (the ``train`` extra)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from oreqa.errors import ModelError
from oreqa.models.folders import EncoderFolder, Layer, load_dense
from oreqa.runtime.encoder import Batch, Vectors
from oreqa.runtime.precision import gpu_precision


class TorchSession:
    """The same computation as OpenVinoSession's, on ``device`` (in f32 where that is the CPU)."""

    def __init__(self, folder: EncoderFolder, device: str = "cuda", precision: str | None = None) -> None:
        usable_device(device)
        from transformers import AutoModel

        self._device = device
        dtype = torch_precision(device, precision)
        self._model: Any = AutoModel.from_pretrained(folder.path, dtype=dtype, local_files_only=True)
        self._model = self._model.eval().to(device)
        self._dense = [(_tensors(layer), layer.activation) for layer in folder.dense]
        self._normalise = folder.normalise

    def run(self, batches: Iterator[Batch], done: Callable[[Batch, Vectors], None]) -> None:
        """Run every batch in turn; ``done`` is called once for each."""
        import torch

        with torch.inference_mode():
            for batch in batches:
                given = (batch.ids, batch.mask, batch.types, batch.pool)
                ids, mask, types, pool = (torch.from_numpy(x).to(self._device) for x in given)
                x = torch.bmm(pool, self._model(ids, mask, types).last_hidden_state.float())
                for (weight, bias), activation in self._dense:
                    x = torch.nn.functional.linear(x, weight.to(x.device), None if bias is None else bias.to(x.device))
                    x = torch.tanh(x) if activation == "tanh" else x
                if self._normalise:
                    x = torch.nn.functional.normalize(x, dim=-1)
                done(batch, x.cpu().numpy())


def usable_device(device: str) -> Any:
    """The torch module. Raises ModelError if it is not installed or finds no such device."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelError("a GPU needs torch: pip install 'oreqa[train]'") from error
    if device == "cuda" and not torch.cuda.is_available():
        raise ModelError("torch finds no GPU here: use --device cpu")
    plan_no_attention()
    return torch


def plan_no_attention() -> None:
    """Keep torch from cuDNN's attention, which is planned anew, in a tenth of a second, for every shape of a batch."""
    import torch

    torch.backends.cuda.enable_cudnn_sdp(False)


def torch_precision(device: str, precision: str | None) -> Any:
    """torch's name of the precision on a device. Raises InputError for one that it does not compute in."""
    import torch

    return torch.bfloat16 if device == "cuda" and gpu_precision(precision) == "bf16" else torch.float32


def _tensors(layer: Layer) -> tuple[Any, Any]:
    import torch

    weight, bias = load_dense(layer)
    return torch.from_numpy(weight), None if bias is None else torch.from_numpy(bias)
