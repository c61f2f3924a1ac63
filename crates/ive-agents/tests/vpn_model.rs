//! The plan of a value prediction network is an implicit value ensemble: the library finds the same members.

use std::cell::Cell;

use ive::{Model, ModelError, Rng, ValueEnsemble, unroll};
use ive_agents::vpn::model::{LatentModel, Latents};
use ive_agents::vpn::network::Network;
use ive_agents::vpn::planner::Planner;

const DISCOUNT: f64 = 0.97;

fn network(rng: &mut Rng) -> (Network, Vec<f32>) {
    let net = Network::new(4, 6);
    let mut x = net.initial(1.0, 4.0, rng);
    let layers = [Some(&net.lstm), net.start.as_ref()].into_iter().flatten();
    let biases = layers.filter_map(|layer| layer.bias.as_ref());
    for slot in [&net.reward.output.weight, &net.value.output.weight].into_iter().chain(biases) {
        slot.of_mut(&mut x).iter_mut().for_each(|w| *w += 0.2 * rng.normal() as f32);
    }
    (net, x)
}

/// Tolerance for numbers of order one in single precision.
#[test]
fn implicit_ensemble_along_the_plan_has_the_members_of_the_plan() {
    let mut rng = Rng::from_seed(51);
    let (net, x) = network(&mut rng);
    let roots = 5;
    let seen: Vec<u8> = (0..roots * 400).map(|_| u8::from(rng.uniform() < 0.1)).collect();
    let (weights, branching) = ([1.0; 5], [4, 2, 2, 1, 1]);
    let mut planner = Planner::new(&net, DISCOUNT, &weights, &branching);
    planner.load(&x);
    let (mut boards, mut choices) = (Vec::new(), Vec::new());
    net.torso.board.pack_all(&seen, &mut boards);
    planner.plan(&boards, &mut choices);
    let mut paths = vec![Vec::new(); roots];
    (0..roots).for_each(|root| planner.path(root, &mut paths[root]));

    let model = LatentModel::new(&net, &x, DISCOUNT).unwrap();
    let depth = Cell::new(0);
    let along = |_: &Latents, _: &mut Rng| -> Result<Vec<usize>, ModelError> {
        let k = depth.replace(depth.get() + 1);
        Ok(paths.iter().map(|path| path[k]).collect())
    };
    let path = unroll(&model, &model, &along, model.encode(&seen).unwrap(), 5, &mut rng).unwrap();
    let ensemble = ValueEnsemble::implicit(&path);
    for (root, choice) in choices.iter().enumerate() {
        let mut members = Vec::new();
        planner.members(root, &mut members);
        assert_eq!(members.len(), 5);
        for (k, &member) in (1..).zip(&members) {
            let ours = ensemble.member(k)[root];
            assert!((ours - f64::from(member)).abs() < 1e-5, "root {root}, k = {k}: {ours} and {member}");
        }
        // μ-IVE(5), Paper: Sec. 4.3: the value of the chosen action is the mean of the members.
        let mean = (1..=5).map(|k| ensemble.member(k)[root]).sum::<f64>() / 5.0;
        assert!((mean - f64::from(choice.value)).abs() < 1e-5, "root {root}: {mean} and {choice:?}");
    }
}

#[test]
fn wrong_input_is_refused_with_its_numbers() {
    let mut rng = Rng::from_seed(52);
    let (net, x) = network(&mut rng);
    let error = LatentModel::new(&net, &x[1..], DISCOUNT).unwrap_err().to_string();
    assert!(error.starts_with("parameters of a network: expected length"), "{error}");
    let model = LatentModel::new(&net, &x, DISCOUNT).unwrap();
    let error = |observations: &[u8]| model.encode(observations).unwrap_err().to_string();
    assert_eq!(error(&[0; 401]), "observations of whole boards: expected length 800, got 401");
    assert_eq!(error(&[2; 400]), "cell of an observation: 2 is outside the range 0 to 1");
    let start = model.encode(&[0; 400]).unwrap();
    let mut error = |actions: &[usize]| model.imagine(&start, actions, &mut rng).unwrap_err().to_string();
    assert_eq!(error(&[0, 0]), "actions of a step: expected length 1, got 2");
    assert_eq!(error(&[6]), "action: 6 is outside the range 0 to 5");
    assert!(model.encode(&[]).unwrap().is_empty());
}
