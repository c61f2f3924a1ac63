//! `model.toml`: which name means what. `docs/onnx.md` describes every key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decode::Decode;
use crate::error::{OnnxError, Result};

/// The version of the form of `model.toml` that this crate reads.
pub const FORMAT: u32 = 1;

/// What `model.toml` says.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Version of the form, [`FORMAT`].
    pub format: u32,
    /// γ. Left out when a graph computes the discount.
    pub gamma: Option<f64>,
    /// Where the reward belongs.
    pub reward_convention: Convention,
    /// What an action is.
    pub action: ActionKind,
    /// The tensors that make up a state, by names that the sections below use.
    pub states: BTreeMap<String, StateTensor>,
    /// `representation.onnx`: from observations to states.
    pub representation: Option<Representation>,
    /// `dynamics.onnx`: from states and actions to states.
    pub dynamics: Dynamics,
    /// `reward.onnx`: rewards of states.
    pub reward: Option<Outcome>,
    /// `value.onnx`: v̂.
    pub value: Value,
    /// π. Left out only where there are no actions.
    pub policy: Option<PolicyKind>,
}

/// What v̂(s) says about the reward of being in s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Convention {
    /// Rewards belong to transitions: v̂(s) begins with the reward of the step that leaves s.
    Transition,
    /// Rewards belong to states: v̂(s) contains the reward of s itself (Dreamer v1 and v2).
    State,
}

/// What an action is, and how it enters `dynamics.onnx`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ActionKind {
    /// The model is not controlled.
    None,
    /// One of some numbered actions.
    Discrete {
        /// How many there are.
        count: usize,
        /// How the graph takes them.
        encoding: Encoding,
    },
    /// A vector of numbers, `[b, size]`.
    Continuous {
        /// How many numbers.
        size: usize,
        /// The smallest and largest, for the policy `uniform`.
        bounds: Option<[f32; 2]>,
    },
}

/// How a numbered action enters a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// As numbers `[b, count]`, of which one is 1.
    OneHot,
    /// As integers, `[b]` or `[b, 1]`.
    Index,
}

/// A tensor of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StateTensor {
    /// Which axis counts states. PyTorch's `nn.LSTM` and `nn.GRU` have it at 1.
    #[serde(default)]
    pub batch_axis: usize,
    /// Where it comes from when there is a representation.
    #[serde(default)]
    pub start: Start,
}

/// Where a tensor of a freshly encoded state comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// From the representation.
    #[default]
    Encoded,
    /// It is zero, as that of a recurrent layer before its first step.
    Zeros,
}

/// `representation.onnx`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Representation {
    /// The input that takes observations, batch first.
    pub observation: String,
    /// State → output.
    pub states: BTreeMap<String, String>,
}

/// `dynamics.onnx`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dynamics {
    /// State → input.
    pub states: BTreeMap<String, String>,
    /// The input that takes actions.
    pub action: Option<String>,
    /// State → output.
    pub next: BTreeMap<String, String>,
    /// The output with the reward; not with a section `[reward]`.
    pub reward: Option<String>,
    /// How the reward is coded.
    #[serde(default)]
    pub reward_decode: Decode,
    /// The output with the discount: γ times the probability of going on.
    pub discount: Option<String>,
    /// The output with the probability of going on, which is multiplied by γ.
    pub continuation: Option<String>,
    /// Inputs that take random numbers.
    #[serde(default)]
    pub noise: Vec<Noise>,
}

/// `reward.onnx`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// State → input.
    pub states: BTreeMap<String, String>,
    /// The output with the reward.
    pub reward: String,
    /// How it is coded.
    #[serde(default)]
    pub reward_decode: Decode,
    /// As in `[dynamics]`.
    pub discount: Option<String>,
    /// As in `[dynamics]`.
    pub continuation: Option<String>,
}

/// `value.onnx`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// State → input.
    pub states: BTreeMap<String, String>,
    /// The output.
    pub value: String,
    /// How it is coded.
    #[serde(default)]
    pub value_decode: Decode,
}

