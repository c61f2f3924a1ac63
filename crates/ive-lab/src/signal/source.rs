//! Predictions in files, a part at a time: arrays `[k, batch]` in NPY and NPZ, a row for each state in CSV and Parquet.

use std::ops::Range;
use std::path::Path;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::npy::{Array, shape};
use super::npz;
use super::spool::Bytes;
use super::table::{Csv, Rows, is_prediction};
use crate::exit::{Failure, Outcome};

/// Which reward belongs to which state, where a log has one for each of the k + 1 states of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Convention {
    /// Rewards are those of the steps, and the value of a state does not contain the reward of arriving there (MuZero,
    /// Muesli, value prediction networks, TD-MPC2, DreamerV3)
    Transition,
    /// Rewards are those of the states, and the value of a state contains its own reward (DreamerV1, DreamerV2)
    State,
}

/// Names that results have, and that nothing in the file with the predictions may have.
pub const RESERVED: [&str; 6] = ["members", "k", "mean", "std", "relative", "score"];
/// The number of a state in results. A column of this name is left out.
const NUMBER: &str = "state";
/// Letters of the names of a file in a message.
const NAMES: usize = 100;
/// What is known of states and is no score: whole numbers that say which states belong together, and how wrong a value was.
pub const NO_SCORES: [&str; 2] = ["episode", "error"];
/// Names of predictions.
const PREDICTIONS: [&str; 3] = ["rewards", "values", "discounts"];

/// A file of any of the kinds.
#[derive(Debug)]
pub enum Logged {
    /// NPY.
    One(Array),
    /// NPZ.
    Several(Vec<(String, Array)>),
    /// CSV or Parquet.
    Table(Box<dyn Rows>),
}

impl std::fmt::Debug for dyn Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Logged {
    /// Opens a file; its first bytes say what it is.
    pub fn open(path: &Path) -> Outcome<Self> {
        let name = path.display().to_string();
        let bytes = Bytes::open(path)?;
        let unreadable = |e: std::io::Error| Failure::io(format!("cannot read {name}: {e}"));
        let mut reader = bytes.reader().map_err(unreadable)?;
        let start = npz::start(reader.as_mut()).map_err(unreadable)?;
        if npz::is_archive(&start) {
            return Ok(Self::Several(npz::open(&name, &bytes)?));
        }
        if start.starts_with(b"\x93NUMPY") {
            let length = bytes.length().map_err(unreadable)?;
            return Ok(Self::One(Array::open(name, reader, 0, length)?));
        }
        if start.starts_with(b"PAR1") {
            return super::parquet::open(&name, bytes).map(Self::Table);
        }
        if path
            .extension()
            .is_some_and(|e| ["npy", "npz", "parquet"].iter().any(|known| e.eq_ignore_ascii_case(known)))
        {
            return Err(Failure::data(format!(
                "{name} does not begin as its ending says; it is damaged, or something else"
            )));
        }
        Ok(Self::Table(Box::new(Csv::open(&name, reader)?)))
    }

    /// Whether there are rewards and values in it.
    pub fn has_predictions(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Several(arrays) => {
                ["rewards", "values"].iter().all(|name| arrays.iter().any(|a| a.0 == *name))
            }
            Self::Table(rows) => rows.names().iter().any(|name| name == "value_0"),
        }
    }
}

/// Where predictions are, as the user says it.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// One file with everything.
    pub file: Option<&'a Path>,
    /// Files with one array each.
    pub rewards: Option<&'a Path>,
    /// As above.
    pub values: Option<&'a Path>,
    /// As above.
    pub discounts: Option<&'a Path>,
    /// Which reward belongs to which state.
    pub convention: Option<Convention>,
}

/// Predictions for some states.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// How many states.
    pub width: usize,
    /// `[k, width]`
    pub rewards: Vec<f64>,
    /// `[k + 1, width]`
    pub values: Vec<f64>,
    /// `[k, width]`, if there are any.
    pub discounts: Option<Vec<f64>>,
    /// Columns that travel along, such as `episode`.
    pub carried: Vec<Vec<f64>>,
}

/// Predictions, from the first state to the last.
#[derive(Debug)]
pub struct Source {
    /// How many steps the paths have.
    pub horizon: usize,
    /// Names of the columns that travel along.
    pub carried: Vec<String>,
    /// Whether there are discounts.
    pub has_discounts: bool,
    inner: Inner,
}

