//! A table: five rooms in a row, of which the last was never visited. Exact σ for rooms and for actions, and a policy that
//! goes where the model and the value disagree.
//!
//! `cargo run --release --example table`

use ive::{Error, ExactIve, Members, Rng, TabularModel, Ties, greedy_policy};

const ROOMS: usize = 5;

/// Prints σ of each room and action, and checks that the policy walks to the unknown room.
pub fn main() -> Result<(), Error> {
    // Two actions, left and right; walls hold. No reward anywhere, so the true value is 0.
    let next = |room: usize, action: usize| {
        if action == 0 { room.saturating_sub(1) } else { (room + 1).min(ROOMS - 1) }
    };
    let successors = (0..2 * ROOMS).map(|pair| next(pair / 2, pair % 2) as u32).collect();
    let offsets = (0..=2 * ROOMS).collect();
    let model =
        TabularModel::sparse(ROOMS, 2, vec![0.0; 2 * ROOMS], offsets, successors, vec![1.0; 2 * ROOMS])?;
    // The value is right where there were data, and still has its random start in the last room.
    let mut q = vec![0.0; 2 * ROOMS];
    q[2 * ROOMS - 2..].copy_from_slice(&[1.0, -0.4]);

    let uniform = vec![0.5; 2 * ROOMS];
    let sigma = model.inconsistency(&q, &ExactIve::new(&uniform, 0.9, Members::up_to(2)))?;
    let explore = greedy_policy(&sigma.pairs, 2, Ties::Uniform, &mut Rng::from_seed(0))?;
    println!("room   σ       σ(left)  σ(right)  explores");
    for room in 0..ROOMS {
        let (left, right) = (sigma.pairs[2 * room], sigma.pairs[2 * room + 1]);
        let way = if explore[2 * room] == 1.0 {
            "left"
        } else if explore[2 * room] == 0.0 {
            "right"
        } else {
            "either"
        };
        println!("{room:>4}   {:.4}  {left:.4}   {right:.4}    {way}", sigma.states[room]);
    }
    assert!(
        sigma.states[..ROOMS - 1].iter().all(|&s| s < sigma.states[ROOMS - 1]),
        "the last room is the least known"
    );
    // Two steps see two rooms ahead: from there on the way is to the right.
    assert!((2..ROOMS - 1).all(|room| explore[2 * room + 1] == 1.0));
    Ok(())
}
