//! Ensembles and their statistics from arrays of predictions: what a log holds, for millions of states.
//!
//! The readable form of the same numbers is [`Rollout`](crate::Rollout) with [`ValueEnsemble`]; tests hold the two to the
//! same bits. Here everything happens in one pass over the arrays, some states at a time that stay in registers, so the time
//! is that of reading the arrays and writing the results.

use multiversion::multiversion;

use crate::error::{in_range, same_length};
use crate::prefetch::prefetch;
use crate::signal::check_ddof;
use crate::{Error, MAX_HORIZON, Members, Result, ValueEnsemble, mean, sigma};

/// The discounts of the steps of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discounts<'a, T> {
    /// The same γ everywhere.
    Constant(f64),
    /// One for each step and state, `[k, b]`: γ times the predicted probability of going on, zero at the end of an episode.
    Each(&'a [T]),
}

/// Predictions along imagined paths of n steps from b states, as arrays in row-major order: the rewards r¹..rⁿ of the
/// steps, `[n, b]`, and the values v̂(s⁰)..v̂(sⁿ) of the states on the way, `[n + 1, b]`, in `f32` or `f64`.
///
/// ```
/// use ive::{Discounts, Members, Predictions};
/// let rewards = [1.0, 0.0]; // one step, two states
/// let values = [10.0, 4.0, 10.0, 5.0];
/// let predictions = Predictions::new(&rewards, &values, Discounts::Constant(0.9), 2)?;
/// let found = predictions.statistics(&Members::up_to(1), 0)?;
/// assert_eq!(found.std, [0.0, 0.25]); // 10 and 1 + 0.9 · 10; 4 and 0.9 · 5
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predictions<'a, T> {
    rewards: &'a [T],
    values: &'a [T],
    discounts: Discounts<'a, T>,
    batch: usize,
    horizon: usize,
}

/// μ and σ over the members of an ensemble.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// μ, `[state]`.
    pub mean: Vec<f64>,
    /// σ, `[state]`.
    pub std: Vec<f64>,
}

/// States that are worked on at a time: two vectors of AVX-512, four of AVX2, so that divisions and roots of one overlap with the other.
const LANES: usize = 16;
/// How many states ahead predictions are asked for from memory: far enough that they arrive in time, and those of some ten rows fit into the nearest cache.
const AHEAD: usize = 256;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes that are surely not in the nearer caches any more when they are needed again.
const CACHES: usize = 8 << 20;

impl<'a, T: Copy + Into<f64> + Send + Sync> Predictions<'a, T> {
    /// Puts arrays together for a batch of b states.
    ///
    /// # Errors
    /// If the arrays do not fit each other, there are more than [`MAX_HORIZON`] steps, or γ is outside [0, 1].
    pub fn new(rewards: &'a [T], values: &'a [T], discounts: Discounts<'a, T>, batch: usize) -> Result<Self> {
        let horizon = rewards.len().checked_div(batch).unwrap_or(0);
        in_range("horizon k", horizon as f64, 0.0, MAX_HORIZON as f64)?;
        same_length("rewards [k, batch]", horizon * batch, rewards.len())?;
        same_length("values [k + 1, batch]", (horizon + 1) * batch, values.len())?;
        match discounts {
            Discounts::Constant(gamma) => in_range("discount", gamma, 0.0, 1.0)?,
            Discounts::Each(each) => same_length("discounts [k, batch]", rewards.len(), each.len())?,
        }
        Ok(Self { rewards, values, discounts, batch, horizon })
    }

    /// How many states there are.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How many steps the paths have.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// The k-step values of the states for some k, as an ensemble. Predictions that no member needs are not looked at.
    ///
    /// # Errors
    /// If a member is beyond the horizon, a number that is needed or a k-step value is not finite, or a discount is
    /// outside [0, 1].
    pub fn ensemble(&self, members: &Members) -> Result<ValueEnsemble> {
        Ok(self.score(members, 0)?.0)
    }

