//! Parameters in training: what every agent with a network has in common, whatever it learns.
//!
//! Parameters, gradient and target are flat vectors in the order of one [`Layout`]. An agent fills [`gradient`](Learner::gradient), calls
//! [`step`](Learner::step), and now and then renews the target. An agent with several networks has several learners.

use crate::agent::AgentError;
use crate::archive::{Archive, ArchiveError};
use crate::nn::cpu::aligned::Aligned;
use crate::nn::cpu::descent::{Adam, CentredRmsProp, norm};
use crate::nn::{Layout, Slot};

/// How a gradient becomes a step.
#[derive(Clone, Debug)]
pub enum Optimiser {
    /// Adam, with or without decoupled weight decay.
    Adam(Adam),
    /// Centred RMSProp.
    RmsProp(CentredRmsProp),
}

/// Flat parameters, their gradient, and a copy of them for targets.
#[derive(Clone, Debug)]
pub struct Learner {
    layout: Layout,
    parameters: Aligned,
    gradient: Aligned,
    target: Aligned,
    optimiser: Optimiser,
    /// The largest length of a gradient.
    clip: f64,
}

impl Learner {
    /// A learner at the beginning: the target is the network itself. A clip of infinity clips nothing.
    ///
    /// # Panics
    /// If the number of parameters is not the layout's.
    pub fn new(layout: Layout, parameters: Vec<f32>, optimiser: Optimiser, clip: f64) -> Self {
        assert_eq!(layout.len(), parameters.len(), "parameters of a network");
        let parameters = Aligned::from(&*parameters);
        let (gradient, target) = (Aligned::zeros(parameters.len()), parameters.clone());
        Self { layout, parameters, gradient, target, optimiser, clip }
    }

    /// Where the parameters lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The parameters for targets.
    pub fn target(&self) -> &[f32] {
        &self.target
    }

    /// The parameters, and the gradient to be written.
    pub fn gradient(&mut self) -> (&[f32], &mut [f32]) {
        (&self.parameters, &mut self.gradient)
    }

    /// One step against `scale` times the gradient, of at most the length of the clip; returns its length before.
    ///
    /// # Errors
    /// If a loss or the gradient is not finite, with the name of the loss or the tensor. Nothing has changed then.
    pub fn step(
        &mut self,
        losses: &[(&str, f64)],
        scale: f64,
        rate: f64,
        step: u64,
    ) -> Result<f64, AgentError> {
        #[cfg(test)]
        let losses = &*losses
            .iter()
            .map(|&(name, loss)| (name, crate::poison::number(name, step, loss)))
            .collect::<Vec<_>>();
        #[cfg(test)]
        crate::poison::gradient(&self.layout, step, &mut self.gradient);
        let length = check_gradient(&self.layout, losses, &self.gradient, step)? * scale;
        let factor = scale * if length > self.clip { self.clip / length } else { 1.0 };
        match &mut self.optimiser {
            Optimiser::Adam(adam) => adam.step(&mut self.parameters, &self.gradient, factor, rate),
            Optimiser::RmsProp(rms) => rms.step(&mut self.parameters, &self.gradient, factor, rate),
        }
        Ok(length)
    }

    /// Takes back what the last step did to some tensors, given the parameters before it. Their moments have seen the gradient.
    pub fn take_back(&mut self, before: &[f32], tensors: impl Fn(&Slot) -> bool) {
        for slot in self.layout.slots().iter().filter(|slot| tensors(slot)) {
            slot.of_mut(&mut self.parameters).copy_from_slice(slot.of(before));
        }
    }

    /// Changes parameters by hand, before training; the target becomes a copy of them.
    pub fn adjust(&mut self, change: impl FnOnce(&mut [f32])) {
        change(&mut self.parameters);
        self.renew_target();
    }

    /// The target becomes a copy of the network.
    pub fn renew_target(&mut self) {
        self.target.copy_from_slice(&self.parameters);
    }

    /// The target moves towards the network: `θ' ← (1 − α) θ' + α θ`.
    pub fn move_target(&mut self, rate: f32) {
        for (target, x) in self.target.iter_mut().zip(&*self.parameters) {
            *target = (1.0 - rate) * *target + rate * x;
        }
    }

    /// Saves or restores; `prefix` is put in front of all names, as in "actor.".
    ///
    /// # Errors
    /// If a tensor is missing or has another size.
    pub fn archive(&mut self, prefix: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        for (name, all) in [("parameters", &mut self.parameters), ("target", &mut self.target)] {
            for slot in self.layout.slots() {
                archive.f32(&format!("{prefix}{name}.{}", slot.name), slot.of_mut(all))?;
            }
        }
        match &mut self.optimiser {
            Optimiser::Adam(adam) => adam.archive(prefix, archive),
            Optimiser::RmsProp(rms) => rms.archive(prefix, archive),
        }
    }
}

