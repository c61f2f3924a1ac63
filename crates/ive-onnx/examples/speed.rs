//! How long σ-IVE takes for a batch of states: `speed FOLDER BATCH HORIZON REPEATS`, the states having one tensor
//! `[batch, n]` of the n that follows. Prints CPU seconds of the fastest of the repeats. `examples/speed.py` makes the folder and
//! measures ONNX Runtime beside it.

use std::time::Duration;

use cpu_time::ProcessTime;
use ive::Rng;
use ive_onnx::{Array, OnnxModel, score};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, batch, width, horizon, repeats] = arguments.as_slice() else {
        return Err("speed FOLDER BATCH WIDTH HORIZON REPEATS".into());
    };
    let (batch, width): (usize, usize) = (batch.parse()?, width.parse()?);
    let model = OnnxModel::open(folder)?;
    let rng = &mut Rng::from_seed(0);
    let data: Vec<f32> = (0..batch * width).map(|_| rng.normal() as f32).collect();
    let array = Array::new(vec![batch, width], data)?;
    let mut best = Duration::MAX;
    let mut sum = 0.0;
    for _ in 0..repeats.parse::<usize>()? {
        let begin = ProcessTime::now();
        let scored = score(&model, &model.start(&array)?, horizon.parse()?, 1, rng)?;
        sum = scored.ensemble.std().iter().sum();
        best = best.min(begin.elapsed());
    }
    println!("{} {sum}", best.as_secs_f64());
    Ok(())
}
