//! Predictions of a model in ONNX files, made a part of the states at a time.

use std::path::PathBuf;

use clap::Args;

#[cfg(not(feature = "onnx"))]
use super::source::Source;
use crate::count::count;
use crate::exit::{Failure, Outcome};

/// Which model, and how far it looks.
#[derive(Args, Clone, Debug)]
pub struct ModelArgs {
    /// A folder of ONNX graphs with a model.toml, which makes the predictions
    #[arg(long, value_name = "DIR", requires = "states", conflicts_with_all = ["file", "rewards", "values", "discounts", "gamma", "convention"])]
    pub model: Option<PathBuf>,
    /// Observations or states to start from, NPY; or NPZ with an array for each name of the model
    #[arg(long, value_name = "FILE", requires = "model")]
    pub states: Option<PathBuf>,
    /// How many steps the model looks ahead
    #[arg(long, value_name = "N", requires = "model", default_value_t = 5, value_parser = steps)]
    pub horizon: usize,
    /// Score every pair of a state and an action; members are k = 1..N
    #[arg(long, requires = "model")]
    pub actions: bool,
    /// Rollouts that are averaged, for models that draw random numbers
    #[arg(long, value_name = "N", requires = "model", value_parser = count::<usize>(1, 1_000_000))]
    samples: Option<usize>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", requires = "model", default_value_t = 0)]
    seed: u64,
}

fn steps(text: &str) -> Result<usize, String> {
    let n = text.parse().map_err(|_| "expected a number of steps".to_owned())?;
    if (1..=ive::MAX_HORIZON).contains(&n) {
        Ok(n)
    } else {
        Err(format!("{n} is outside the range 1 to {}", ive::MAX_HORIZON))
    }
}

#[cfg(not(feature = "onnx"))]
impl ModelArgs {
    /// There is no engine in this build.
    pub fn open(&self) -> Outcome<Source> {
        Err(Failure::usage("this build cannot run ONNX models; build it with the feature `onnx`"))
    }
}

#[cfg(feature = "onnx")]
mod live {
    use ive::{Rng, Rollout, branch, unroll};
    use ive_onnx::{Actions, OnnxError, OnnxModel, States, score, score_actions};

    use super::super::npy::{Array, shape};
    use super::super::source::{Chunk, Logged, Maker, Source, refuse_stray};
    use super::{Failure, ModelArgs, Outcome};

    /// States that are rolled out at a time: enough for the engine, few enough for the memory.
    const ROWS: usize = 4096;

    impl ModelArgs {
        /// The predictions of the model for the states.
        pub fn open(&self) -> Outcome<Source> {
            let (Some(folder), Some(file)) = (&self.model, &self.states) else {
                return Err(Failure::usage("--model and --states go together"));
            };
            let model = OnnxModel::open(folder).map_err(|e| failure(&folder.display().to_string(), &e))?;
            let samples = match (model.is_stochastic(), self.samples) {
                (true, None) => {
                    let message = "the model or its policy draws random numbers; say how many rollouts are averaged, for instance --samples 100 (docs/traps.md)";
                    return Err(Failure::usage(message));
                }
                (_, samples) => samples.unwrap_or(1),
            };
            if self.actions && model.num_actions().is_none() {
                return Err(Failure::usage("--actions: the actions of the model have no numbers"));
            }
            let mut inputs = Inputs::open(&model, file)?;
            let mut carried = std::mem::take(&mut inputs.names);
            carried.extend(self.actions.then(|| "action".to_owned()));
            let maker = Live {
                model,
                inputs,
                horizon: self.horizon,
                actions: self.actions,
                samples,
                rng: Rng::from_seed(self.seed),
                at: 0,
            };
            Source::made(self.horizon, carried, Box::new(maker))
        }
    }

    fn failure(folder: &str, error: &OnnxError) -> Failure {
        let message = format!("{folder}: {error}");
        match error {
            OnnxError::Read { .. } => Failure::io(message),
            OnnxError::Settings { .. } => Failure::config(message),
            _ => Failure::data(message),
        }
    }

    /// The arrays that the model starts from, and those that travel along.
    #[derive(Debug)]
    struct Inputs {
        /// With the axis that counts states.
        arrays: Vec<(Array, usize)>,
        batch: usize,
        carried: Vec<Array>,
        names: Vec<String>,
    }

    impl Inputs {
        fn open(model: &OnnxModel, file: &std::path::Path) -> Outcome<Self> {
            let wanted: Vec<(String, usize)> = match &model.settings().representation {
                Some(section) => vec![(section.observation.clone(), 0)],
                None => model
                    .settings()
                    .states
                    .iter()
                    .map(|(name, state)| (name.clone(), state.batch_axis))
                    .collect(),
            };
            let (name, mut others) = (file.display(), Vec::new());
            let arrays = match Logged::open(file)? {
                Logged::One(array) if wanted.len() == 1 => vec![(array, wanted[0].1)],
                Logged::Several(mut all) => {
                    let mut arrays = Vec::new();
                    for (array, axis) in &wanted {
                        let at = all.iter().position(|a| a.0 == *array);
                        let at =
                            at.ok_or_else(|| Failure::data(format!("{name} holds no array `{array}`")))?;
                        arrays.push((all.remove(at).1, *axis));
                    }
                    others = all;
                    arrays
                }
                _ => {
                    let names: Vec<&str> = wanted.iter().map(|w| w.0.as_str()).collect();
                    return Err(Failure::data(format!(
                        "{name}: an NPZ file with {} is needed",
                        names.join(", ")
                    )));
                }
            };
            let mut batch = None;
            for (array, axis) in &arrays {
                let rows = array.header.shape.get(*axis).copied();
                if *axis > 1 || rows.is_none() || batch.is_some_and(|other| Some(other) != rows) {
                    let shape = shape(&array.header.shape);
                    return Err(Failure::data(format!(
                        "{}: {shape} does not have the states at axis {axis}",
                        array.name
                    )));
                }
                batch = rows;
            }
            let batch = batch.unwrap_or(0);
            let along = |(_, array): &(String, Array)| array.axes() == 1 && array.size().0 == batch;
            refuse_stray(&others, &along, batch)?;
            let (names, carried) = others.into_iter().filter(along).unzip();
            Ok(Self { arrays, batch, carried, names })
        }

