//! Muesli as it plays when it explores no more: what it draws from, what it decides, and what it expects of it.

use std::sync::Arc;

use ive::{Members, Rng};
use ive_envs::registry::{ActionKind, Kinds, ObservationKind, Registered};
use ive_envs::{Spec, StateError};

use super::acting::drawn;
use super::agent::Muesli;
use super::config::Acting;
use super::further;
use super::signals::Weighed;
use super::torso::{Seen, View};
use crate::AgentError;
use crate::bonus::Bonus;
use crate::minatar;
use crate::player::{Decision, Estimates, Further, Memory, Player, Source, Wish};

/// Pictures with numbered actions: Procgen.
const PIXELS: Kinds = Kinds { observation: ObservationKind::Pixels, action: ActionKind::Numbered };

/// The first of the most probable actions.
fn mode(policy: &[f32]) -> usize {
    (1..policy.len()).fold(0, |best, a| if policy[a] > policy[best] { a } else { best })
}

/// From what an agent draws while it plays: actions, and the paths that it imagines.
#[derive(Clone, Debug, PartialEq)]
pub struct Draws {
    acting: Rng,
    imagining: Rng,
}

impl Draws {
    /// From where imagined paths are drawn.
    pub(super) fn imagining(&self) -> &Rng {
        &self.imagining
    }
}

impl Memory for Draws {
    fn save(&self) -> Vec<u8> {
        let words = self.acting.to_words().into_iter().chain(self.imagining.to_words());
        words.flat_map(u64::to_le_bytes).collect()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let (Ok(words), true) = (<[u64; 10]>::try_from(words), bytes.len() == 80) else {
            return Err(StateError::Corrupt { what: "draws have another length" });
        };
        let [a, b, c, d, e, rest @ ..] = words;
        (self.acting, self.imagining) = (Rng::from_words([a, b, c, d, e]), Rng::from_words(rest));
        Ok(())
    }
}

impl Player for Muesli {
    type Action = usize;
    type Element = u8;
    type Memory = Draws;

    const LEARNS: &'static [Kinds] = &[minatar::BOARDS, PIXELS];

    fn source(environment: &Registered) -> Option<Source<usize, u8>> {
        environment.bytes().map(|source| Arc::new(source) as _)
    }

    fn observes(&self) -> ObservationKind {
        match self.view {
            View::Pixels(_) => ObservationKind::Pixels,
            View::Board(_) => ObservationKind::Board,
        }
    }

    fn environments(&self) -> &Source<usize, u8> {
        &self.source
    }

    fn spec(&self) -> &Spec {
        self.environments.spec()
    }

    fn begin(&self, rng: &Rng) -> Draws {
        Draws { acting: rng.fold_in(0), imagining: rng.fold_in(1) }
    }

    fn act_on(&mut self, bonus: Option<Bonus>) -> Result<(), AgentError> {
        if let Some(bonus) = &bonus {
            bonus.check("bonus.beta", "bonus.depth")?;
            bonus.check_heads(self.net.num_heads(), "bonus.depth")?;
        }
        self.bonus = bonus;
        Ok(())
    }

    /// The action is drawn from the policy of the target network, mixed with a signal if it acts on one, or its most probable one; the value is v̂. The usual members are k = 1 to
    /// as far as the model was trained, along one path: the action, then actions drawn from the policy along the model.
    fn decide(
        &mut self,
        observations: &[u8],
        memories: &mut [Draws],
        wish: Wish<'_>,
    ) -> Result<Vec<Decision<usize>>, AgentError> {
        let (n, depth, acting) = (memories.len(), self.config.unroll, self.config.evaluate);
        let choose = |memory: &mut Draws, policy: &[f32]| match acting {
            Acting::Sample => drawn(policy, memory.acting.uniform()),
            Acting::Mode => mode(policy),
        };
        let mut chosen = None;
        if let Some(bonus) = self.bonus {
            let mut draws: Vec<Rng> = memories.iter_mut().map(|memory| memory.acting.split()).collect();
            let weighed =
                self.weighed(observations, bonus.signal, bonus.depth, |state| draws[state].uniform())?;
            let decide = |(state, memory): (&Weighed, &mut Draws)| {
                let action = choose(memory, &bonus.mixed(&state.log_policy, &state.signal)?);
                Ok(Decision { action, value: state.value.into(), members: None })
            };
            let decided = weighed.iter().zip(&mut *memories).map(decide);
            let decided: Vec<Decision<usize>> = decided.collect::<Result<_, AgentError>>()?;
            if wish == Wish::Action {
                return Ok(decided);
            }
            chosen = Some(decided);
        }
        let mut seen = Seen::default();
        self.net.torso.prepare(observations, &mut seen);
        let (target, executor) = self.target();
        let discount = target.discount;
        if wish == Wish::Action {
            let [policy, values] = target.act(&seen, n, executor);
            let each = policy.chunks_exact(target.net.actions).zip(memories).zip(values);
            let decided = each.map(|((policy, memory), value)| Decision {
                action: choose(memory, policy),
                value: value.into(),
                members: None,
            });
            return Ok(decided.collect());
        }
        let mut actions = Vec::with_capacity(n);
        let paths = target.imagine(&seen, [n, 1], depth, executor, |step, row, policy| {
            let memory = &mut memories[row];
            if step > 0 {
                return drawn(policy, memory.imagining.uniform()) as u8;
            }
            actions.push(chosen.as_ref().map_or_else(|| choose(memory, policy), |all| all[row].action));
            actions[row] as u8
        });
        let usual = Members::new(1..=depth).expect("settings bound the depth");
        let members = match wish {
            Wish::These(these) => these,
            _ => &usual,
        };
        let each = paths.members(discount).into_iter().zip(actions);
        each.map(|(of_state, action)| {
            let members = Estimates::select(members, Some(of_state[0]), &of_state[1..])?;
            Ok(Decision { action, value: of_state[0], members: Some(members) })
        })
        .collect()
    }

    fn further(&mut self, observations: &[u8], memories: &[Draws]) -> Result<Vec<Further>, AgentError> {
        further::scores(self, observations, memories)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_the_first_of_the_most_probable() {
        assert_eq!((mode(&[0.0, 0.25, 0.5, 0.25]), mode(&[0.5, 0.5])), (2, 0));
    }

    #[test]
    fn draws_come_back_as_they_were_saved() {
        let mut draws = Draws { acting: Rng::from_seed(1), imagining: Rng::from_seed(2) };
        draws.acting.uniform();
        let mut other = Draws { acting: Rng::from_seed(3), imagining: Rng::from_seed(3) };
        other.restore(&draws.save()).unwrap();
        assert_eq!(other, draws);
        assert!(other.restore(&[0; 79]).is_err() && other.restore(&[0; 88]).is_err());
    }
}