    /// μ and σ over the members. `ddof` is 0 for the population form, 1 for the sample form.
    ///
    /// # Errors
    /// As [`ensemble`](Self::ensemble); and if `ddof` is neither 0 nor 1, there are too few members for it, or a result is
    /// not finite.
    pub fn statistics(&self, members: &Members, ddof: usize) -> Result<Statistics> {
        let mut found = Statistics::default();
        self.statistics_into(members, ddof, &mut found)?;
        Ok(found)
    }

    /// As [`statistics`](Self::statistics), into vectors that are there already: for large batches, getting new memory
    /// from the system takes as long as the work. After an error they hold nothing of use.
    ///
    /// # Errors
    /// As [`statistics`](Self::statistics).
    pub fn statistics_into(&self, members: &Members, ddof: usize, found: &mut Statistics) -> Result<()> {
        self.run(members, ddof, None, found)
    }

    /// Both: the ensemble, and μ and σ over its members.
    ///
    /// # Errors
    /// As [`statistics`](Self::statistics).
    pub fn score(&self, members: &Members, ddof: usize) -> Result<(ValueEnsemble, Statistics)> {
        let mut ensemble = ValueEnsemble { size: 0, states: 0, data: Vec::new(), members: None };
        let mut found = Statistics::default();
        self.score_into(members, ddof, &mut ensemble, &mut found)?;
        Ok((ensemble, found))
    }

    /// As [`score`](Self::score), in the memory of results that are no longer needed: for the next of many large batches. After an error the ensemble
    /// has no states.
    ///
    /// # Errors
    /// As [`statistics`](Self::statistics).
    pub fn score_into(
        &self,
        members: &Members,
        ddof: usize,
        ensemble: &mut ValueEnsemble,
        found: &mut Statistics,
    ) -> Result<()> {
        let mut data = std::mem::take(&mut ensemble.data);
        (ensemble.size, ensemble.states, ensemble.members) = (members.len(), 0, Some(members.clone()));
        make_room(&mut data, members.len() * self.batch);
        self.run(members, ddof, Some(&mut data), found)?;
        (ensemble.data, ensemble.states) = (data, self.batch);
        Ok(())
    }

    fn run(
        &self,
        members: &Members,
        ddof: usize,
        data: Option<&mut [f64]>,
        found: &mut Statistics,
    ) -> Result<()> {
        in_range("member k", members.horizon() as f64, 0.0, self.horizon as f64)?;
        check_ddof(ddof, members.len())?;
        make_room(&mut found.mean, self.batch);
        make_room(&mut found.std, self.batch);
        let wanted: Vec<bool> = (0..=members.horizon()).map(|k| members.contains(k)).collect();
        let mut work = Work { wanted: &wanted, size: members.len(), ddof, data, found, again: Vec::new() };
        most_states(self, &mut work);
        let Work { mut data, found, mut again, .. } = work;
        again.extend((!self.batch.is_multiple_of(LANES)).then_some(self.batch / LANES * LANES));
        for start in again {
            for state in start..self.batch.min(start + LANES) {
                self.one_state(state, members, ddof, data.as_deref_mut(), found)?;
            }
        }
        Ok(())
    }

    /// One state in the readable way: the last ones, and those whose members are equal, huge or not finite, or whose
    /// discounts are none.
    fn one_state(
        &self,
        state: usize,
        members: &Members,
        ddof: usize,
        data: Option<&mut [f64]>,
        found: &mut Statistics,
    ) -> Result<()> {
        let column = self.members_of(state, members)?;
        let std = sigma::of_columns(&column, column.len(), ddof)[0];
        if !std.is_finite() {
            return Err(Error::NotFinite { what: "statistic of the members", index: state, value: std });
        }
        (found.mean[state], found.std[state]) = (mean(&column), std);
        if let Some(data) = data {
            data.chunks_exact_mut(self.batch).zip(column).for_each(|(row, x)| row[state] = x);
        }
        Ok(())
    }

