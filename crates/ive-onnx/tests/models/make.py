"""Exports small world models from PyTorch and writes what ONNX Runtime and NumPy make of them.

    python3 -m venv venv && venv/bin/pip install torch onnx onnxscript onnxruntime numpy
    venv/bin/python make.py

Each folder beside this file gets its graphs and `expected.json`: the inputs, the outputs of every step by ONNX Runtime, and
the k-step values in double precision by NumPy. The tests of the crate replay them without Python.
"""

import json
import pathlib

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

HERE = pathlib.Path(__file__).parent
HORIZON = 5
GAMMA = 0.97


def export(folder, name, module, args, inputs, outputs, free=True, axes=None):
    """One graph as one file, without the notes that the exporter leaves in it."""
    axes = axes or {}
    shapes = tuple({axes.get(i, 0): torch.export.Dim("batch")} for i in inputs) if free else None
    path = HERE / folder / f"{name}.onnx"
    path.parent.mkdir(exist_ok=True)
    module.eval()
    torch.onnx.export(
        module, args, path, input_names=inputs, output_names=outputs, dynamic_shapes=shapes, dynamo=True, external_data=False, verbose=False
    )
    model = onnx.load(path)
    del model.metadata_props[:]
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for value in list(model.graph.value_info) + list(model.graph.input) + list(model.graph.output):
        del value.metadata_props[:]
    del model.graph.value_info[:]
    onnx.checker.check_model(model)
    onnx.save(model, path)
    print(folder, name, path.stat().st_size, "bytes", sorted({n.op_type for n in model.graph.node}))


def session(folder, name):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(HERE / folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])


def k_step_values(rewards, discounts, values):
    """v^k = sum of discounted rewards + discounted value, in double precision."""
    members = [values[0]]
    total, discount = np.zeros_like(values[0]), np.ones_like(values[0])
    for r, d, v in zip(rewards, discounts, values[1:]):
        total = total + discount * r
        discount = discount * d
        members.append(total + discount * v)
    return np.array(members)


def numbers(x):
    return np.asarray(x, np.float64).reshape(len(x), -1)[:, 0] if np.asarray(x).ndim > 1 else np.asarray(x, np.float64)


def write(folder, start, steps, values):
    """`start` is what goes in; `steps` a list of (rewards, discounts, actions)."""
    rewards, discounts, actions = ([np.asarray(s[i], np.float64) for s in steps] for i in range(3))
    values = [np.asarray(v, np.float64) for v in values]
    members = k_step_values(rewards, discounts, values)
    out = {
        "horizon": HORIZON,
        "start": {k: {"shape": list(v.shape), "data": [float(x) for x in v.ravel()]} for k, v in start.items()},
        "rewards": [r.tolist() for r in rewards],
        "discounts": [d.tolist() for d in discounts],
        "actions": [a.ravel().tolist() for a in actions],
        "values": [v.tolist() for v in values],
        "members": members.tolist(),
        "std": members.std(axis=0).tolist(),
    }
    (HERE / folder / "expected.json").write_text(json.dumps(out) + "\n")
    if len(start) == 1:
        np.save(HERE / folder / "states.npy", *start.values())
    else:
        np.savez(HERE / folder / "states.npz", **start)


def one_hot(actions, count):
    return np.eye(count, dtype=np.float32)[actions]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def symexp(x):
    return np.sign(x) * np.expm1(np.abs(x))


# --- A latent vector, numbered actions as one-hot, plain heads, argmax of a policy; any batch. -------------------------


class MlpDynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 16), nn.LayerNorm(16), nn.SiLU())
        self.next, self.reward = nn.Linear(16, 6), nn.Linear(16, 1)

    def forward(self, state, action):
        x = self.body(torch.cat([state, action], -1))
        return state + 0.5 * torch.tanh(self.next(x)), self.reward(x).squeeze(-1)


def mlp():
    torch.manual_seed(1)
    value = nn.Sequential(nn.Linear(6, 16), nn.ELU(), nn.Linear(16, 1))
    policy = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 3))
    s, a = torch.randn(2, 6), torch.eye(3)[:2]
    export("mlp", "dynamics", MlpDynamics(), (s, a), ["state", "action"], ["next_state", "reward"])
    export("mlp", "value", value, (s,), ["state"], ["value"])
    export("mlp", "policy", policy, (s,), ["state"], ["logits"])
    d, v, p = (session("mlp", n) for n in ("dynamics", "value", "policy"))
    state = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)
    start, steps, values = {"state": state}, [], [numbers(v.run(None, {"state": state})[0])]
    for _ in range(HORIZON):
        action = p.run(None, {"state": state})[0].argmax(-1)
        state, reward = d.run(None, {"state": state, "action": one_hot(action, 3)})
        steps.append((numbers(reward), np.full(5, GAMMA), action))
        values.append(numbers(v.run(None, {"state": state})[0]))
    write("mlp", start, steps, values)


# --- A representation, nn.GRU with the batch at axis 1, categorical heads, a probability of going on, greedy. ----------


class GruDynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 8)
        self.reward, self.going_on = nn.Linear(8, 21), nn.Linear(8, 1)

    def forward(self, h, action):
        y, h = self.gru(action.unsqueeze(0), h)
        x = y.squeeze(0)
        return h, self.reward(x), torch.sigmoid(3 + self.going_on(x))


class GruRepresentation(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 8)

    def forward(self, observation):
        return torch.tanh(self.layer(observation)).unsqueeze(0)


class GruValue(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 41))

    def forward(self, h):
        return self.layers(h[0])


