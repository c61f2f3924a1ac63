//! Small dense tables, which fit the cache: every vector lane is a pair, and a whole step is one fused pass.

use multiversion::multiversion;

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

    /// Sums of the deviations d = xᵏ − x⁰ and of their squares over the members, for action values and state values:
    /// `[Σd(s, a), Σd²(s, a), Σd(s), Σd²(s)]`. The first member is the origin.
    pub(super) fn deviations(
        &self,
        q: &[f64],
        reward: &[f64],
        policy: &[f64],
        discount: f64,
        ks: &[usize],
    ) -> [Vec<f64>; 4] {
        let [mut q, reward, policy] = [q, reward, policy].map(|x| self.spread_out(x));
        let (pairs, states) = (q.len(), self.padded);
        let mut v = vec![0.0; states];
        weigh(&q, &policy, &mut v);
        let (mut q_sums, mut v_sums) = (Sums::new(pairs), Sums::new(states));
        if ks[0] == 0 {
            q_sums.start(&q);
            v_sums.start(&v);
        }
        let mut taken = usize::from(ks[0] == 0);
        for k in 1..=ks[ks.len() - 1] {
            step(&self.p, &v[..self.states], &reward, discount, &mut q);
            weigh(&q, &policy, &mut v);
            if ks[taken] != k {
                continue;
            }
            taken += 1;
            if taken == 1 {
                q_sums.start(&q);
                v_sums.start(&v);
            } else {
                q_sums.add(&q);
                v_sums.add(&v);
            }
        }
        v_sums.d.truncate(self.states);
        v_sums.d2.truncate(self.states);
        [self.gather(&q_sums.d), self.gather(&q_sums.d2), v_sums.d, v_sums.d2]
    }
}

struct Sums {
    origin: Vec<f64>,
    d: Vec<f64>,
    d2: Vec<f64>,
}

impl Sums {
    fn new(n: usize) -> Self {
        Self { origin: vec![0.0; n], d: vec![0.0; n], d2: vec![0.0; n] }
    }

    fn start(&mut self, x: &[f64]) {
        self.origin.copy_from_slice(x);
    }

    fn add(&mut self, x: &[f64]) {
        super::exact::add_deviations(&self.origin, x, &mut self.d, &mut self.d2);
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
