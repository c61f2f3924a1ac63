"""σ-IVE of a model built like DreamerV3: a recurrent state with categorical latents, heads over symlog bins, a continue head.

**The reward convention.** DreamerV3 reads the reward from the state it *arrives* in, and its λ-return is
R(t) = reward(s[t+1]) + γ · continue(s[t+1]) · …, so value(s) does not count reward(s). The reward between value(s) and value(s') is
reward(s'), and the discount is γ · continue(s').

DreamerV1 and V2 look alike and differ: there R(t) = reward(s[t]) + γ · …, value(s) *does* count reward(s), and the reward between
value(s) and value(s') is reward(s). With the wrong one, a perfect model shows disagreement. This example makes a model whose heads are
exactly right, and shows both.

The latents are sampled, so one rollout is one noisy sample: average before σ, and look at the standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

import ive

DETER, GROUPS, CLASSES, ACTION, GAMMA, HORIZON = 24, 4, 6, 3, 0.95, 5


@dataclass
class State:
    """A deterministic part that remembers, and a stochastic one of one-hot groups. ive only passes it on."""

    deter: Tensor
    stoch: Tensor

    def features(self) -> Tensor:
        return torch.cat([self.deter, self.stoch], -1)


class Rssm(nn.Module):
    """The sequence model and its prior."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(GROUPS * CLASSES + ACTION, DETER)
        self.prior = nn.Linear(DETER, GROUPS * CLASSES)
        self.reward = nn.Linear(DETER + GROUPS * CLASSES, 1)
        self.going_on = nn.Linear(DETER + GROUPS * CLASSES, 1)
        self.actor = nn.Linear(DETER + GROUPS * CLASSES, ACTION)
        self.critic = nn.Linear(DETER + GROUPS * CLASSES, 1)

    def start(self, batch: int) -> State:
        return State(torch.randn(batch, DETER), torch.zeros(batch, GROUPS * CLASSES))

    def imagine(self, state: State, action: Tensor, rng: torch.Generator) -> State:
        deter = self.cell(torch.cat([state.stoch, action], -1), state.deter)
        logits = self.prior(deter).unflatten(-1, (GROUPS, CLASSES))
        chosen = torch.multinomial(logits.softmax(-1).flatten(0, 1), 1, generator=rng).view(len(deter), GROUPS)
        return State(deter, nn.functional.one_hot(chosen, CLASSES).float().flatten(1))

    # The functions for ive.unroll. The heads are plain numbers here; DreamerV3's are bins of symlog values: decode them first.
    def arriving(self, state: State, action: Tensor, rng: torch.Generator) -> tuple[State, Tensor, Tensor]:
        """DreamerV3: reward and continue of the state it leads to."""
        after = self.imagine(state, action, rng)
        return after, self.r(after), GAMMA * torch.sigmoid(self.going_on(after.features())).squeeze(-1)

    def departing(self, state: State, action: Tensor, rng: torch.Generator) -> tuple[State, Tensor, Tensor]:
        """DreamerV1 and V2: reward of the state itself."""
        after, _, discount = self.arriving(state, action, rng)
        return after, self.r(state), discount

    def policy(self, state: State, rng: torch.Generator) -> Tensor:
        return torch.tanh(self.actor(state.features()) + 0.3 * torch.randn(len(state.deter), ACTION, generator=rng))

    def r(self, state: State) -> Tensor:
        return self.reward(state.features()).squeeze(-1)

    def v(self, state: State) -> Tensor:
        return self.critic(state.features()).squeeze(-1)


def learned_value(model: Rssm, dynamics: object, start: State, samples: int) -> Tensor:
    """What a perfect critic of this convention would say of the start states: returns of long rollouts, averaged."""
    rng, total = torch.Generator().manual_seed(5), torch.zeros(len(start.deter))
    for _ in range(samples):
        state, weight = start, torch.ones(len(start.deter))
        for _ in range(40):
            state, reward, discount = dynamics(state, model.policy(state, rng), rng)  # type: ignore[operator]
            total += weight * reward / samples
            weight = weight * discount
    return total


@torch.no_grad()
def main() -> dict[str, bool]:
    torch.manual_seed(0)
    model, batch = Rssm(), 16
    nn.init.constant_(model.going_on.bias, 1.0)

    def sigma(dynamics: object, samples: int) -> tuple[float, float]:
        rng, together = torch.Generator().manual_seed(1), ive.SampledEnsemble(groups=20)
        for _ in range(samples):
            path = ive.unroll(dynamics, model.v, model.policy, start, HORIZON, rng)  # type: ignore[arg-type]
            together.push(path.ensemble())
        found, error = together.std()
        return float(found.mean()), float(error.mean())

    start = model.start(batch)
    one, (mean, error) = sigma(model.arriving, 2), sigma(model.arriving, 200)
    print(f"an untrained critic: σ-IVE(5) = {mean:.3f} ± {error:.3f} from 200 rollouts, {one[0]:.3f} ± {one[1]:.3f} from two")

    # Heads that are exactly right: reward 1 everywhere. Then both conventions have the value Σ Π γ·continue, and σ is zero for both.
    for head, number in ((model.reward, 1.0), (model.going_on, 20.0), (model.critic, 1.0 / (1.0 - GAMMA))):
        nn.init.zeros_(head.weight)
        nn.init.constant_(head.bias, number)
    constant = [sigma(dynamics, 2)[0] for dynamics in (model.arriving, model.departing)]
    print(f"a constant reward and its value: σ-IVE(5) = {constant[0]:.1e} (V3), {constant[1]:.1e} (V1, V2)")

    # A reward that only the state of departure has: paid once, at the start. V1's critic counts it, V3's does not.
    nn.init.zeros_(model.reward.bias)
    nn.init.zeros_(model.critic.bias)
    nn.init.constant_(model.reward.weight, 0.0)
    model.reward.weight[0, 0] = 1.0
    start.deter[:, 0] = 3.0
    gap = learned_value(model, model.departing, start, 20) - learned_value(model, model.arriving, start, 20)
    print(f"a reward of 3 in the start state: a critic of V1 says {float(gap.mean()):.2f} more than one of V3, for the same model")
    return {
        "no false disagreement": max(constant) < 1e-4,
        "sampling noise falls": error < one[1],
        "conventions differ": abs(float(gap.mean())) > 0.5,
    }


torch.set_num_threads(1)  # networks this small are faster so

if __name__ == "__main__":
    main()
