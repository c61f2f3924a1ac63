//! scratch
use ive::*;
use std::time::Instant;
fn dense(rng: &mut Rng, s: usize, a: usize) -> (TabularModel, Vec<f64>) {
    let r: Vec<f64> = (0..s * a).map(|_| rng.normal()).collect();
    let q: Vec<f64> = (0..s * a).map(|_| rng.normal()).collect();
    let mut p: Vec<f64> = (0..s * a * s).map(|_| rng.uniform()).collect();
    for row in p.chunks_mut(s) {
        let z: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= z);
    }
    (TabularModel::dense(s, a, r, p).unwrap(), q)
}
fn main() {
    let rng = &mut Rng::from_seed(0);
    let (m, q) = dense(rng, 1000, 4);
    let pi = vec![0.25; 4000];
    let threads = std::env::args().nth(1).unwrap().parse().unwrap();
    let ive =
        ExactIve { policy: &pi, discount: 0.99, members: Members::up_to(20).unwrap(), ddof: 0, threads };
    let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let mut b = f64::MAX;
    for _ in 0..n {
        let t = Instant::now();
        std::hint::black_box(m.inconsistency(&q, &ive).unwrap());
        b = b.min(t.elapsed().as_secs_f64());
    }
    println!("{:.3} ms", b * 1e3);
}
