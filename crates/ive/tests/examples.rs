//! The examples run, and what they claim holds: each asserts it.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

#[path = "../examples/closures.rs"]
mod closures;
#[path = "../examples/logged_arrays.rs"]
mod logged_arrays;
#[path = "../examples/network.rs"]
mod network;
#[path = "../examples/stochastic.rs"]
mod stochastic;
#[path = "../examples/table.rs"]
mod table;
#[path = "../examples/tree.rs"]
mod tree;

use ive::{Backup, Members, ModelError, Rng, TabularModel, ValueEnsemble, select_rows};

#[test]
fn every_example_holds_what_it_claims() {
    closures::main().unwrap();
    logged_arrays::main().unwrap();
    network::main().unwrap();
    stochastic::main().unwrap();
    table::main().unwrap();
    tree::main().unwrap();
}

/// A tree that prunes nothing makes optimality backups: cut off at depth k, it knows `T*ᵏ q̂` of the actions at its root, and
/// knows it for batches that nobody told it the kind of.
#[test]
fn a_tree_without_pruning_has_the_members_of_the_optimality_operator() {
    // A ring of seven states with three ways to go on; rewards and values are arbitrary.
    let (states, actions, depth) = (7, 3, 5);
    let rng = &mut Rng::from_seed(4);
    let mut reward = vec![0.0; states * actions];
    rng.fill_normal(&mut reward);
    let next =
        (0..states * actions).map(|pair| ((pair / actions + pair % actions) % states) as u32).collect();
    let offsets = (0..=states * actions).collect();
    let table =
        TabularModel::sparse(states, actions, reward, offsets, next, vec![1.0; states * actions]).unwrap();
    let v: Vec<f64> = (0..states).map(|_| rng.normal()).collect();

    let value = |s: &Vec<usize>| -> Result<_, ModelError> { Ok(s.iter().map(|&s| v[s]).collect()) };
    let prior = |s: &Vec<usize>| -> Result<_, ModelError> { Ok(vec![0.0; s.len() * actions]) };
    let operator = table.action_operator(Backup::Optimality, 0.9).unwrap();
    let first = table.action_values(&v, 0.9).unwrap();
    let exact = ValueEnsemble::implicit_exact(&operator, &first, &Members::new(0..depth).unwrap()).unwrap();
    for root in 0..states {
        let (model, pick) = (table.sampler(0.9), |s: &Vec<usize>, rows: &[usize]| select_rows(s, rows));
        let tree = tree::search(&model, &value, &prior, &pick, &vec![root], depth, actions).unwrap();
        for (member, expected) in tree.members().zip(exact.members()) {
            for (q, e) in member.iter().zip(&expected[root * actions..]) {
                assert!((q - e).abs() < 1e-14, "root {root}: {q} {e}");
            }
        }
    }
}

#[test]
fn rows_are_picked_in_order_and_only_where_they_are() {
    let batch = vec![10, 20, 30];
    assert_eq!(select_rows(&batch, &[2, 0, 2]).unwrap(), [30, 10, 30]);
    assert!(select_rows(&batch, &[]).unwrap().is_empty());
    let error = select_rows(&batch, &[0, 3]).unwrap_err().to_string();
    assert_eq!(error, "row of a batch: 3 is outside the range 0 to 2");
    assert!(select_rows(&Vec::<u8>::new(), &[0]).is_err());
}
