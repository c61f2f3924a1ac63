//! Small dense tables, which fit the cache: every vector lane is a pair, and a whole step is one fused pass.

use multiversion::multiversion;

use super::exact::Spread;

/// Up to this many states a dense table is kept in this form.
pub(super) const SMALL: usize = 64;

const VECTOR: usize = 4;
const WIDE: usize = 48;
const NARROW: usize = 16;

/// p̂ as `[next, action, state]`, the states padded to whole vectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Small {
    states: usize,
    actions: usize,
    padded: usize,
    p: Vec<f64>,
}

impl Small {
    pub(super) fn new(states: usize, actions: usize, p: &[f64]) -> Self {
        let padded = states.next_multiple_of(VECTOR);
        let mut small = Self { states, actions, padded, p: vec![0.0; states * actions * padded] };
        for (pair, row) in p.chunks_exact(states).enumerate() {
            let lane = small.lane(pair);
            row.iter().enumerate().for_each(|(next, &x)| small.p[next * actions * padded + lane] = x);
        }
        small
    }

    fn lane(&self, pair: usize) -> usize {
        (pair % self.actions) * self.padded + pair / self.actions
    }

    /// p̂(next | pair).
    pub(super) fn probability(&self, pair: usize, next: usize) -> f64 {
        self.p[next * self.actions * self.padded + self.lane(pair)]
    }

    /// A table over pairs, `[state, action]`, as lanes.
    fn spread_out(&self, table: &[f64]) -> Vec<f64> {
        let mut lanes = vec![0.0; self.actions * self.padded];
        for (s, row) in table.chunks_exact(self.actions).enumerate() {
            row.iter().enumerate().for_each(|(a, &x)| lanes[a * self.padded + s] = x);
        }
        lanes
    }

    fn gather(&self, lanes: &[f64]) -> Vec<f64> {
        (0..self.states * self.actions).map(|pair| lanes[self.lane(pair)]).collect()
    }

    /// `q = r̂ + γ Σ_s' p̂ v`, `[state, action]`.
    pub(super) fn backup(&self, reward: &[f64], values: &[f64], discount: f64) -> Vec<f64> {
        let mut q = vec![0.0; self.actions * self.padded];
        step(&self.p, values, &self.spread_out(reward), discount, &mut q);
        self.gather(&q)
    }

    /// σ of the state values and of the action values over the members `ks`.
    pub(super) fn std(
        &self,
        q: &[f64],
        reward: &[f64],
        policy: &[f64],
        discount: f64,
        ks: &[usize],
        ddof: usize,
    ) -> [Vec<f64>; 2] {
        let [mut q, reward, policy] = [q, reward, policy].map(|x| self.spread_out(x));
        let mut v = vec![0.0; self.padded];
        weigh(&q, &policy, &mut v);
        let (mut of_pairs, mut of_states) = (Spread::new(q.len()), Spread::new(v.len()));
        let mut wanted = ks.iter().peekable();
        for k in 0..=ks[ks.len() - 1] {
            if k > 0 {
                step(&self.p, &v[..self.states], &reward, discount, &mut q);
                weigh(&q, &policy, &mut v);
            }
            if wanted.next_if(|next| **next == k).is_some() {
                of_pairs.add(&q);
                of_states.add(&v);
            }
        }
        let mut states = of_states.std(ks.len(), ddof);
        states.truncate(self.states);
        [states, self.gather(&of_pairs.std(ks.len(), ddof))]
    }
}

/// `v(s) = Σ_a π(a | s) q(s, a)`, lane by lane.
#[multiversion(targets = "simd")]
fn weigh(q: &[f64], policy: &[f64], v: &mut [f64]) {
    v.fill(0.0);
    for (q, pi) in q.chunks_exact(v.len()).zip(policy.chunks_exact(v.len())) {
        v.iter_mut().zip(q.iter().zip(pi)).for_each(|(v, (q, p))| *v += p * q);
    }
}

/// `q = r̂ + γ Σ_s' p̂(s' | ·) v(s')`.
#[multiversion(targets = "simd")]
fn step(p: &[f64], v: &[f64], reward: &[f64], discount: f64, q: &mut [f64]) {
    #[inline(always)]
    fn block<const N: usize>(
        p: &[f64],
        v: &[f64],
        r: &[f64],
        discount: f64,
        q: &mut [f64],
        at: usize,
    ) -> usize {
        let stride = q.len();
        let mut sum = [0.0; N];
        for (row, &x) in p.chunks_exact(stride).zip(v) {
            let row: &[f64; N] = row[at..at + N].try_into().expect("a block within the row");
            sum.iter_mut().zip(row).for_each(|(s, p)| *s += x * p);
        }
        for (q, (s, r)) in q[at..at + N].iter_mut().zip(sum.iter().zip(&r[at..at + N])) {
            *q = r + discount * s;
        }
        at + N
    }
    let mut at = 0;
    while at < q.len() {
        at = match q.len() - at {
            WIDE.. => block::<WIDE>(p, v, reward, discount, q, at),
            NARROW.. => block::<NARROW>(p, v, reward, discount, q, at),
            _ => block::<VECTOR>(p, v, reward, discount, q, at),
        };
    }
}