    /// The members of one state: `v̂ᵏ = Σ_{i<k} γⁱ rⁱ⁺¹ + γᵏ v̂(sᵏ)`. Says what is wrong with it, and where.
    fn members_of(&self, state: usize, members: &Members) -> Result<Vec<f64>> {
        let checked = |what, array: &[T], k: usize| -> Result<f64> {
            let (index, value) = (k * self.batch + state, array[k * self.batch + state].into());
            if value.is_finite() { Ok(value) } else { Err(Error::NotFinite { what, index, value }) }
        };
        let (mut reward_sum, mut product, mut column) = (0.0, 1.0, Vec::with_capacity(members.len()));
        for k in 0..=members.horizon() {
            if k > 0 {
                reward_sum += product * checked("rewards [k, batch]", self.rewards, k - 1)?;
                let discount = match self.discounts {
                    Discounts::Constant(gamma) => gamma,
                    Discounts::Each(each) => checked("discounts [k, batch]", each, k - 1)?,
                };
                in_range("discount", discount, 0.0, 1.0)?;
                product *= discount;
            }
            if members.contains(k) {
                let value = checked("values [k + 1, batch]", self.values, k)?;
                let member = if k == 0 { value } else { reward_sum + product * value };
                if !member.is_finite() {
                    let what = "k-step values of the start states";
                    return Err(Error::NotFinite { what, index: state, value: member });
                }
                column.push(member);
            }
        }
        Ok(column)
    }
}

/// So many numbers, whatever they are: in memory that is there already, or that the system hands out as zeros. To write zeros first would take as long
/// as to write the results.
fn make_room(numbers: &mut Vec<f64>, count: usize) {
    if numbers.capacity() < count {
        *numbers = vec![0.0; count];
    }
    numbers.resize(count, 0.0);
}

/// What is done with all states.
struct Work<'a> {
    /// Whether the k-step value is a member, for each k up to the last that is.
    wanted: &'a [bool],
    /// How many members there are.
    size: usize,
    ddof: usize,
    /// Where members go, `[member, state]`, if they are asked for.
    data: Option<&'a mut [f64]>,
    found: &'a mut Statistics,
    /// Where states begin that are to be done again.
    again: Vec<usize>,
}

/// The states, [`LANES`] at a time as long as there are so many: the rows of all arrays are read side by side, once.
#[multiversion(targets = "simd")]
fn most_states<T: Copy + Into<f64>>(predictions: &Predictions<'_, T>, work: &mut Work<'_>) {
    let mut members = vec![[0.0; LANES]; work.size];
    // Whether the members go further than into the caches, so that their places are worth asking for, too.
    let far = work.size * predictions.batch * size_of::<f64>() > CACHES;
    for start in (0..predictions.batch / LANES).map(|i| i * LANES) {
        fetch(predictions, work.wanted.len(), start);
        let in_range = k_step_values(predictions, work.wanted, start, &mut members);
        let regular = statistics(&members, work.ddof, start, work.found);
        if !(in_range && regular) {
            work.again.push(start);
        }
        if let Some(data) = &mut work.data {
            for (row, x) in data.chunks_exact_mut(predictions.batch).zip(&members) {
                row[start..start + LANES].copy_from_slice(x);
                if far {
                    prefetch_states(row, start);
                }
            }
        }
    }
}

/// Asks for what a row has for the [`LANES`] states that come [`AHEAD`] of those from `start` on.
#[inline(always)]
fn prefetch_states<T>(row: &[T], start: usize) {
    let per_line = LINE / size_of::<T>();
    for line in 0..LANES / per_line {
        prefetch(row, start + AHEAD + line * per_line);
    }
}

/// Asks for the predictions of the [`LANES`] states that come [`AHEAD`] of these, a cache line at a time: eleven rows and more are too many for the processor to
/// foresee.
#[inline(always)]
fn fetch<T: Copy>(predictions: &Predictions<'_, T>, rows: usize, start: usize) {
    let fetch_row = |array: &[T], k: usize| prefetch_states(array, k * predictions.batch + start);
    for k in 0..rows {
        fetch_row(predictions.values, k);
        if k > 0 {
            fetch_row(predictions.rewards, k - 1);
        }
        if let (Discounts::Each(each), 1..) = (predictions.discounts, k) {
            fetch_row(each, k - 1);
        }
    }
}