/// Something that makes predictions when they are asked for.
pub trait Maker: std::fmt::Debug {
    /// The predictions for the next states, at most so many; none at the end. There are discounts in them.
    fn next(&mut self, most: usize) -> Outcome<Option<Chunk>>;
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Inner {
    Arrays {
        rewards: Array,
        rows: Range<usize>,
        values: Array,
        discounts: Option<Array>,
        carried: Vec<Array>,
        at: usize,
    },
    Table {
        rows: Box<dyn Rows>,
        layout: Layout,
    },
    Made(Box<dyn Maker>),
}

/// Where the columns of a table are.
#[derive(Debug)]
struct Layout {
    rewards: Vec<usize>,
    values: Vec<usize>,
    discounts: Vec<usize>,
    carried: Vec<usize>,
}

impl Source {
    /// Opens predictions where the user says they are.
    pub fn open(place: &Place<'_>) -> Outcome<Self> {
        match (place.file, place.rewards, place.values) {
            (Some(file), None, None) => Self::of(file, Logged::open(file)?, place.convention),
            (None, Some(rewards), Some(values)) => {
                let discounts = place.discounts.map(|path| array(path, "discounts")).transpose()?;
                Self::of_arrays(
                    array(rewards, "rewards")?,
                    array(values, "values")?,
                    discounts,
                    Vec::new(),
                    place.convention,
                )
            }
            _ => Err(Failure::usage(
                "name a file with rewards and values (NPZ, CSV, Parquet), or both --rewards and --values (NPY)",
            )),
        }
    }

    /// Predictions of paths of so many steps that are made when they are asked for.
    pub fn made(horizon: usize, carried: Vec<String>, maker: Box<dyn Maker>) -> Outcome<Self> {
        refuse_reserved(&carried)?;
        Ok(Self { horizon, carried, has_discounts: true, inner: Inner::Made(maker) })
    }

    /// The predictions in a file that is open.
    pub fn of(file: &Path, logged: Logged, convention: Option<Convention>) -> Outcome<Self> {
        match logged {
            Logged::Several(arrays) => Self::of_archive(file, arrays, convention),
            Logged::Table(rows) => Self::of_table(file, rows, convention),
            Logged::One(_) => {
                let file = file.display();
                Err(Failure::usage(format!("{file} holds one array; name two with --rewards and --values")))
            }
        }
    }

    fn of_archive(
        file: &Path,
        arrays: Vec<(String, Array)>,
        convention: Option<Convention>,
    ) -> Outcome<Self> {
        let mut found: [Option<Array>; 3] = [None, None, None];
        let mut others = Vec::new();
        for (name, array) in arrays {
            match PREDICTIONS.iter().position(|p| *p == name) {
                Some(i) => found[i] = Some(array),
                None => others.push((name, array)),
            }
        }
        let [Some(rewards), Some(values), discounts] = found else {
            let there = found.iter().zip(PREDICTIONS).filter_map(|(f, name)| f.as_ref().map(|_| name));
            let there: Vec<&str> = there.chain(others.iter().map(|(name, _)| name.as_str())).collect();
            return Err(missing(file, "the arrays `rewards` [k, batch] and `values` [k + 1, batch]", &there));
        };
        Self::of_arrays(rewards, values, discounts, others, convention)
    }

    fn of_arrays(
        rewards: Array,
        values: Array,
        discounts: Option<Array>,
        others: Vec<(String, Array)>,
        convention: Option<Convention>,
    ) -> Outcome<Self> {
        let ((steps, batch), (states, width)) = (rewards.size(), values.size());
        let shapes =
            format!("rewards are {}, values {}", shape(&rewards.header.shape), shape(&values.header.shape));
        if batch != width || states == 0 {
            let turned = steps == states && width == batch + 1;
            let hint = if turned { ": the other way round, so save both with .T" } else { "" };
            return Err(Failure::data(format!("{shapes}; they must be [k, batch] and [k + 1, batch]{hint}")));
        }
        let horizon = states - 1;
        let rows = reward_rows(steps, horizon, convention)
            .map_err(|reason| Failure::data(format!("{shapes}{reason}")))?;
        if let Some(discounts) = &discounts
            && discounts.size() != (horizon, batch)
        {
            let theirs = shape(&discounts.header.shape);
            return Err(Failure::data(format!(
                "{shapes}, but discounts {theirs}; they must be [k, batch], one for each step"
            )));
        }
        let along = |(name, array): &(String, Array)| {
            array.axes() == 1 && array.size().0 == batch && !name.is_empty() && name != NUMBER
        };
        refuse_stray(&others, &along, batch)?;
        let (names, carried): (Vec<String>, Vec<Array>) = others.into_iter().filter(along).unzip();
        refuse_reserved(&names)?;
        Ok(Self {
            horizon,
            carried: names,
            has_discounts: discounts.is_some(),
            inner: Inner::Arrays { rewards, rows, values, discounts, carried, at: 0 },
        })
    }

