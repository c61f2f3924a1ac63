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

#[test]
fn every_example_holds_what_it_claims() {
    closures::main().unwrap();
    logged_arrays::main().unwrap();
    network::main().unwrap();
    stochastic::main().unwrap();
    table::main().unwrap();
}
