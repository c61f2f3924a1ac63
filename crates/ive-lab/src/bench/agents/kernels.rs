//! How fast products and convolutions are, against what the processor can do: multiply-adds counted by hand.

use ive::Rng;
use ive_agents::nn::cpu::{Matrix, matmul, matmul_nt, matmul_tn};
use ive_agents::nn::layout::he;
use ive_agents::nn::{Activation, Block, Conv, Executor, Layout, Over, Parameters, Pool};

use crate::bench::measure::best;
use crate::exit::Outcome;
use crate::report::table::Table;

/// Rows, inputs and outputs of layers of the agents: gates and torso of VPN, a GRU, a head, a layer behind pictures.
const PRODUCTS: [(usize, usize, usize); 6] =
    [(40, 128, 512), (40, 1024, 128), (25, 128, 384), (625, 128, 384), (1500, 144, 128), (320, 1568, 256)];

/// Pictures, their shape, window, stride and filters, with a border of zeros so that every place counts.
const CONVOLUTIONS: [(usize, [usize; 3], usize, usize, usize); 4] = [
    (320, [32, 32, 3], 4, 2, 16),
    (320, [16, 16, 16], 4, 2, 32),
    (32, [64, 64, 3], 3, 1, 16),
    (32, [32, 32, 16], 3, 1, 32),
];

/// A row for each product and convolution: GFLOP/s forwards, and of both gradients.
pub fn table(repeats: u32) -> Outcome<Table> {
    let head = ["work", "forwards", "gradient of weights", "gradient of inputs"];
    let mut table = Table::new("GFLOP/s, one thread", &head);
    for (rows, inputs, outputs) in PRODUCTS {
        let rates = product(rows, inputs, outputs, repeats)?.map(|rate| format!("{rate:.0}"));
        table.row([format!("{rows} × {inputs} × {outputs}")].into_iter().chain(rates));
    }
    for (count, picture, window, stride, filters) in CONVOLUTIONS {
        let [height, width, channels] = picture;
        let pool = Pool { picture, window: [window; 2], stride: [stride; 2], padding: [[0, 0]; 2] }.same();
        let [forwards, both] = convolution(count, pool, filters, repeats)?.map(|rate| format!("{rate:.0}"));
        let what = format!(
            "{count} pictures {height} × {width} × {channels}, {filters} filters {window} × {window}, stride {stride}"
        );
        table.row([what, forwards, format!("{both} (both)"), String::new()]);
    }
    Ok(table)
}

fn random(count: usize) -> Vec<f32> {
    let mut rng = Rng::from_seed(1);
    (0..count).map(|_| rng.normal() as f32).collect()
}

fn product(rows: usize, inputs: usize, outputs: usize, repeats: u32) -> Outcome<[f64; 3]> {
    let (x, w, dy) = (random(rows * inputs), random(inputs * outputs), random(rows * outputs));
    let (mut y, mut dw, mut dx) = (dy.clone(), w.clone(), x.clone());
    let [a, b, d] =
        [Matrix::new(&x, rows, inputs), Matrix::new(&w, inputs, outputs), Matrix::new(&dy, rows, outputs)];
    let work = 2e-9 * (rows * inputs * outputs) as f64;
    let forwards = best("product", "", repeats, || {
        matmul(&mut y, a, b);
        Ok(())
    })?;
    let weights = best("product", "", repeats, || {
        matmul_tn(&mut dw, a, d);
        Ok(())
    })?;
    let inputs = best("product", "", repeats, || {
        matmul_nt(&mut dx, d, b, false);
        Ok(())
    })?;
    Ok([forwards, weights, inputs].map(|measured| work / measured.cpu))
}

/// Forwards, and both gradients together: the whole way less the way forwards.
fn convolution(count: usize, pool: Pool, filters: usize, repeats: u32) -> Outcome<[f64; 2]> {
    let mut layout = Layout::default();
    let conv = Conv::new(&mut layout, ["conv", "bias"], pool, filters, Activation::Relu);
    let mut x = vec![0.0; layout.len()];
    let shown = conv.weight.range.len() / filters;
    he(conv.weight.of_mut(&mut x), shown, &mut Rng::from_seed(2));
    let size = pool.picture.iter().product();
    let (pictures, mut gradient, mut executor) =
        (random(count * size), vec![0.0; x.len()], Executor::default());
    let [down, right] = pool.places();
    let work = 2e-9 * (count * down * right * shown * filters) as f64;
    let forwards = best("convolution", "", repeats, || {
        executor.run(&[Parameters::frozen(&x)], |g| {
            let seen = g.input(&pictures, size);
            g.conv(Block(0), &conv, seen);
        });
        Ok(())
    })?;
    let whole = best("convolution", "", repeats, || {
        executor.run(&[Parameters::trained(&x)], |g| {
            let seen = g.variable(&pictures, size);
            let y = g.conv(Block(0), &conv, seen);
            let loss = g.sum(y, Over::Mean);
            g.backward(loss, &mut [&mut gradient]);
        });
        Ok(())
    })?;
    Ok([work / forwards.cpu, 2.0 * work / (whole.cpu - forwards.cpu).max(1e-9)])
}