        /// Some states as the model takes them.
        fn part(&mut self, model: &OnnxModel, at: usize, count: usize) -> Outcome<States> {
            let mut arrays = Vec::with_capacity(self.arrays.len());
            for (array, axis) in &mut self.arrays {
                let mut shape = array.header.shape.clone();
                let inner: usize = shape[*axis + 1..].iter().product();
                shape[*axis] = count;
                let numbers = if *axis == 0 {
                    array.part(at..at + count, 0..inner)?
                } else {
                    array.part(0..shape[0], at * inner..(at + count) * inner)?
                };
                let numbers = numbers.into_iter().map(|x| x as f32).collect();
                let built = ive_onnx::Array::new(shape, numbers);
                arrays.push(built.map_err(|e| Failure::data(format!("{}: {e}", array.name)))?);
            }
            let states = if model.settings().representation.is_some() {
                model.encode(&arrays[0])
            } else {
                model.states(&arrays)
            };
            states.map_err(|e| failure(&self.arrays[0].0.name, &e))
        }
    }

    /// A model that is rolled out when predictions are asked for.
    #[derive(Debug)]
    struct Live {
        model: OnnxModel,
        inputs: Inputs,
        horizon: usize,
        actions: bool,
        samples: usize,
        rng: Rng,
        at: usize,
    }

    impl Maker for Live {
        fn next(&mut self, most: usize) -> Outcome<Option<Chunk>> {
            let count = most.min(ROWS).min(self.inputs.batch - self.at);
            if count == 0 {
                return Ok(None);
            }
            let start = self.inputs.part(&self.model, self.at, count)?;
            let mut chunk = self.predict(&start).map_err(|e| {
                Failure::data(format!("the model, asked about states from {} on: {e}", self.at))
            })?;
            let times = chunk.width / count;
            for array in &mut self.inputs.carried {
                let numbers = array.part(self.at..self.at + count, 0..1)?;
                chunk.carried.push(numbers.iter().flat_map(|x| std::iter::repeat_n(*x, times)).collect());
            }
            if self.actions {
                chunk.carried.push((0..chunk.width).map(|pair| (pair % times) as f64).collect());
            }
            self.at += count;
            Ok(Some(chunk))
        }
    }

    impl Live {
        fn predict(&mut self, start: &States) -> ive::Result<Chunk> {
            let (model, n, rng) = (&self.model, self.horizon, &mut self.rng);
            if self.samples > 1 {
                let scored = if self.actions {
                    score_actions(model, start, n, self.samples, rng)?
                } else {
                    score(model, start, n, self.samples, rng)?
                };
                return Ok(averaged(&scored.ensemble, n));
            }
            let paths = if self.actions {
                let count = model.num_actions().unwrap_or(0);
                let each: Vec<Actions> =
                    (0..count).map(|a| Actions::Discrete(vec![a; start.len()])).collect();
                branch(model, model, model, start, &each, n, rng)?
            } else {
                vec![unroll::<States, Actions>(model, model, model, start.clone(), n, rng)?]
            };
            Ok(side_by_side(&paths))
        }
    }

    /// Paths from the same states, pairs in the order `s·A + a`.
    fn side_by_side(paths: &[Rollout]) -> Chunk {
        let (batch, n) = (paths[0].batch(), paths[0].horizon());
        let mix =
            |of: &dyn Fn(&Rollout, usize) -> Vec<f64>, ks: std::ops::RangeInclusive<usize>| -> Vec<f64> {
                let mut all = Vec::with_capacity((n + 1) * batch * paths.len());
                for k in ks {
                    let rows: Vec<Vec<f64>> = paths.iter().map(|path| of(path, k)).collect();
                    all.extend((0..batch).flat_map(|s| rows.iter().map(move |row| row[s])));
                }
                all
            };
        Chunk {
            width: batch * paths.len(),
            rewards: mix(&|path, k| path.rewards(k).to_vec(), 1..=n),
            values: mix(&|path, k| path.values(k).to_vec(), 0..=n),
            discounts: Some(mix(&|path, k| path.discounts(k).to_vec(), 1..=n)),
            carried: Vec::new(),
        }
    }

    /// Members that are known already, as predictions that lead to them: the value behind k steps is the k-step value, and the
    /// steps pay nothing. An ensemble of pairs has no member 0; what stands there is not scored.
    fn averaged(ensemble: &ive::ValueEnsemble, horizon: usize) -> Chunk {
        let width = ensemble.states();
        let mut values = vec![0.0; (horizon + 1 - ensemble.size()) * width];
        ensemble.members().for_each(|member| values.extend_from_slice(member));
        Chunk {
            width,
            rewards: vec![0.0; horizon * width],
            values,
            discounts: Some(vec![1.0; horizon * width]),
            carried: Vec::new(),
        }
    }
}
