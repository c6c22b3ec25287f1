"""Run the encoder on a GPU with torch."""

from __future__ import annotations

from typing import Any

from oreqa.errors import ModelError
from oreqa.models.encoder.folder import EncoderFolder, Layer, load_dense
from oreqa.models.graph.torch import TorchSession, torch_precision, usable_device


def open_session(folder: EncoderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU).

    Raises ModelError if weights are missing.
    """
    torch = usable_device(device)
    from transformers import AutoModel

    dtype = torch_precision(device, precision)
    bert: Any
    attention = None
    if folder.cell is None:
        bert, loaded = AutoModel.from_pretrained(
            folder.transformer, dtype=dtype, local_files_only=True, output_loading_info=True
        )
        if missing := sorted(name for name in loaded["missing_keys"] if not name.startswith("pooler.")):
            raise ModelError(f"{folder.transformer}: the model's weights lack {missing[0]}")
    else:
        from oreqa.models.encoder.module import load_tokens

        bert = load_tokens(folder, dtype=dtype)
    bert = bert.eval().to(device)
    if folder.attention is not None:
        from oreqa.models.encoder.module import load_pooling

        attention = load_pooling(folder.attention).eval().to(device)
    dense = [(_tensors(torch, layer, device), layer.activation) for layer in folder.dense]

    def vectors(ids: Any, mask: Any, types: Any, pool: Any) -> Any:
        states = bert(ids, mask, types).last_hidden_state.float()
        x = torch.bmm(pool, states) if attention is None else attention.pool(states, pool)
        for (weight, bias), activation in dense:
            x = torch.nn.functional.linear(x, weight, bias)
            x = torch.tanh(x) if activation == "tanh" else x
        return torch.nn.functional.normalize(x, dim=-1) if folder.normalise else x

    return TorchSession(vectors, device)


def _tensors(torch: Any, layer: Layer, device: str) -> tuple[Any, Any]:
    weight, bias = load_dense(layer)
    return torch.from_numpy(weight).to(device), None if bias is None else torch.from_numpy(bias).to(device)
