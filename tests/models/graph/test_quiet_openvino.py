from __future__ import annotations

import subprocess
import sys

RUN = """
import builtins, sys, threading, time

import numpy as np
from oreqa.models.graph.quiet_openvino import op, ov

load = builtins.__import__

def slowly(name, *rest, **named):
    if "multiarray" in name:
        time.sleep(0.5)  # here the other thread comes in
    return load(name, *rest, **named)

builtins.__import__ = slowly
inputs = op.parameter([-1], np.int64, "ids")
model = ov.Core().compile_model(ov.Model([op.convert(inputs, "f32")], [inputs], "model"), "CPU")
requests = [model.create_infer_request() for _ in range(2)]
threads = [threading.Thread(target=request.infer, args=([np.ones(3, np.int64)],), daemon=True) for request in requests]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(10)
print([request.output_tensors[0].data.sum().item() for request in requests])
"""


def test_two_threads_whose_models_run_first_do_not_wait_for_each_other() -> None:
    ended = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("[3.0, 3.0]\n", "")
