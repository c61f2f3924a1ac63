//! The implicit value ensemble on a graph: k-step values, their mean and their standard deviation, with gradients.

use std::ops::RangeInclusive;

use super::graph::{Graph, Var};

/// `v̂ᵏ = Σ_{i<k} γⁱ rᵢ + γᵏ vₖ` for each k, `[states, members]`: `rewards` are those along a path from its beginning on, `values` those of
/// the members, one for each k; `[states, 1]` each. Paper: Eq. (7). The numbers of [`ive::ValueEnsemble::implicit`], in a form that can be differentiated.
///
/// # Panics
/// If there are fewer rewards than the largest k, or not as many values as members.
pub fn k_step_values(
    g: &mut dyn Graph,
    rewards: &[Var],
    values: &[Var],
    discount: f32,
    members: RangeInclusive<usize>,
) -> Var {
    assert_eq!(values.len(), members.end() + 1 - members.start(), "a value for each member");
    let mut all = Vec::with_capacity(values.len());
    for (k, &value) in members.zip(values) {
        let steps = rewards[..k].iter().enumerate().map(|(i, &reward)| (discount.powi(i as i32), reward));
        let terms: Vec<(f32, Var)> = steps.chain([(discount.powi(k as i32), value)]).collect();
        all.push(g.linear(&terms, 0.0));
    }
    g.columns(&all)
}

/// μ-IVE and σ-IVE of k-step values `[states, members]`, `[states, 1]` each; σ without Bessel's correction.
pub fn mean_and_std(g: &mut dyn Graph, members: Var) -> (Var, Var) {
    (g.row_mean(members), g.row_std(members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::cpu::tape::Memory;
    use crate::nn::{Block, Parameters};
    use crate::vpn::model::LatentModel;
    use crate::vpn::network::Network;
    use ive::{Members, Rng, ValueEnsemble, unroll};

    /// Along the same actions, the library unrolls the model and the graph its network.
    #[test]
    fn members_equal_the_implicit_ensemble_of_the_library() {
        let (net, steps, states, discount) = (Network::new(4, 6), 5, 3, 0.9);
        let mut rng = Rng::from_seed(9);
        let mut x = net.initial(1.0, 4.0, &mut rng);
        for head in [&net.reward, &net.value] {
            head.output.weight.of_mut(&mut x).iter_mut().for_each(|w| *w *= 50.0);
        }
        let seen: Vec<u8> = (0..states * 400).map(|_| u8::from(rng.uniform() < 0.1)).collect();
        let actions = |step: usize| (0..states).map(move |i| (i + 2 * step) % 6);
        let model = LatentModel::new(&net, &x, discount).unwrap();
        let start = model.encode(&seen).unwrap();
        let step = std::cell::Cell::new(0);
        let policy = |_: &_, _: &mut Rng| -> Result<Vec<usize>, ive::ModelError> {
            step.set(step.get() + 1);
            Ok(actions(step.get() - 1).collect())
        };
        let path = unroll(&model, &model, &policy, start, steps, &mut rng).unwrap();
        let ensemble = ValueEnsemble::implicit(&path).select(&Members::new(1..=steps).unwrap()).unwrap();

        let (mut memory, mut bits) = (Memory::default(), Vec::new());
        net.torso.board.pack_all(&seen, &mut bits);
        let (p, parameters) = (Block(0), [Parameters::frozen(&x)]);
        let mut g = memory.tape(&parameters);
        let mut state = net.encode(&mut g, p, &bits);
        let (mut rewards, mut values) = (Vec::new(), vec![net.value(&mut g, p, state.hidden)]);
        for step in 0..steps {
            let actions: Vec<u8> = actions(step).map(|a| a as u8).collect();
            rewards.push(net.reward(&mut g, p, state.hidden, &actions));
            state = net.transition(&mut g, p, state, &actions);
            values.push(net.value(&mut g, p, state.hidden));
        }
        let members = k_step_values(&mut g, &rewards, &values[1..], discount as f32, 1..=steps);
        let (mean, std) = mean_and_std(&mut g, members);
        let (mut ours, mut mu, mut sigma) = (Vec::new(), Vec::new(), Vec::new());
        g.read(members, &mut ours);
        g.read(mean, &mut mu);
        g.read(std, &mut sigma);
        let close =
            |ours: f32, theirs: f64| assert!((f64::from(ours) - theirs).abs() < 1e-5, "{ours} and {theirs}");
        for (k, member) in ensemble.members().enumerate() {
            (0..states).for_each(|i| close(ours[i * steps + k], member[i]));
        }
        ensemble.mean().iter().zip(&mu).for_each(|(theirs, ours)| close(*ours, *theirs));
        ensemble.std().iter().zip(&sigma).for_each(|(theirs, ours)| close(*ours, *theirs));
        assert!(ensemble.std().iter().all(|s| *s > 0.05), "members that agree tell nothing");
    }
}
