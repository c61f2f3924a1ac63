//! How far a model is from saying of values what another one says: the loss that value-equivalent models minimise.

use super::{Backup, TabularModel};
use crate::error::{finite, in_range, same_length};
use crate::{BellmanOperator, MAX_HORIZON, Result};

impl TabularModel {
    /// `Σ_{π ∈ Π} Σ_{v ∈ V} |(T_m^π)ᵏ v(s) − (T_m*^π)ᵏ v(s)|` of each state, where m is this model and m* is `world`: zero where both say the
    /// same of all these policies and values, k steps ahead. Its mean over the states of the data is what a value-equivalent model minimises.
    /// Paper: Sec. 2.1, Eq. (4).
    ///
    /// A model can be wrong about the world and right about values:
    ///
    /// ```
    /// use ive::TabularModel;
    /// // From the first of three states the world leads to the second, the model to the third. Nothing is paid.
    /// let to = |first: usize| (0..9).map(|i| f64::from(u8::from(i % 3 == if i < 3 { first } else { i / 3 }))).collect::<Vec<f64>>();
    /// let (world, model) = (TabularModel::dense(3, 1, vec![0.0; 3], to(1))?, TabularModel::dense(3, 1, vec![0.0; 3], to(2))?);
    /// let gap = |v: &[f64]| model.value_equivalence(&world, &[&[1.0; 3]], &[v], 1, 0.5);
    /// assert_eq!(gap(&[0.0, 4.0, 4.0])?, [0.0, 0.0, 0.0]); // both are worth the same: equivalent
    /// assert_eq!(gap(&[0.0, 4.0, 2.0])?, [1.0, 0.0, 0.0]); // ½ |4 − 2|
    /// # Ok::<(), ive::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the tables differ in size, a policy is no distribution, a number is not finite, γ is outside [0, 1] or k beyond [`MAX_HORIZON`].
    pub fn value_equivalence(
        &self,
        world: &Self,
        policies: &[&[f64]],
        values: &[&[f64]],
        k: usize,
        discount: f64,
    ) -> Result<Vec<f64>> {
        same_length("states of the other table", self.states, world.states)?;
        same_length("actions of the other table", self.actions, world.actions)?;
        in_range("k", k as f64, 0.0, MAX_HORIZON as f64)?;
        for v in values {
            same_length("values [state]", self.states, v.len())?;
            finite("values", v)?;
        }
        let mut gaps = vec![0.0; self.states];
        for policy in policies {
            let backup = Backup::Evaluation(policy);
            let (ours, theirs) =
                (self.state_operator(backup, discount)?, world.state_operator(backup, discount)?);
            for v in values {
                let (mut a, mut b) = (v.to_vec(), v.to_vec());
                for _ in 0..k {
                    (a, b) = (ours.backup(&a), theirs.backup(&b));
                }
                gaps.iter_mut().zip(a.iter().zip(&b)).for_each(|(gap, (a, b))| *gap += (a - b).abs());
            }
        }
        finite("differences of k-step values", &gaps)?;
        Ok(gaps)
    }
}
