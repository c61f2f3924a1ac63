//! An agent as it plays, in its own types: which environments, what it carries from step to step, what it decides.
//!
//! A run sees none of this ([`Agent`](crate::Agent) is all that it knows). Whatever is a [`Player`] can
//! [`Evaluate`](crate::Evaluate) itself: the loops of episodes are written once, for all of them.

use std::sync::Arc;

use ive::{Members, Rng};
use ive_envs::registry::{Kinds, ObservationKind, Registered};
use ive_envs::{Action, Environments, Spec, StateError, TimeStep};

use crate::AgentError;
use crate::bonus::Bonus;
use crate::evaluation::Element;

/// Where the environments of an agent come from.
pub type Source<A, E> = Arc<dyn Environments<Action = A, Element = E>>;

/// An agent that plays.
pub trait Player: Send {
    /// What it does.
    type Action: Action;
    /// One entry of what it sees.
    type Element: Element;
    /// What it carries from one step of an episode to the next: nothing, or a recurrent state.
    type Memory: Memory;

    /// What it can learn.
    const LEARNS: &'static [Kinds];

    /// The environments of a name, if they are of the kind that it learns.
    fn source(environment: &Registered) -> Option<Source<Self::Action, Self::Element>>;

    /// What it looks at, of all that it can learn: the first, unless it says otherwise.
    fn observes(&self) -> ObservationKind {
        Self::LEARNS[0].observation
    }

    /// The environments that it was made for.
    fn environments(&self) -> &Source<Self::Action, Self::Element>;

    /// What each of them shows and accepts.
    fn spec(&self) -> &Spec;

    /// What it carries at the start of an episode. `rng` is for those that draw while they decide.
    fn begin(&self, rng: &Rng) -> Self::Memory;

    /// What it would do, greedily, in each of several situations: observations one after the other in memory, and what it
    /// carries in each, which may change.
    ///
    /// # Errors
    /// If it does not have the members that were wished for.
    fn decide(
        &mut self,
        observations: &[Self::Element],
        memories: &mut [Self::Memory],
        wish: Wish<'_>,
    ) -> Result<Vec<Decision<Self::Action>>, AgentError>;

    /// Further scores that it has of situations, beside value and members; the larger, the stranger. Memories are as before
    /// [`decide`](Self::decide), and stay so. Most agents have none.
    ///
    /// # Errors
    /// If a score cannot be had.
    fn further(
        &mut self,
        observations: &[Self::Element],
        memories: &[Self::Memory],
    ) -> Result<Vec<Further>, AgentError> {
        let _ = (observations, memories);
        Ok(Vec::new())
    }

    /// From now on it acts on the signal of each action; `None` = no more. What it has learned stays as it is. Most agents have no policy that
    /// could be mixed with a signal.
    ///
    /// # Errors
    /// If it cannot, or the settings make no sense.
    fn act_on(&mut self, bonus: Option<Bonus>) -> Result<(), AgentError> {
        bonus.map_or(Ok(()), |_| {
            let problem = "needs an agent with a policy of numbered actions and a model, such as muesli";
            Err(AgentError::Setting { key: "bonus", problem: problem.to_owned() })
        })
    }

    /// What was done in the end, which need not be what it decided, and what came of it.
    fn remember(&self, memory: &mut Self::Memory, action: Self::Action, step: TimeStep<()>) {
        let _ = (memory, action, step);
    }
}

/// What an agent carries from step to step of an episode. Saved and restored, the episode goes on bit by bit.
pub trait Memory: Clone + Send {
    /// As bytes.
    fn save(&self) -> Vec<u8>;

    /// Takes over what [`save`](Self::save) returned.
    ///
    /// # Errors
    /// If the bytes are none of these.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError>;
}

/// Nothing.
impl Memory for () {
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        if bytes.is_empty() { Ok(()) } else { Err(StateError::Corrupt { what: "it remembers something" }) }
    }
}

/// What somebody wants to know of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish<'a> {
    /// The action alone; value and members may be left out.
    Action,
    /// Value, and the members that the agent was trained to have.
    Usual,
    /// Value, and these members.
    These(&'a Members),
}

impl<'a> Wish<'a> {
    /// These members, or the usual ones.
    pub fn of(members: Option<&'a Members>) -> Self {
        members.map_or(Self::Usual, Self::These)
    }
}

/// What an agent would do, and what it expects of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<A> {
    /// The greedy action.
    pub action: A,
    /// The predicted value of that action, by which it was chosen.
    pub value: f64,
    /// The k-step model-predicted values of that action along a plan, as far as the model was trained to predict, even if
    /// the plan by which the action was chosen is shorter; a model-free agent has none.
    pub members: Option<Estimates>,
}

/// A score that an agent has of situations, beside its members: σ of explicit value heads, σ of members averaged over many futures.
#[derive(Clone, Debug, PartialEq)]
pub struct Further {
    /// Its name.
    pub name: &'static str,
    /// A number for each situation.
    pub scores: Vec<f64>,
}

impl Further {
    /// The name of σ over explicit value heads, of agents that have several.
    pub const EVE: &'static str = "σ-EVE";
}

/// Members of the implicit value ensemble of one state or action, with their k.
///
/// ```
/// use ive::Members;
/// use ive_agents::Estimates;
/// let members = Estimates::new(Members::new([1, 3])?, vec![1.0, 3.0]);
/// assert_eq!((members.mu(), members.sigma()), (2.0, 1.0));
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Estimates {
    ks: Members,
    values: Vec<f64>,
}

impl Estimates {
    /// A value for each k.
    ///
    /// # Panics
    /// If there are not as many values as k: a mistake of the agent.
    pub fn new(ks: Members, values: Vec<f64>) -> Self {
        assert_eq!(ks.len(), values.len(), "a value for each k");
        Self { ks, values }
    }

    /// The members asked for, out of k = 1, 2, … and perhaps k = 0.
    ///
    /// # Errors
    /// If one of them is not there.
    pub fn select(wish: &Members, zero: Option<f64>, later: &[f64]) -> Result<Self, AgentError> {
        let member = |&k: &usize| match k.checked_sub(1) {
            None => zero,
            Some(before) => later.get(before).copied(),
        };
        let values: Option<Vec<f64>> = wish.lengths().iter().map(member).collect();
        let missing = || AgentError::Members { wish: wish.clone(), trained: later.len() };
        Ok(Self { ks: wish.clone(), values: values.ok_or_else(missing)? })
    }

    /// Which k.
    pub fn ks(&self) -> &Members {
        &self.ks
    }

    /// Their values, in the order of k.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// μ-IVE: their mean.
    pub fn mu(&self) -> f64 {
        ive::mean(&self.values)
    }

    /// σ-IVE: their population standard deviation; NaN if one of them is not finite.
    pub fn sigma(&self) -> f64 {
        ive::standard_deviation(&self.values, 0).unwrap_or(f64::NAN)
    }
}
