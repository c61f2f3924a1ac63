//! σ-IVE of the states of a folder's model.

use ive::{Error, Result, Rng, SampledEnsemble, ValueEnsemble, branch, unroll};

use crate::{Actions, OnnxModel, States};

/// Groups of the jackknife behind a standard error.
const GROUPS: usize = 20;

/// An implicit ensemble, and how sure its σ is.
#[derive(Clone, Debug)]
pub struct Scored {
    /// Members k = 0..n for states, k = 1..n for pairs of states and actions; averaged over the samples.
    pub ensemble: ValueEnsemble,
    /// The standard error of σ over all members, where there are at least two samples.
    pub std_error: Option<Vec<f64>>,
}

/// The implicit ensemble of some states, members k = 0..`horizon`, from `samples` rollouts.
///
/// One sample is all there is to know when the model [is not stochastic](OnnxModel::is_stochastic).
///
/// # Errors
/// If the model fails or predicts something that is not finite, or there are no samples.
pub fn score(
    model: &OnnxModel,
    start: &States,
    horizon: usize,
    samples: usize,
    rng: &mut Rng,
) -> Result<Scored> {
    sampled(samples, || {
        let path = unroll::<States, Actions>(model, model, model, start.clone(), horizon, rng)?;
        Ok(ValueEnsemble::implicit(&path))
    })
}

/// The same for every pair of a state and a numbered action, `s·A + a`, members k = 1..`horizon`.
///
/// # Errors
/// As [`score`]; and if actions are not numbered.
pub fn score_actions(
    model: &OnnxModel,
    start: &States,
    horizon: usize,
    samples: usize,
    rng: &mut Rng,
) -> Result<Scored> {
    let count = model.num_actions().ok_or(Error::Empty { what: "numbered actions of the model" })?;
    let actions: Vec<Actions> =
        (0..count).map(|action| Actions::Discrete(vec![action; start.len()])).collect();
    sampled(samples, || {
        let paths = branch(model, model, model, start, &actions, horizon, rng)?;
        ValueEnsemble::from_branches(&paths, None)
    })
}

fn sampled(samples: usize, mut one: impl FnMut() -> Result<ValueEnsemble>) -> Result<Scored> {
    if samples == 1 {
        return Ok(Scored { ensemble: one()?, std_error: None });
    }
    let mut all = SampledEnsemble::new(GROUPS)?;
    for _ in 0..samples {
        all.push(&one()?)?;
    }
    let std_error = if samples > 1 { Some(all.std()?.1) } else { None };
    Ok(Scored { ensemble: all.mean()?, std_error })
}
