//! Members beyond the plan.
//!
//! An agent may plan one step and yet have a model of five: vpn-v1 chooses by v̂¹ alone, and the implicit ensemble of its
//! own plan has a single member, whose σ is nothing. Its model was trained to predict K steps all the same. So, where
//! the plan is shorter than K, the action is chosen by the plan as ever, and the members of that action are taken from a
//! second plan that looks K steps ahead:
//!
//! - its first action is the one that was chosen;
//! - the weights of its depths are uniform, so the path is that along which μ-IVE is largest;
//! - levels of the agent's own plan keep their branching; below, two actions are kept at the second step and one from
//!   there on, as in the default preset of μ-IVE.
//!
//! Members of vpn-v1 and μ-IVE are then the same function of network and action. Nothing of it happens in training.

use super::config::Config;
use super::network::Network;
use super::planner::Planner;

/// How many actions are kept at the second step, where the agent's own plan does not say.
const SECOND: usize = 2;

/// A planner that follows one action per state for `prediction` steps.
pub fn planner(net: &Network, config: &Config, parameters: &[f32]) -> Planner {
    let kept = |level: usize| match (level, config.branching.get(level)) {
        (0, _) => 1,
        (_, Some(&own)) => own,
        (1, None) => SECOND,
        _ => 1,
    };
    let branching: Vec<usize> = (0..config.prediction).map(kept).collect();
    let mut planner = Planner::new(net, config.discount, &vec![1.0; config.prediction], &branching);
    planner.load(parameters);
    planner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vpn::{Ends, Reduction, Vpn};
    use crate::{Agent, Archive, Decision, Further, Player, Wish};
    use ive_envs::minatar::{Game, Options, make};
    use ive_envs::{ByteEnvironment, Environment};
    use std::sync::Arc;

    fn config(weights: &[f64], branching: &[usize]) -> Config {
        Config {
            steps: 1000,
            worlds: 4,
            discount: 0.9,
            window: 10,
            prediction: 5,
            weights: weights.to_vec(),
            branching: branching.to_vec(),
            learning_rate: 1e-2,
            learning_rate_decay: 1.0,
            learning_rate_linear: false,
            adam_epsilon: 1e-8,
            clip: 40.0,
            reduction: Reduction::Sum,
            target_every: 100,
            exploration_final: 0.1,
            exploration_fraction: 1.0,
            replay: 0,
            replay_capacity: 1000,
            replay_start: 0,
            random_steps: 0,
            ends: Ends::Absorb,
            action_scale: 4.0,
            input_scale: 4.0,
            network: crate::vpn::Form::Paper,
            loss: crate::vpn::Compared::Parts,
            reward_weight: 1.0,
            reward_loss: crate::vpn::RewardLoss::Huber,
            bootstrap: crate::vpn::Bootstrap::Plan,
            train_zero: false,
            prior_scale: 0.0,
            value_heads: 1,
            log_every: 1000,
        }
    }

    fn environment(seed: u64) -> ByteEnvironment {
        make(Game::Asterix, &Options::default(), seed).unwrap()
    }

    /// An agent that has learned a little, with the weights of `like` if there is one.
    fn agent(weights: &[f64], branching: &[usize], like: Option<&mut Vpn>) -> Vpn {
        let mut agent = Vpn::new(&config(weights, branching), Arc::new(environment), 3).unwrap();
        if let Some(like) = like {
            let mut archive = Archive::saving();
            like.archive(&mut archive).unwrap();
            agent.archive(&mut Archive::loading(archive.into_tensors())).unwrap();
        } else {
            (0..5).for_each(|_| agent.advance(&mut Vec::new()).unwrap());
        }
        agent
    }

    /// Some boards of random play, one after the other.
    fn boards() -> Vec<u8> {
        let mut environment = environment(9);
        let mut all = environment.reset().observation;
        (0..40).for_each(|i| all.extend(environment.step(i * 7 % 6).unwrap().observation));
        all
    }

    fn decide(agent: &mut Vpn, boards: &[u8], wish: Wish<'_>) -> Vec<Decision<usize>> {
        agent.decide(boards, &mut [], wish).unwrap()
    }

    fn members(decision: &Decision<usize>) -> &[f64] {
        decision.members.as_ref().unwrap().values()
    }

    #[test]
    fn a_short_plan_has_as_many_members_as_the_model_predicts() {
        let (mut short, boards) = (agent(&[1.0], &[4], None), boards());
        let actions = decide(&mut short, &boards, Wish::Action);
        for (decision, other) in decide(&mut short, &boards, Wish::Usual).iter().zip(actions) {
            assert_eq!((members(decision).len(), decision.action), (5, other.action));
            assert!((members(decision)[0] - decision.value).abs() < 1e-6, "the first member is v̂¹ itself");
        }
    }

    /// With the same weights and the same first action, the path of the probe is that of the longer plan.
    #[test]
    fn members_are_those_of_a_plan_of_full_depth() {
        let (mut short, boards) = (agent(&[1.0], &[4], None), boards());
        let mut full = agent(&[1.0; 5], &[4, 2, 1, 1, 1], Some(&mut short));
        let (short, full) =
            (decide(&mut short, &boards, Wish::Usual), decide(&mut full, &boards, Wish::Usual));
        let same: Vec<_> = short.iter().zip(&full).filter(|(s, f)| s.action == f.action).collect();
        assert!(same.len() >= 10, "{} of {} actions agree", same.len(), short.len());
        same.iter().for_each(|(s, f)| assert_eq!(s.members, f.members));
    }

    /// k = 0 is a usual member of an agent that trains it, and the same one that others have when asked.
    #[test]
    fn what_was_trained_is_a_usual_member() {
        let boards = boards();
        for train_zero in [false, true] {
            let config = Config { train_zero, ..config(&[1.0; 5], &[4, 2, 1, 1, 1]) };
            let mut agent = Vpn::new(&config, Arc::new(environment), 3).unwrap();
            let all = ive::Members::new(0..=5).unwrap();
            let wished = decide(&mut agent, &boards, Wish::These(&all));
            for (usual, wished) in decide(&mut agent, &boards, Wish::Usual).iter().zip(&wished) {
                let first = usize::from(!train_zero);
                assert_eq!(members(usual), &members(wished)[first..]);
                assert_eq!(usual.members.as_ref().unwrap().ks(), &ive::Members::new(first..=5).unwrap());
            }
        }
    }

    #[test]
    fn the_probe_knows_the_newest_weights() {
        let (mut short, boards) = (agent(&[1.0], &[4], None), boards());
        let before = decide(&mut short, &boards, Wish::Usual);
        short.advance(&mut Vec::new()).unwrap();
        let after = decide(&mut short, &boards, Wish::Usual);
        assert_ne!(before[0].members, after[0].members);
        assert!((members(&after[0])[0] - after[0].value).abs() < 1e-6);
    }

    /// The mean over value heads of `r̂ + γ v̂ᵢ(s')` is the 1-step value by which vpn-v1 chooses, whatever the network; with one
    /// head there is no spread, with several there is.
    #[test]
    fn the_explicit_ensemble_averages_to_the_value_of_the_decision() {
        use crate::vpn::Form;
        for (network, value_heads, prior_scale) in
            [(Form::Paper, 1, 0.0), (Form::Relu, 1, 0.0), (Form::Relu, 5, 0.0), (Form::Paper, 3, 1.0)]
        {
            let config = Config { network, prior_scale, value_heads, ..config(&[1.0], &[4]) };
            let mut agent = Vpn::new(&config, Arc::new(environment), 3).unwrap();
            (0..3).for_each(|_| agent.advance(&mut Vec::new()).unwrap());
            let boards = boards();
            let ensemble = agent.explicit(&boards).unwrap();
            assert_eq!(ensemble.size(), value_heads);
            for (decision, mean) in decide(&mut agent, &boards, Wish::Action).iter().zip(ensemble.mean()) {
                assert!((decision.value - mean).abs() < 1e-5, "{} and {mean}", decision.value);
            }
            assert_eq!(ensemble.std().iter().all(|s| *s > 1e-4), value_heads > 1, "{:?}", ensemble.std());
            let further = agent.further(&boards, &[]).unwrap();
            let names: Vec<&str> = further.iter().map(|f| f.name).collect();
            assert_eq!(names, if value_heads > 1 { vec![Further::EVE] } else { vec![] });
            assert!(further.iter().all(|f| f.scores == ensemble.std()));
        }
    }
}