/// How actions are chosen.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PolicyKind {
    /// `policy.onnx` computes logits of numbered actions.
    Logits {
        /// State → input.
        states: BTreeMap<String, String>,
        /// The output, `[b, count]`.
        logits: String,
        /// What is made of them.
        choose: Choice,
    },
    /// `policy.onnx` computes the action itself: `[b, size]`, or numbers of actions.
    Action {
        /// State → input.
        states: BTreeMap<String, String>,
        /// The output.
        action: String,
        /// Inputs that take random numbers.
        #[serde(default)]
        noise: Vec<Noise>,
    },
    /// `argmax_a r̂(s, a) + γ v̂(s')`, the first of equals.
    Greedy {},
    /// Every action alike, drawn anew at each step.
    Uniform {},
    /// Always the same numbered action.
    Fixed {
        /// Which.
        action: usize,
    },
    /// Always the same vector.
    FixedVector {
        /// Which.
        action: Vec<f32>,
    },
}

/// What is made of logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The largest; the first of equals.
    Argmax,
    /// A draw from their softmax.
    Sample,
}

/// An input that takes random numbers, so that a seed decides about them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// The input, batch first.
    pub input: String,
    /// Their distribution.
    pub distribution: Distribution,
}

/// A distribution of random inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Mean 0, variance 1.
    Normal,
    /// Between 0 and 1.
    Uniform,
    /// `−ln(−ln u)`, whose argmax after adding logits is a draw from their softmax.
    Gumbel,
}