/// Some numbers of a row. Loops, here and below: closures inside iterators are not always compiled for the instruction
/// set of the function that they end up in.
#[inline(always)]
fn load<T: Copy + Into<f64>>(from: &[T; LANES]) -> [f64; LANES] {
    let mut x = [0.0; LANES];
    for lane in 0..LANES {
        x[lane] = from[lane].into();
    }
    x
}

/// The members of the states from `start` on; false if a discount is outside [0, 1].
#[inline(always)]
fn k_step_values<T: Copy + Into<f64>>(
    predictions: &Predictions<'_, T>,
    wanted: &[bool],
    start: usize,
    members: &mut [[f64; LANES]],
) -> bool {
    let part = |array: &[T], k: usize| {
        let all = array[k * predictions.batch + start..].first_chunk();
        load(all.expect("rows are at least LANES long from here on"))
    };
    // γᵏ is one number for all states or one for each; both have the same bits.
    let (mut sum, mut power, mut product) = ([0.0; LANES], 1.0, [1.0; LANES]);
    let (mut outside, mut rows) = (0u64, members.iter_mut());
    for (k, &wanted) in wanted.iter().enumerate() {
        if k > 0 {
            let reward = part(predictions.rewards, k - 1);
            match predictions.discounts {
                Discounts::Constant(gamma) => {
                    for lane in 0..LANES {
                        sum[lane] += power * reward[lane];
                    }
                    power *= gamma;
                }
                Discounts::Each(each) => {
                    let discount = part(each, k - 1);
                    for lane in 0..LANES {
                        sum[lane] += product[lane] * reward[lane];
                        product[lane] *= discount[lane];
                        outside |= u64::from(!(0.0..=1.0).contains(&discount[lane]));
                    }
                }
            }
        }
        if wanted && let Some(row) = rows.next() {
            let value = part(predictions.values, k);
            *row = value;
            match predictions.discounts {
                _ if k == 0 => {}
                Discounts::Constant(_) => {
                    for lane in 0..LANES {
                        row[lane] = sum[lane] + power * value[lane];
                    }
                }
                Discounts::Each(_) => {
                    for lane in 0..LANES {
                        row[lane] = sum[lane] + product[lane] * value[lane];
                    }
                }
            }
        }
    }
    outside == 0
}

/// μ and σ over the members, with the arithmetic of [`sigma::of_columns`]; whether all of them are ordinary numbers. A
/// member that is not finite makes its squares NaN.
#[inline(always)]
fn statistics(members: &[[f64; LANES]], ddof: usize, start: usize, found: &mut Statistics) -> bool {
    let (count, m) = (members.len() as f64, (members.len() - ddof) as f64);
    let origin = members[0];
    let (mut total, mut shift, mut squares) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for x in members {
        for lane in 0..LANES {
            total[lane] += x[lane];
            shift[lane] += x[lane] - origin[lane];
        }
    }
    for lane in 0..LANES {
        shift[lane] /= count;
    }
    for x in members {
        for lane in 0..LANES {
            let d = x[lane] - origin[lane] - shift[lane];
            squares[lane] += d * d;
        }
    }
    let mut std = [0.0; LANES];
    for lane in 0..LANES {
        total[lane] /= count;
        std[lane] = (squares[lane] / m).sqrt();
    }
    // Squares below this limit have lost digits or have none; 0 · x is zero unless x is not finite. Comparisons to truth values would not become vector
    // code.
    let (mut odd, mut unusual) = ([0.0; LANES], 0);
    for lane in 0..LANES {
        let small = if squares[lane] < 1e-280 { 1.0 } else { 0.0 };
        odd[lane] = small + 0.0 * squares[lane] + 0.0 * total[lane];
    }
    for lane in 0..LANES {
        unusual |= odd[lane].to_bits();
    }
    found.mean[start..start + LANES].copy_from_slice(&total);
    found.std[start..start + LANES].copy_from_slice(&std);
    unusual == 0
}
