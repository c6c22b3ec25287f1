"""Run the encoder on a GPU with torch."""

from __future__ import annotations

from typing import Any

from oreqa.models.encoder.folder import EncoderFolder, Layer, load_dense
from oreqa.models.graph.bert import check_supported
from oreqa.models.graph.torch import TorchSession, torch_precision, usable_device


def open_session(folder: EncoderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU).

    Raises ModelError if weights are missing, or for a model that OpenVINO's session refuses.
    """
    torch = usable_device(device)
    from oreqa.models.encoder.module import load_pooling, load_tokens

    if folder.cell is None:
        check_supported(folder.transformer, folder.config)
    bert: Any = load_tokens(folder, dtype=torch_precision(device, precision)).eval().to(device)
    attention = None if folder.attention is None else load_pooling(folder.attention).eval().to(device)
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