impl Settings {
    /// Reads and checks the text of a `model.toml`.
    ///
    /// # Errors
    /// If it is not of the form, or contradicts itself.
    pub fn parse(text: &str) -> Result<Self> {
        let settings: Self = toml::from_str(text).map_err(|error| {
            let place = error.span().map_or("form".to_owned(), |span| {
                let line = text.get(..span.start).map_or(0, |before| before.matches('\n').count());
                format!("line {}", line + 1)
            });
            wrong(&place, error.message())
        })?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(wrong("format", &format!("{FORMAT} is known, not {}", self.format)));
        }
        if self.states.is_empty() {
            return Err(wrong("states", "a state needs at least one tensor"));
        }
        self.check_outcome()?;
        self.check_actions()?;
        self.dynamics.reward_decode.check("dynamics.reward_decode")?;
        self.value.value_decode.check("value.value_decode")?;
        if let Some(reward) = &self.reward {
            reward.reward_decode.check("reward.reward_decode")?;
        }
        for (section, map) in self.maps() {
            if let Some(name) = map.keys().find(|name| !self.states.contains_key(*name)) {
                return Err(wrong(section, &format!("`{name}` is not among the states")));
            }
        }
        for name in self.states.keys() {
            if !self.dynamics.next.contains_key(name) {
                return Err(wrong("dynamics.next", &format!("the state `{name}` has no output")));
            }
            let encoded = self.representation.as_ref().map(|r| r.states.contains_key(name));
            match (encoded, self.states[name].start) {
                (None, Start::Zeros) => {
                    return Err(wrong("states", "`start` has a meaning only with a representation"));
                }
                (Some(false), Start::Encoded) => {
                    let reason =
                        format!("no output for `{name}`; if it starts at zero, say `start = \"zeros\"`");
                    return Err(wrong("representation.states", &reason));
                }
                (Some(true), Start::Zeros) => {
                    return Err(wrong("representation.states", &format!("`{name}` starts at zero")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Maps of states to names, with their sections.
    fn maps(&self) -> Vec<(&'static str, &BTreeMap<String, String>)> {
        let mut maps = vec![
            ("dynamics.states", &self.dynamics.states),
            ("dynamics.next", &self.dynamics.next),
            ("value.states", &self.value.states),
        ];
        maps.extend(self.representation.as_ref().map(|r| ("representation.states", &r.states)));
        maps.extend(self.reward.as_ref().map(|r| ("reward.states", &r.states)));
        maps.extend(match &self.policy {
            Some(PolicyKind::Logits { states, .. } | PolicyKind::Action { states, .. }) => {
                Some(("policy.states", states))
            }
            _ => None,
        });
        maps
    }

    /// One source of rewards, one of discounts.
    fn check_outcome(&self) -> Result<()> {
        match (&self.reward, &self.dynamics.reward, self.reward_convention) {
            (Some(_), None, _) | (None, Some(_), Convention::Transition) => {}
            (None, _, Convention::State) => {
                let reason = "rewards of states need a section [reward] and reward.onnx, because the first one is that of the start";
                return Err(wrong("reward", reason));
            }
            (Some(_), Some(_), _) => return Err(wrong("dynamics.reward", "there is a section [reward] too")),
            (None, None, _) => {
                return Err(wrong("dynamics.reward", "no output is named, and there is no section [reward]"));
            }
        }
        let outcome = self.reward.as_ref();
        let discount = [self.dynamics.discount.is_some(), outcome.is_some_and(|r| r.discount.is_some())];
        let going_on =
            [self.dynamics.continuation.is_some(), outcome.is_some_and(|r| r.continuation.is_some())];
        let sources = discount.iter().chain(&going_on).filter(|there| **there).count();
        if sources > 1 {
            return Err(wrong("discount", "more than one output is named"));
        }
        match self.gamma {
            None if discount.contains(&true) => Ok(()),
            None => Err(wrong("gamma", "it is missing, and no output is the discount")),
            Some(_) if discount.contains(&true) => Err(wrong("gamma", "an output is the discount already")),
            Some(gamma) if (0.0..=1.0).contains(&gamma) => Ok(()),
            Some(gamma) => Err(wrong("gamma", &format!("{gamma} is outside the range 0 to 1"))),
        }
    }

    /// The policy fits the actions.
    fn check_actions(&self) -> Result<()> {
        use PolicyKind as P;
        let policy = self.policy.as_ref();
        let named = self.dynamics.action.is_some();
        match &self.action {
            ActionKind::None if named || policy.is_some() => {
                Err(wrong("action", "there are no actions, but an input or a policy for them"))
            }
            ActionKind::None => Ok(()),
            _ if !named => Err(wrong("dynamics.action", "no input takes the actions")),
            ActionKind::Discrete { count: 0, .. } | ActionKind::Continuous { size: 0, .. } => {
                Err(wrong("action", "there must be at least one"))
            }
            ActionKind::Discrete { count, .. } if *count > 1 << 16 => {
                Err(wrong("action.count", &format!("{count} is more than 65536")))
            }
            ActionKind::Discrete { count, .. } => match policy {
                None => Err(wrong("policy", "choose one: logits, action, greedy, uniform or fixed")),
                Some(P::Fixed { action }) if action >= count => {
                    Err(wrong("policy.action", &format!("{action} of {count} actions, which count from 0")))
                }
                Some(P::FixedVector { .. }) => {
                    Err(wrong("policy.kind", "numbered actions have the kind `fixed`"))
                }
                Some(_) => Ok(()),
            },
            ActionKind::Continuous { size, bounds } => match policy {
                None => Err(wrong("policy", "choose one: action, uniform or fixed-vector")),
                Some(P::Action { .. }) => Ok(()),
                Some(P::Uniform {}) => match bounds {
                    Some([low, high]) if low < high && (high - low).is_finite() => Ok(()),
                    _ => Err(wrong("action.bounds", "the policy `uniform` needs [smallest, largest]")),
                },
                Some(P::FixedVector { action }) if action.len() == *size => Ok(()),
                Some(P::FixedVector { action }) => {
                    Err(wrong("policy.action", &format!("{} numbers, {size} are needed", action.len())))
                }
                Some(_) => Err(wrong("policy.kind", "actions are vectors: action, uniform or fixed-vector")),
            },
        }
    }
}

pub(crate) fn wrong(key: &str, reason: &str) -> OnnxError {
    OnnxError::Settings { key: key.to_owned(), reason: reason.to_owned() }
}
