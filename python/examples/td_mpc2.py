"""σ-IVE of a model built like TD-MPC2: latent states, rewards and action values as categories, a policy prior.

**The reward convention.** TD-MPC2 predicts the reward of a transition, reward(z, a), and its Q(z, a) counts that reward itself. So
with v(z) = Q(z, π(z)) the reward between value(z) and value(next(z, a)) is reward(z, a): the convention of `ive.unroll`, nothing to
shift. Two things to mind:

- Rewards and Q are distributions over bins of symlog values. Decode them to numbers *before* σ is taken.
- π is stochastic. Use its mean, or average several rollouts.

TD-MPC2 has five Q functions anyway, so the explicit ensemble is there to compare with, at no cost: `ive.Ensemble.from_members`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import ive

BINS, LIMIT, LATENT, ACTION, GAMMA, HORIZON = 101, 10.0, 32, 2, 0.97, 3


def symexp(x: Tensor) -> Tensor:
    return torch.sign(x) * torch.expm1(x.abs())


def symlog(x: Tensor) -> Tensor:
    return torch.sign(x) * torch.log1p(x.abs())


def decoded(logits: Tensor) -> Tensor:
    """A number from bins: the mean of the bins in symlog space, taken back."""
    bins = torch.linspace(-LIMIT, LIMIT, BINS)
    return symexp((logits.softmax(-1) * bins).sum(-1))


def two_hot(x: Tensor) -> Tensor:
    """A number as weights of the two bins around its symlog."""
    at = (symlog(x).clamp(-LIMIT, LIMIT) + LIMIT) / (2 * LIMIT) * (BINS - 1)
    low = at.floor().long().clamp(max=BINS - 2)
    share = (at - low).unsqueeze(-1)
    one = nn.functional.one_hot
    return one(low, BINS) * (1 - share) + one(low + 1, BINS) * share


class SimNorm(nn.Module):
    """Latents as groups of eight numbers that sum to one."""

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, 8)).softmax(-1).flatten(-2)


def mlp(inputs: int, outputs: int, *last: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.LayerNorm(64), nn.Mish(), nn.Linear(64, outputs), *last)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = mlp(2, LATENT, SimNorm())
        self.next = mlp(LATENT + ACTION, LATENT, SimNorm())
        self.reward = mlp(LATENT + ACTION, BINS)
        self.q = nn.ModuleList(mlp(LATENT + ACTION, BINS) for _ in range(5))
        self.prior = mlp(LATENT, ACTION, nn.Tanh())

    def qs(self, z: Tensor, a: Tensor) -> list[Tensor]:
        both = torch.cat([z, a], -1)
        return [q(both) for q in self.q]

    # The three functions for ive.unroll.
    def dynamics(self, z: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([z, a], -1)
        return self.next(both), decoded(self.reward(both))

    def value(self, z: Tensor) -> Tensor:
        return torch.stack([decoded(q) for q in self.qs(z, self.prior(z))]).mean(0)

    def policy(self, z: Tensor) -> Tensor:
        return self.prior(z)


def train(steps: int = 300) -> Model:
    """Consistency of latents, rewards and Q, as TD-MPC2 has them, for the fixed prior, on states with x < 0."""
    torch.manual_seed(0)
    model = Model()
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(steps):
        state = torch.rand(256, 2) * torch.tensor([1.0, 2.0]) - 1.0
        z = model.encode(state)
        action = (model.prior(z) + 0.3 * torch.randn(256, ACTION)).clamp(-1, 1).detach()
        after = (state + 0.2 * action).clamp(-1, 1)
        after[:, 0].clamp_(max=0.0)
        reward = torch.exp(-4 * after.square().sum(-1))
        with torch.no_grad():
            goal = model.encode(after)
            target = two_hot(reward + GAMMA * model.value(goal))
        both = torch.cat([z, action], -1)
        loss = 20 * (model.next(both) - goal).square().mean()
        loss = loss - (two_hot(reward) * model.reward(both).log_softmax(-1)).sum(-1).mean()
        for logits in model.qs(z, action):
            loss = loss - (target * logits.log_softmax(-1)).sum(-1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


def main() -> dict[str, bool]:
    model = train()
    with torch.no_grad():
        known = torch.rand(400, 2) * torch.tensor([1.0, 2.0]) - 1.0
        unknown = known * torch.tensor([-1.0, 1.0])  # the other half, where there were no data

        def sigmas(state: Tensor) -> tuple[object, object]:
            z = model.encode(state)
            implicit = ive.unroll(model.dynamics, model.value, model.policy, z, HORIZON, discount=GAMMA).ensemble()
            heads = [decoded(q) for q in model.qs(z, model.policy(z))]
            return implicit.std(), ive.Ensemble.from_members(heads).std()

        (implicit_in, explicit_in), (implicit_out, explicit_out) = sigmas(known), sigmas(unknown)
    implicit = ive.detection(implicit_in, implicit_out, replicates=500)
    explicit = ive.detection(explicit_in, explicit_out, replicates=500)
    print(f"AUROC of σ-IVE(3), which needs one Q:        {implicit.auroc}")
    print(f"AUROC of the spread of the five Q functions: {explicit.auroc}")
    print("a few hundred steps of training are no benchmark; measure it on your own agent like this")
    return {"bins decode": bins_decode(), "no false disagreement": constant_reward(model) < 1e-4}


def bins_decode() -> bool:
    """Numbers survive the way into bins and back, up to the half width of a bin in symlog space."""
    numbers = torch.tensor([-3.0, 0.0, 7.5])
    return bool((symlog(decoded(torch.log(two_hot(numbers)))) - symlog(numbers)).abs().max() < LIMIT / (BINS - 1))


@torch.no_grad()
def constant_reward(model: Model) -> float:
    """With reward 1 in every step and Q = 1 / (1 − γ), model and value agree, so σ must vanish: a test of the convention."""
    for head, number in ((model.reward, 1.0), *((q, 1.0 / (1.0 - GAMMA)) for q in model.q)):
        nn.init.zeros_(head[-1].weight)
        # Bins that decode to exactly this number: the weights of its two neighbours, chosen so that their mean is its symlog.
        head[-1].bias.copy_(two_hot(torch.tensor(number)).log().clamp(min=-200.0))
    z = model.encode(torch.rand(50, 2))
    return float(ive.unroll(model.dynamics, model.value, model.policy, z, HORIZON, discount=GAMMA).ensemble().std().max())


torch.set_num_threads(1)  # networks this small are faster so

if __name__ == "__main__":
    main()