    fn of_table(file: &Path, rows: Box<dyn Rows>, convention: Option<Convention>) -> Outcome<Self> {
        let names = rows.names();
        let at = |name: String| names.iter().position(|n| *n == name);
        let numbered = |word: &str, first: usize| {
            (first..).map_while(|i| at(format!("{word}_{i}"))).collect::<Vec<usize>>()
        };
        let values = numbered("value", 0);
        if values.is_empty() {
            let there: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(missing(file, "the columns value_0, value_1, … and reward_1, reward_2, …", &there));
        }
        let horizon = values.len() - 1;
        // reward_0 is that of the start state, which only some logs have.
        let rewards = numbered("reward", usize::from(at("reward_0".to_owned()).is_none()));
        let about = format!(
            "{} has {} rewards and {} values for each state",
            file.display(),
            rewards.len(),
            values.len()
        );
        let wanted = reward_rows(rewards.len(), horizon, convention)
            .map_err(|reason| Failure::data(format!("{about}{reason}")))?;
        let rewards = rewards[wanted].to_vec();
        let discounts = numbered("discount", 1);
        if !discounts.is_empty() && discounts.len() != horizon {
            return Err(Failure::data(format!(
                "{about}, but {} discounts; there must be one for each step",
                discounts.len()
            )));
        }
        let carried: Vec<usize> =
            (0..names.len()).filter(|&i| !is_prediction(&names[i]) && names[i] != NUMBER).collect();
        let carried_names: Vec<String> = carried.iter().map(|&i| names[i].clone()).collect();
        refuse_reserved(&carried_names)?;
        let has_discounts = !discounts.is_empty();
        let layout = Layout { rewards, values, discounts, carried };
        Ok(Self { horizon, carried: carried_names, has_discounts, inner: Inner::Table { rows, layout } })
    }

    /// The predictions for the next states, at most so many; none at the end.
    pub fn next(&mut self, most: usize) -> Outcome<Option<Chunk>> {
        match &mut self.inner {
            Inner::Arrays { rewards, rows, values, discounts, carried, at } => {
                let columns = *at..values.size().1.min(*at + most);
                *at = columns.end;
                if columns.is_empty() {
                    return Ok(None);
                }
                Ok(Some(Chunk {
                    width: columns.len(),
                    rewards: rewards.part(rows.clone(), columns.clone())?,
                    values: values.part(0..self.horizon + 1, columns.clone())?,
                    discounts: discounts
                        .as_mut()
                        .map(|d| d.part(0..self.horizon, columns.clone()))
                        .transpose()?,
                    carried: carried
                        .iter_mut()
                        .map(|a| a.part(columns.clone(), 0..1))
                        .collect::<Outcome<_>>()?,
                }))
            }
            Inner::Made(maker) => maker.next(most),
            Inner::Table { rows, layout } => {
                let Some(columns) = rows.next(most)? else { return Ok(None) };
                let take = |which: &[usize]| {
                    which.iter().flat_map(|&i| columns[i].iter().copied()).collect::<Vec<f64>>()
                };
                Ok(Some(Chunk {
                    width: columns[0].len(),
                    rewards: take(&layout.rewards),
                    values: take(&layout.values),
                    discounts: self.has_discounts.then(|| take(&layout.discounts)),
                    carried: layout.carried.iter().map(|&i| columns[i].clone()).collect(),
                }))
            }
        }
    }
}

/// The rows of the rewards that count, when there are `steps` rows and values of `horizon` + 1 states.
fn reward_rows(steps: usize, horizon: usize, convention: Option<Convention>) -> Result<Range<usize>, String> {
    match (steps, convention) {
        (n, None) if n == horizon => Ok(0..horizon),
        (n, Some(_)) if n == horizon => Err(
            ": a reward for each step, so the choice has been made already, and --convention would change nothing; leave it out \
             (docs/traps.md)"
                .to_owned(),
        ),
        (n, Some(Convention::State)) if n == horizon + 1 => Ok(0..horizon),
        (n, Some(Convention::Transition)) if n == horizon + 1 => Ok(1..horizon + 1),
        (n, None) if n == horizon + 1 => Err(
            ": a reward for each state. Say which belongs to the value: --convention transition or state (docs/traps.md)"
                .to_owned(),
        ),
        _ => Err("; there must be one value more than rewards".to_owned()),
    }
}

/// Episodes and errors that do not fit the states would be missed without a word, and with them what a guard promises.
pub fn refuse_stray(
    others: &[(String, Array)],
    along: &impl Fn(&(String, Array)) -> bool,
    batch: usize,
) -> Outcome {
    match others.iter().find(|other| NO_SCORES.contains(&other.0.as_str()) && !along(other)) {
        None => Ok(()),
        Some((name, array)) => {
            let shape = shape(&array.header.shape);
            Err(Failure::data(format!(
                "`{name}` is {shape}; it must be [{batch}], one number for each state"
            )))
        }
    }
}

fn refuse_reserved(names: &[String]) -> Outcome {
    let is_member = |name: &str| name.strip_prefix("member_").is_some_and(|k| k.parse::<usize>().is_ok());
    let taken = |name: &&String| RESERVED.contains(&name.as_str()) || is_member(name);
    if let Some(name) = names.iter().find(taken) {
        return Err(Failure::data(format!(
            "the predictions come with `{name}`, a name that results have; rename it"
        )));
    }
    match names.iter().find(|name| name.contains([',', '"', '\n', '\r'])) {
        Some(name) => {
            Err(Failure::data(format!("the predictions come with {name:?}: no name of a column; rename it")))
        }
        None => Ok(()),
    }
}

fn missing(file: &Path, what: &str, there: &[&str]) -> Failure {
    let mut names = there.join(", ");
    if let Some((end, _)) = names.char_indices().nth(NAMES) {
        names.truncate(end);
        names.push('…');
    }
    let names = if names.is_empty() { "nothing" } else { &names };
    Failure::data(format!("{} does not hold {what}; it has {names}", file.display()))
}

/// The one array of a file, or that of this name.
fn array(path: &Path, name: &str) -> Outcome<Array> {
    match Logged::open(path)? {
        Logged::One(array) => Ok(array),
        Logged::Several(arrays) => {
            let there: Vec<String> = arrays.iter().map(|a| a.0.clone()).collect();
            let there: Vec<&str> = there.iter().map(String::as_str).collect();
            let found = arrays.into_iter().find(|a| a.0 == name).map(|a| a.1);
            found.ok_or_else(|| missing(path, &format!("an array `{name}`"), &there))
        }
        Logged::Table(_) => Err(Failure::usage(format!(
            "{} is a table; name it alone, without --rewards and --values",
            path.display()
        ))),
    }
}

/// Columns of numbers with a name each, in memory: scores of states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// Names and numbers; all have the same length.
    pub columns: Vec<(String, Vec<f64>)>,
}

