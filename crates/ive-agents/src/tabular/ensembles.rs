//! The three ensembles of the paper from one set of learned tables. Paper: Fig. 2, App. B.1.

use ive::{Backup, ExactIve, Inconsistency, Members, Result, TabularModel, ValueEnsemble, reduce_actions};
use ive_envs::grid::{ACTIONS, PAIRS};

/// The uniform policy, which is the one evaluated throughout.
pub const UNIFORM: [f64; PAIRS] = [1.0 / ACTIONS as f64; PAIRS];

/// Independently learned value tables and models of one data set. Member 0 is *the* agent; the others exist only for the
/// explicit ensembles.
#[derive(Clone, Debug)]
pub struct Learned {
    /// q̂ᵢ, `[state, action]` each.
    pub values: Vec<Vec<f64>>,
    /// m̂ᵢ.
    pub models: Vec<TabularModel>,
    /// γ.
    pub discount: f64,
}

/// From action values to state values under the uniform policy.
///
/// # Errors
/// If there is not one value for each pair of the gridworld.
pub fn state_values(q: &[f64]) -> Result<Vec<f64>> {
    reduce_actions(q, ACTIONS, Backup::Evaluation(&UNIFORM))
}

impl Learned {
    /// σ-IVE of the agent, for states and pairs: the exact k-step values of one value table and one model.
    ///
    /// # Errors
    /// If the tables are not finite.
    pub fn implicit(&self, members: &Members, ddof: usize) -> Result<Inconsistency> {
        let ive = ExactIve::new(&UNIFORM, self.discount, members.clone()).ddof(ddof);
        self.models[0].inconsistency(&self.values[0], &ive)
    }

    /// EVE(n): n value tables.
    ///
    /// # Errors
    /// If there are fewer than n, or they are not finite.
    pub fn explicit_values(&self, n: usize) -> Result<ExplicitEnsembles> {
        ExplicitEnsembles::new(self.values.iter().take(n).cloned().collect(), n)
    }

    /// EMVE(n): one application of each of n models to the one value table.
    ///
    /// # Errors
    /// As [`explicit_values`](Self::explicit_values).
    pub fn explicit_models(&self, n: usize) -> Result<ExplicitEnsembles> {
        let v = state_values(&self.values[0])?;
        let backup = |m: &TabularModel| m.action_values(&v, self.discount);
        ExplicitEnsembles::new(self.models.iter().take(n).map(backup).collect::<Result<_>>()?, n)
    }
}

/// An explicit ensemble over states and over pairs.
#[derive(Clone, Debug)]
pub struct ExplicitEnsembles {
    /// `[member, state]`
    pub states: ValueEnsemble,
    /// `[member, pair]`
    pub pairs: ValueEnsemble,
}

impl ExplicitEnsembles {
    fn new(q: Vec<Vec<f64>>, n: usize) -> Result<Self> {
        if q.len() < n {
            return Err(ive::Error::Shape { what: "learned members", expected: n, got: q.len() });
        }
        let states = q.iter().map(|q| state_values(q)).collect::<Result<Vec<_>>>()?;
        let states = ValueEnsemble::from_members(states)?;
        Ok(Self { states, pairs: ValueEnsemble::from_members(q)? })
    }

    /// σ of both.
    ///
    /// # Errors
    /// If there are too few members for this `ddof`, or σ is not finite.
    pub fn std(&self, ddof: usize) -> Result<Inconsistency> {
        let signal = ive::Signal::Std { ddof };
        Ok(Inconsistency { states: self.states.score(signal)?, pairs: self.pairs.score(signal)? })
    }
}