def gru():
    torch.manual_seed(2)
    h, a = torch.randn(1, 2, 8), torch.eye(4)[:2]
    export("gru", "representation", GruRepresentation(), (torch.randn(2, 5),), ["observation"], ["h"])
    export("gru", "dynamics", GruDynamics(), (h, a), ["h", "action"], ["h_next", "reward", "going_on"], axes={"h": 1})
    export("gru", "value", GruValue(), (h,), ["h"], ["value"], axes={"h": 1})
    e, d, v = (session("gru", n) for n in ("representation", "dynamics", "value"))

    def value(h):  # symexp of every bin, as DreamerV3
        return softmax(np.asarray(v.run(None, {"h": h})[0], np.float64)) @ symexp(np.linspace(-4, 4, 41))

    def step(h, action):  # symexp of the mean, as TD-MPC2
        h, reward, going_on = d.run(None, {"h": h, "action": one_hot(action, 4)})
        return h, symexp(softmax(np.asarray(reward, np.float64)) @ np.linspace(-1, 1, 21)), GAMMA * numbers(going_on)

    observation = np.random.default_rng(2).normal(size=(3, 5)).astype(np.float32)
    (h,) = e.run(None, {"observation": observation})
    start, steps, values = {"observation": observation}, [], [value(h)]
    for _ in range(HORIZON):
        tries = [step(h, np.full(3, a)) for a in range(4)]
        scores = np.stack([r + g * value(n) for n, r, g in tries], -1)
        action = scores.argmax(-1)
        h, reward, discount = step(h, action)
        steps.append((reward, discount, action))
        values.append(value(h))
    write("gru", start, steps, values)


# --- nn.LSTM, two tensors to a state, numbers of actions, a fixed batch of 4, always the same action. -------------------


class LstmDynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(5, 6), nn.LSTM(6, 8)
        self.reward = nn.Linear(8, 1)

    def forward(self, hidden, cell, action):
        y, (h, c) = self.lstm(self.embedding(action).unsqueeze(0), (hidden, cell))
        return h, c, self.reward(y[0])


class LstmValue(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, hidden):
        return self.layer(hidden[0])


def lstm():
    torch.manual_seed(3)
    h, c, a = torch.randn(1, 4, 8), torch.randn(1, 4, 8), torch.tensor([0, 1, 2, 3])
    names = ["hidden", "cell", "action"]
    export("lstm", "dynamics", LstmDynamics(), (h, c, a), names, ["hidden_next", "cell_next", "reward"], free=False)
    export("lstm", "value", LstmValue(), (h,), ["hidden"], ["value"], free=False)
    d, v = session("lstm", "dynamics"), session("lstm", "value")
    rng = np.random.default_rng(3)
    rows = 6  # not a multiple of 4: two runs, the second filled up
    full = [rng.normal(size=(1, rows, 8)).astype(np.float32) for _ in range(2)]
    start = {"cell": full[1], "hidden": full[0]}

    def batched(run, arrays, rows):
        parts = []
        for at in range(0, rows, 4):
            part = [np.take(x, np.minimum(np.arange(at, at + 4), rows - 1), axis) for x, axis in arrays]
            parts.append(run(part))
        return [np.concatenate([p[i] for p in parts], axis=1 if parts[0][i].ndim == 3 else 0) for i in range(len(parts[0]))]

    def value(h):
        return numbers(batched(lambda p: v.run(None, {"hidden": p[0]}), [(h, 1)], rows)[0][:rows])

    h, c = full
    steps, values = [], [value(h)]
    action = np.full(rows, 2)
    for _ in range(HORIZON):
        h, c, reward = batched(lambda p: d.run(None, dict(zip(names, p))), [(h, 1), (c, 1), (action, 0)], rows)
        h, c = h[:, :rows], c[:, :rows]
        steps.append((numbers(reward[:rows]), np.full(rows, GAMMA), action))
        values.append(value(h))
    write("lstm", start, steps, values)


# --- A convolutional encoder, GRUCell and a bounded continuous action; rewards of states, as in Dreamer v1. -------------


class ConvRepresentation(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.layer = nn.Linear(4, 8)

    def forward(self, image):
        return self.layer(self.conv(image).flatten(1))


class ConvDynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 8)

    def forward(self, z, action):
        return self.cell(action, z)


def conv():
    torch.manual_seed(4)
    z = torch.randn(2, 8)
    reward = nn.Sequential(nn.Linear(8, 8), nn.ELU(), nn.Linear(8, 1))
    value = nn.Sequential(nn.Linear(8, 8), nn.Softplus(), nn.Linear(8, 1))
    policy = nn.Sequential(nn.Linear(8, 2), nn.Tanh())
    export("conv", "representation", ConvRepresentation(), (torch.randn(2, 2, 10, 10),), ["image"], ["z"])
    export("conv", "dynamics", ConvDynamics(), (z, torch.randn(2, 2)), ["z", "action"], ["z_next"])
    export("conv", "reward", reward, (z,), ["z"], ["reward"])
    export("conv", "value", value, (z,), ["z"], ["value"])
    export("conv", "policy", policy, (z,), ["z"], ["action"])
    e, d, r, v, p = (session("conv", n) for n in ("representation", "dynamics", "reward", "value", "policy"))
    image = np.random.default_rng(4).normal(size=(3, 2, 10, 10)).astype(np.float32)
    (z,) = e.run(None, {"image": image})
    start, steps, values = {"image": image}, [], [numbers(v.run(None, {"z": z})[0])]
    for _ in range(HORIZON):
        (action,) = p.run(None, {"z": z})
        reward = numbers(r.run(None, {"z": z})[0])  # of the state that is left
        (z,) = d.run(None, {"z": z, "action": action})
        steps.append((reward, np.full(3, GAMMA), action))
        values.append(numbers(v.run(None, {"z": z})[0]))
    write("conv", start, steps, values)


if __name__ == "__main__":
    mlp()
    gru()
    lstm()
    conv()
