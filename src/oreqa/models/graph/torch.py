"""Runs models on a GPU with torch and transformers (the ``train`` extra)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import INSTALL_TRAIN, ModelError
from oreqa.models.graph.precision import gpu_precision
from oreqa.models.graph.session import Batch, Outputs


class TorchSession:
    """Runs a module or function that takes a batch's arrays, in order, and returns a tensor or a tuple of tensors."""

    def __init__(self, module: Callable[..., Any], device: str) -> None:
        self._module, self._device = module, device

    def run(self, batches: Iterator[Batch]) -> Outputs:
        """Implement ``Session.run``."""
        import torch

        for batch in batches:
            with torch.inference_mode():
                outputs = self._module(*(torch.from_numpy(array).to(self._device) for array in batch.arrays))
            tensors = outputs if isinstance(outputs, tuple) else (outputs,)
            yield batch, [np.asarray(tensor.float().cpu()) for tensor in tensors]


def usable_device(device: str) -> Any:
    """Import and return torch. Raises ModelError if it is not installed or the device is not available."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelError(f"{'a GPU' if device == 'cuda' else 'a BART or T5'} needs torch: {INSTALL_TRAIN}") from error
    if device == "cuda" and not torch.cuda.is_available():
        raise ModelError("torch finds no GPU here: use the device cpu")
    skip_cudnn_attention()
    return torch


def skip_cudnn_attention() -> None:
    """Disable cuDNN's attention, which spends a tenth of a second on a new plan for every batch shape."""
    import torch

    torch.backends.cuda.enable_cudnn_sdp(False)


def torch_precision(device: str, precision: str | None) -> Any:
    """Return the torch dtype for a precision on a device. Raises InputError if the device does not support it."""
    import torch

    return torch.bfloat16 if device == "cuda" and gpu_precision(precision) == "bf16" else torch.float32


def load_module(kind: Any, folder: Any, weights: dict[str, Any], device: str, precision: str | None) -> Any:
    """Build ``kind`` from a folder's settings and load its weights, on the device and in eval mode.

    Raises ModelError if the weights do not fit or some are missing.
    """
    torch = usable_device(device)
    from oreqa.models.graph.module import model_config

    module = kind(model_config(folder.config))
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
    try:
        module.load_state_dict(tensors, strict=False)
    except RuntimeError as error:
        raise ModelError(f"{folder.path}: its tensors do not fit its config.json") from error
    parameters = list(module.named_parameters(remove_duplicate=False))
    loaded = {id(parameter) for name, parameter in parameters if name in tensors}  # one tensor may have several names
    if missing := [name for name, parameter in parameters if id(parameter) not in loaded]:
        raise ModelError(f"{folder.path}: its weights lack {missing[0]}: they belong to another kind of model")
    return module.to(device, torch_precision(device, precision)).eval()


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Suppress transformers' messages and loading bars, which do not concern the user."""
    import transformers

    verbosity, bars = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()


def load_to_convert(folder: Path, head: str) -> tuple[Any, dict[str, Any], list[str]]:
    """Return transformers' model with this ``head`` from ``folder``, inputs for tracing it, and the missing tensors.

    Raises ImportError without the ``train`` extra, and what transformers raises. Code in the folder is not run.
    """
    import torch
    import transformers

    loader = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")
    options: dict[str, Any] = {"local_files_only": True, "use_safetensors": True, "trust_remote_code": False}
    module, loaded = loader.from_pretrained(folder, dtype=torch.float32, output_loading_info=True, **options)
    tokens = {name: torch.ones(2, 16, dtype=torch.int64) for name in ("input_ids", "attention_mask")}
    if getattr(module.config, "type_vocab_size", 0) > 1:
        tokens["token_type_ids"] = torch.zeros(2, 16, dtype=torch.int64)
    module.config.use_cache = False  # a decoder's cache cannot be traced
    return module.eval(), tokens, [name for name in loaded["missing_keys"] if head or "pooler" not in name]