/// The length of a gradient, or the name of what is not finite.
fn check_gradient(
    layout: &Layout,
    losses: &[(&str, f64)],
    gradient: &[f32],
    step: u64,
) -> Result<f64, AgentError> {
    let not_finite = |what: String| Err(AgentError::NotFinite { what, step });
    if let Some((name, _)) = losses.iter().find(|(_, loss)| !loss.is_finite()) {
        return not_finite((*name).to_owned());
    }
    let length = norm(gradient);
    if length.is_finite() {
        return Ok(length);
    }
    match layout.not_finite(gradient) {
        Some(name) => not_finite(format!("gradient of {name}")),
        None => not_finite("norm of the gradient".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dqn, vpn};

    fn learner(clip: f64) -> Learner {
        let mut layout = Layout::default();
        layout.add("a", &[2]);
        layout.add("b", &[1]);
        Learner::new(layout, vec![1.0, -2.0, 0.5], Optimiser::Adam(Adam::new(3, 1e-8)), clip)
    }

    #[test]
    fn what_is_not_finite_is_named_for_every_loss_and_every_tensor() {
        for layout in [vpn::network::Network::new(4, 6).layout, dqn::network::Network::new(10, 6).layout] {
            let good = vec![0.5; layout.len()];
            let losses = [("loss_reward", 1.0), ("loss_value", 2.0)];
            let length = check_gradient(&layout, &losses, &good, 7).unwrap();
            assert!((length / (0.5 * (layout.len() as f64).sqrt()) - 1.0).abs() < 1e-5);
            let named = |losses: &[(&str, f64)], gradient: &[f32]| {
                check_gradient(&layout, losses, gradient, 7).unwrap_err().to_string()
            };
            for (slot, bad) in
                layout.slots().iter().zip([f32::NAN, f32::INFINITY, f32::NEG_INFINITY].iter().cycle())
            {
                let mut gradient = good.clone();
                gradient[slot.range.end - 1] = *bad;
                let start = format!("gradient of {} is not finite at step 7", slot.name);
                assert!(named(&losses, &gradient).starts_with(&start));
            }
            for i in 0..losses.len() {
                let mut losses = losses;
                losses[i].1 = f64::NAN;
                assert!(named(&losses, &good).starts_with(losses[i].0));
            }
        }
    }

    /// The first step of Adam is the sign of the gradient times the rate, whatever its length; the length is reported with
    /// the scale and before the clip: 3-4-0 has length 5.
    #[test]
    fn steps_clip_by_the_length_over_all_tensors() {
        for (clip, scale) in [(f64::INFINITY, 1.0), (1.0, 1.0), (40.0, 0.5)] {
            let mut learner = learner(clip);
            learner.gradient().1.copy_from_slice(&[3.0, -4.0, 0.0]);
            let length = learner.step(&[("loss", 1.0)], scale, 0.25, 0).unwrap();
            assert!((length - 5.0 * scale).abs() < 1e-6);
            let moved = learner.parameters();
            assert!(
                (moved[0] - 0.75).abs() < 1e-5 && (moved[1] + 1.75).abs() < 1e-5 && moved[2] == 0.5,
                "{moved:?}"
            );
        }
    }

    #[test]
    fn a_gradient_that_is_not_finite_changes_nothing() {
        let mut learner = learner(1.0);
        learner.gradient().1.copy_from_slice(&[1.0, 1.0, f32::NAN]);
        let error = learner.step(&[("loss", 1.0)], 1.0, 0.1, 12).unwrap_err();
        assert!(error.to_string().starts_with("gradient of b is not finite at step 12"));
        assert_eq!(learner.parameters(), [1.0, -2.0, 0.5]);
    }

    #[test]
    fn targets_are_copies_or_moving_averages() {
        let mut learner = learner(1.0);
        learner.gradient().1.fill(1.0);
        learner.step(&[], 1.0, 0.5, 0).unwrap();
        let (old, new) = (learner.target().to_vec(), learner.parameters().to_vec());
        assert_eq!(old, [1.0, -2.0, 0.5]);
        learner.move_target(0.25);
        for ((moved, old), new) in learner.target().iter().zip(&old).zip(&new) {
            assert!((moved - (0.75 * old + 0.25 * new)).abs() < 1e-7);
        }
        learner.renew_target();
        assert_eq!(learner.target(), learner.parameters());
    }

    #[test]
    fn a_step_can_be_taken_back_tensor_by_tensor() {
        let mut learner = learner(f64::INFINITY);
        let before = learner.parameters().to_vec();
        learner.gradient().1.fill(1.0);
        learner.step(&[], 1.0, 0.5, 0).unwrap();
        learner.take_back(&before, |slot| slot.name == "a");
        assert_eq!(learner.parameters()[..2], before[..2]);
        assert!((learner.parameters()[2] - (before[2] - 0.5)).abs() < 1e-6);
        learner.adjust(|x| x[0] = 7.0);
        assert_eq!((learner.parameters()[0], learner.target()[0]), (7.0, 7.0));
    }

    #[test]
    fn two_learners_share_an_archive_and_go_on_as_they_were() {
        let train = |learner: &mut Learner, rounds: usize| {
            for i in 0..rounds {
                let (x, gradient) = learner.gradient();
                let wanted: Vec<f32> = x.iter().map(|x| x - i as f32).collect();
                gradient.copy_from_slice(&wanted);
                learner.step(&[], 1.0, 0.1, 0).unwrap();
                learner.move_target(0.1);
            }
        };
        let (mut a, mut b, mut saved) = (learner(1.0), learner(0.1), Archive::saving());
        train(&mut a, 3);
        train(&mut b, 5);
        a.archive("a.", &mut saved).unwrap();
        b.archive("b.", &mut saved).unwrap();
        let mut loading = Archive::loading(saved.into_tensors());
        let mut restored = learner(0.1);
        restored.archive("b.", &mut loading).unwrap();
        train(&mut b, 4);
        train(&mut restored, 4);
        assert_eq!(b.parameters(), restored.parameters());
        assert_eq!(b.target(), restored.target());
        assert!(learner(1.0).archive("c.", &mut loading).is_err());
    }
}
