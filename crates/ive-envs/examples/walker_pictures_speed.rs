//! How many pictures of the walker a second of one core draws: `cargo run --release -p ive-envs --example walker_pictures_speed`.
//!
//! CPU time, best of ten passes over the poses that the tests compare with MuJoCo.

use cpu_time::ProcessTime;
use ive_envs::walker::picture::{Qpos, Renderer, Sampling};
use std::error::Error;

const PASSES: usize = 10;
const REPEATS: usize = 10;

fn poses() -> Result<Vec<Qpos>, Box<dyn Error>> {
    let json: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("../tests/fixtures/walker_pictures.json"))?;
    let mut poses = Vec::new();
    for pose in &json {
        poses.push(serde_json::from_value(pose["qpos"].clone())?);
    }
    Ok(poses)
}

fn main() -> Result<(), Box<dyn Error>> {
    let poses = poses()?;
    for (side, sampling) in [
        (64, Sampling::Single),
        (64, Sampling::Edges),
        (64, Sampling::Super(2)),
        (64, Sampling::Super(4)),
        (256, Sampling::Edges),
    ] {
        let mut renderer = Renderer::new(side, side, sampling)?;
        let mut picture = vec![0; renderer.len()];
        let mut best = f64::INFINITY;
        for _ in 0..PASSES {
            let start = ProcessTime::now();
            for qpos in poses.iter().cycle().take(REPEATS * poses.len()) {
                renderer.render_into(qpos, &mut picture)?;
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        let rate = (REPEATS * poses.len()) as f64 / best;
        let sampling = format!("{sampling:?}");
        println!(
            "{side:>3} × {side:<3} {sampling:<8} {rate:>7.0} pictures per CPU-second, {:>6.1} µs each",
            1e6 / rate
        );
    }
    Ok(())
}
