//! toy
use ive_agents::nn::Device;
use ive_agents::toy::{ToyConfig, run};
#[test]
#[ignore]
fn measure() {
    let grid: Vec<f64> = (0..241).map(|i| -3.0 + i as f64 * 0.025).collect();
    let config = ToyConfig { steps: 2000, ..ToyConfig::default() };
    for seed in 0..3 {
        let t = std::time::Instant::now();
        let o = run(&config, seed, &grid, &Device::cpu(), &mut |_| true).unwrap();
        println!(
            "{seed} {:?} before {:?} after {:?} rmse {}",
            t.elapsed() / 2000,
            o.sigma_ratio_before(),
            o.sigma_ratio_after(),
            o.root_mean_square_error()
        );
    }
}
