"""σ-IVE(5) of a multilayer perceptron: this crate beside a Python loop over ONNX Runtime, both on one thread, in CPU time.

    cargo build --release -p ive-onnx --example speed
    venv/bin/pip install numpy onnx onnxruntime
    venv/bin/python crates/ive-onnx/examples/speed.py target/release/examples/speed

The two take turns; each row shows the fastest of all turns.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HORIZON, ACTIONS, GAMMA = 5, 6, 0.99

SETTINGS = """
format = 1
gamma = 0.99
reward_convention = "transition"
[action]
kind = "discrete"
count = 6
encoding = "one-hot"
[states]
z = {}
[dynamics]
states = { z = "state" }
action = "action"
next = { z = "next" }
reward = "reward"
[value]
states = { z = "state" }
value = "value"
[policy]
kind = "logits"
states = { z = "state" }
logits = "logits"
choose = "argmax"
"""


def layers(rng, prefix, x, sizes, nodes, constants, activation):
    for i, (n, m) in enumerate(zip(sizes, sizes[1:])):
        w = (rng.normal(size=(n, m)) / np.sqrt(n)).astype(np.float32)
        b = rng.normal(size=m).astype(np.float32) * 0.1
        constants += [numpy_helper.from_array(w, f"{prefix}w{i}"), numpy_helper.from_array(b, f"{prefix}b{i}")]
        nodes.append(helper.make_node("Gemm", [x, f"{prefix}w{i}", f"{prefix}b{i}"], [f"{prefix}g{i}"]))
        x = f"{prefix}g{i}"
        if i + 2 < len(sizes):
            nodes.append(helper.make_node(activation, [x], [f"{prefix}a{i}"]))
            x = f"{prefix}a{i}"
    return x


def save(folder, name, inputs, nodes, constants, outputs):
    value = lambda n, w: helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", w])
    graph = helper.make_graph(nodes, name, [value(*i) for i in inputs], [value(*o) for o in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, folder / f"{name}.onnx")


def make(folder, width, hidden, activation):
    rng = np.random.default_rng(0)
    (folder / "model.toml").write_text(SETTINGS)
    nodes, constants = [helper.make_node("Concat", ["state", "action"], ["x"], axis=1)], []
    body = layers(rng, "d", "x", [width + ACTIONS, hidden, hidden], nodes, constants, activation)
    nodes.append(helper.make_node(activation, [body], ["body"]))
    y = layers(rng, "n", "body", [hidden, width], nodes, constants, activation)
    nodes.append(helper.make_node("Tanh", [y], ["next"]))
    r = layers(rng, "r", "body", [hidden, 1], nodes, constants, activation)
    nodes.append(helper.make_node("Identity", [r], ["reward"]))
    save(folder, "dynamics", [("state", width), ("action", ACTIONS)], nodes, constants, [("next", width), ("reward", 1)])
    for name, out, size in (("value", "value", 1), ("policy", "logits", ACTIONS)):
        nodes, constants = [], []
        y = layers(rng, "v", "state", [width, hidden, hidden, size], nodes, constants, activation)
        nodes.append(helper.make_node("Identity", [y], [out]))
        save(folder, name, [("state", width)], nodes, constants, [(out, size)])


def score(sessions, state):
    """As a careful user would write it."""
    dynamics, value, policy = sessions
    eye = np.eye(ACTIONS, dtype=np.float32)
    members = [value.run(None, {"state": state})[0][:, 0]]
    total, discount = np.zeros(len(state), np.float32), 1.0
    for _ in range(HORIZON):
        action = eye[policy.run(None, {"state": state})[0].argmax(-1)]
        state, reward = dynamics.run(None, {"state": state, "action": action})
        total = total + discount * reward[:, 0]
        discount *= GAMMA
        members.append(total + discount * value.run(None, {"state": state})[0][:, 0])
    return np.stack(members).std(0)


def runtime(folder, batch, width, repeats):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    load = lambda n: onnxruntime.InferenceSession(str(folder / f"{n}.onnx"), options, providers=["CPUExecutionProvider"])
    sessions = [load(n) for n in ("dynamics", "value", "policy")]
    state = np.random.default_rng(1).normal(size=(batch, width)).astype(np.float32)
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        score(sessions, state)
        best = min(best, time.process_time() - begin)
    return best


ROWS = [
    (32, 64, 256, "Relu"),
    (32, 64, 256, "Elu"),
    (64, 256, 256, "Relu"),
    (64, 256, 256, "Elu"),
    (256, 512, 256, "Elu"),
    (64, 256, 1, "Elu"),
    (64, 256, 4096, "Elu"),
]


def main():
    ours = sys.argv[1]
    print(f"onnxruntime {onnxruntime.__version__}; CPU milliseconds for sigma-IVE({HORIZON}), one thread, best of all turns")
    print("| latent | hidden | activation | batch | ive-onnx | Python | ratio |")
    print("|---|---|---|---|---|---|---|")
    for width, hidden, batch, activation in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            make(folder, width, hidden, activation)
            repeats = max(10, 20000 // batch // (hidden // 64) ** 2) if batch > 1 else 500
            best = [float("inf")] * 2
            for _ in range(5):
                command = [ours, folder, str(batch), str(width), str(HORIZON), str(repeats)]
                line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                best[0] = min(best[0], float(line.split()[0]))
                best[1] = min(best[1], runtime(folder, batch, width, repeats))
            ours_ms, python_ms = (f"{x * 1e3:.2f}" for x in best)
            print(f"| {width} | {hidden} | {activation} | {batch} | {ours_ms} | {python_ms} | {best[1] / best[0]:.2f} |", flush=True)


main()