impl Columns {
    /// All columns of a file that is no longer than memory. The one array of an NPY file is called `std`.
    pub fn read(path: &Path, logged: Logged) -> Outcome<Self> {
        let columns = match logged {
            Logged::One(mut array) => vec![("std".to_owned(), array.all()?)],
            Logged::Several(arrays) => {
                let is_flat = |(_, array): &(String, Array)| array.axes() == 1;
                let most = arrays.iter().filter(|one| is_flat(one)).map(|(_, array)| array.size().0).max();
                refuse_stray(&arrays, &is_flat, most.unwrap_or(0))?;
                let flat = arrays.into_iter().filter(|one| is_flat(one) && one.0 != "k");
                flat.map(|(name, mut array)| Ok((name, array.all()?))).collect::<Outcome<Vec<_>>>()?
            }
            Logged::Table(mut rows) => {
                let mut columns: Vec<(String, Vec<f64>)> =
                    rows.names().iter().map(|n| (n.clone(), Vec::new())).collect();
                while let Some(part) = rows.next(1 << 16)? {
                    columns.iter_mut().zip(part).for_each(|(column, part)| column.1.extend(part));
                }
                columns.retain(|(name, _)| name != "state" && !name.starts_with("member_"));
                columns
            }
        };
        let (Some(first), name) = (columns.first(), path.display()) else {
            return Err(Failure::data(format!("{} holds no scores: no array with one axis", path.display())));
        };
        if let Some(other) = columns.iter().find(|c| c.1.len() != first.1.len()) {
            let (a, b) = (&first.0, &other.0);
            let lengths = (first.1.len(), other.1.len());
            return Err(Failure::data(format!(
                "{name}: `{a}` has {} numbers, `{b}` {}",
                lengths.0, lengths.1
            )));
        }
        Ok(Self { columns })
    }

    /// The column with this name.
    pub fn get(&self, name: &str) -> Option<&[f64]> {
        self.columns.iter().find(|c| c.0 == name).map(|c| c.1.as_slice())
    }

    /// The names, for messages.
    pub fn names(&self) -> String {
        self.columns.iter().map(|c| c.0.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.columns.first().map_or(0, |c| c.1.len())
    }

    /// The episode of each state, if the file says it.
    pub fn episodes(&self, file: &Path) -> Outcome<Option<Vec<usize>>> {
        let Some(episodes) = self.get("episode") else { return Ok(None) };
        let number = |&x: &f64| {
            if x.fract() == 0.0 && x.abs() < 2f64.powi(53) { Ok(x as i64 as usize) } else { Err(x) }
        };
        let found: Result<Vec<usize>, f64> = episodes.iter().map(number).collect();
        found
            .map(Some)
            .map_err(|x| Failure::data(format!("{}: {x} is no number of an episode", file.display())))
    }
}
