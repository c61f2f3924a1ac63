"""A tiny world model in PyTorch: where does it not know?

A point moves on the square [−1, 1]². It is drawn to the middle by its policy and is paid for being near it. The model and the value
are learned from data of the *left half* only. σ-IVE then says on which half they can be trusted, without an ensemble.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import ive

GAMMA, HORIZON = 0.9, 5


def mlp(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class WorldModel(nn.Module):
    """What an agent has anyway: a model of the next state and of the reward, and a value function."""

    def __init__(self) -> None:
        super().__init__()
        self.next_state, self.reward, self.value = mlp(4, 2), mlp(4, 1), mlp(2, 1)

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([state, action], -1)
        return state + self.next_state(both), self.reward(both).squeeze(-1)

    def v(self, state: Tensor) -> Tensor:
        return self.value(state).squeeze(-1)


def policy(state: Tensor) -> Tensor:
    return -0.3 * state


def world(state: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """The truth: next state and the reward of the step."""
    after = state + action
    return after, torch.exp(-4 * after.square().sum(-1))


def train(steps: int = 400) -> WorldModel:
    """One-step errors for the model, temporal differences for the value; all from the left half."""
    torch.manual_seed(0)
    model = WorldModel()
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        state = torch.rand(256, 2) * torch.tensor([1.0, 2.0]) - 1.0
        action = policy(state) + 0.1 * torch.randn(256, 2)
        after, reward = world(state, action)
        predicted, predicted_reward = model.dynamics(state, action)
        on_policy, on_reward = world(state, policy(state))
        with torch.no_grad():
            target = on_reward + GAMMA * model.v(on_policy)
        loss = (predicted - after).square().mean() + (predicted_reward - reward).square().mean()
        loss = loss + (model.v(state) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


def main() -> dict[str, bool]:
    model = train()
    known = torch.rand(500, 2) * torch.tensor([1.0, 2.0]) - 1.0  # where there were data
    unknown = known * torch.tensor([-1.0, 1.0])  # the mirror image, where there were none

    def sigma(state: Tensor) -> object:
        path = ive.unroll(model.dynamics, model.v, policy, state, HORIZON, discount=GAMMA)
        return path.ensemble().std()

    found = ive.detection(sigma(known), sigma(unknown), replicates=500)
    print(f"AUROC of σ-IVE(5) for states without data: {found.auroc}")
    guard = ive.Guard.calibrate(sigma(known), rate=0.05)
    share = float(guard.is_alarm(sigma(unknown)).mean())
    print(f"a guard with 5 % false alarms raises one on {share:.0%} of the states without data")
    return {"detects": found.auroc.low > 0.7, "alarms": share > 0.3}


torch.set_num_threads(1)  # networks this small are faster so

if __name__ == "__main__":
    main()
