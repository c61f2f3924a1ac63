//! Settings of the table of the walker, and the runs that they ask for.

use ive_agents::dreamer::Ascent;
use ive_envs::walker::Task;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::published::Method;
use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::{Request, resolve};
use crate::settings::{Change, named, range};

/// All settings; the presets say where each number comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub task: String,
    pub observation: String,
    pub thresholds: Vec<f64>,
    pub methods: Vec<String>,
    pub seeds: u64,
    pub steps: u64,
    pub agent_preset: String,
    pub beta_ive: f64,
    pub beta_eve: f64,
    pub beta_emve: f64,
    pub plan_step: f64,
    pub plan_ascent: Ascent,
    pub focus: f64,
    pub betas: Vec<f64>,
    pub plan_steps: Vec<f64>,
    pub log_every: u64,
    pub greedy_episodes: u64,
    pub found: f64,
    pub solved: f64,
    pub curve_points: u64,
}

/// One run: a method at a threshold with a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// η.
    pub threshold: f64,
    pub method: Method,
    /// β; 0 for methods without σ.
    pub beta: f64,
    /// The step of gradient plans; 0 for methods without.
    pub step: f64,
    /// How they follow the gradient; the default for methods without.
    pub ascent: Ascent,
    pub seed: u64,
}

impl Cell {
    /// `mu-sigma-ive,beta=0.1,step=0.1`: the method with what it depends on; `,unit` if plans follow directions.
    pub fn variant(&self) -> String {
        let beta = if self.method.seeks() { format!(",beta={}", self.beta) } else { String::new() };
        let step = if self.method.climbs() { format!(",step={}", self.step) } else { String::new() };
        let unit = if self.ascent == Ascent::Unit { ",unit" } else { "" };
        format!("{}{beta}{step}{unit}", self.method.word())
    }
}

/// Refuses a list with a number outside of a range, or with the same number twice.
fn numbers(field: &str, list: &[f64], min: f64, max: f64) -> Outcome {
    for (i, x) in list.iter().enumerate() {
        range(field, *x, min, max)?;
        if list[..i].contains(x) {
            return Err(Failure::config(format!("{field}: {x} is there twice")));
        }
    }
    Ok(())
}

impl Settings {
    /// The settings, if every one is in its range.
    pub fn checked(self) -> Outcome<Self> {
        named("walker.task", std::slice::from_ref(&self.task), &Task::ALL.map(|t| (t.name(), t)))?;
        numbers("walker.thresholds", &self.thresholds, 0.0, 1.0)?;
        if self.thresholds.is_empty() {
            return Err(Failure::config("walker.thresholds: at least one is needed".to_owned()));
        }
        for (key, beta) in
            [("beta_ive", self.beta_ive), ("beta_eve", self.beta_eve), ("beta_emve", self.beta_emve)]
        {
            range(&format!("walker.{key}"), beta, -1e6, 1e6)?;
        }
        range("walker.plan_step", self.plan_step, 0.0, 1e3)?;
        range("walker.focus", self.focus, 0.0, 1.0)?;
        numbers("walker.betas", &self.betas, -1e6, 1e6)?;
        numbers("walker.plan_steps", &self.plan_steps, 0.0, 1e3)?;
        range("walker.seeds", self.seeds as f64, 1.0, 1000.0)?;
        range("walker.steps", self.steps as f64, 1.0, 1e10)?;
        range("walker.log_every", self.log_every as f64, 1.0, 1e10)?;
        range("walker.greedy_episodes", self.greedy_episodes as f64, 1.0, 1e5)?;
        range("walker.found", self.found, 0.0, 1000.0)?;
        range("walker.solved", self.solved, 0.0, 1000.0)?;
        range("walker.curve_points", self.curve_points as f64, 2.0, 1e4)?;
        let first = self.thresholds[0];
        self.methods()?
            .into_iter()
            .try_for_each(|method| self.plan(&self.cell(first, method, 0)).map(|_| ()))?;
        Ok(self)
    }

    /// What every run depends on. The rest is in the name of a run, or leaves finished ones as good as they are.
    pub fn identity(&self) -> Value {
        json!({
            "observation": self.observation,
            "steps": self.steps,
            "agent_preset": self.agent_preset,
            "log_every": self.log_every,
            "greedy_episodes": self.greedy_episodes,
        })
    }

    /// The methods, in the order of the table.
    pub fn methods(&self) -> Outcome<Vec<Method>> {
        let mut methods = named("walker.methods", &self.methods, &Method::ALL.map(|m| (m.word(), m)))?;
        methods.sort_unstable();
        Ok(methods)
    }

    /// β of a method; 0 for those without σ.
    pub fn beta(&self, method: Method) -> f64 {
        match method {
            Method::MuSigma | Method::MuSigmaSample => self.beta_ive,
            Method::Eve => self.beta_eve,
            Method::Emve => self.beta_emve,
            Method::Dreamer | Method::DreamerPlan | Method::Mu => 0.0,
        }
    }

    /// A run of the table itself.
    pub fn cell(&self, threshold: f64, method: Method, seed: u64) -> Cell {
        let (step, ascent) =
            if method.climbs() { (self.plan_step, self.plan_ascent) } else { (0.0, Ascent::default()) };
        Cell { threshold, method, beta: self.beta(method), step, ascent, seed }
    }

    /// Whether a run belongs to the table itself.
    pub fn is_main(&self, cell: &Cell) -> bool {
        self.thresholds.contains(&cell.threshold)
            && *cell == self.cell(cell.threshold, cell.method, cell.seed)
    }

    /// What a run is: the preset of the agent with the behaviour of its method.
    pub fn plan(&self, cell: &Cell) -> Outcome<Plan> {
        let mut changes: Vec<String> = cell.method.behaviour().map(str::to_owned).to_vec();
        changes.push(format!("beta={}", cell.beta));
        changes.push(format!("log_every={}", self.log_every));
        if cell.method.climbs() {
            changes.push(format!("plan_step={}", cell.step));
            changes.push(format!("plan_ascent={}", cell.ascent.word()));
        }
        let changes = changes.iter().map(|c| Change::parse(c)).collect::<Result<Vec<Change>, String>>();
        let mut options = vec![("threshold", cell.threshold.to_string())];
        if self.observation != "state" {
            options.push(("observation", self.observation.clone()));
        }
        resolve(&Request {
            agent: "dreamer",
            preset: &self.agent_preset,
            world: &format!("walker:{}", self.task),
            options: options.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            greedy_episodes: Some(self.greedy_episodes as usize),
            seed: cell.seed,
            steps: Some(self.steps),
            changes: &changes.map_err(Failure::internal)?,
            ..Request::default()
        })
        .map_err(|e| Failure::config(format!("walker, {}: {}", cell.method.word(), e.message)))
    }

    /// The other β and steps of plans, at one threshold, each with what it changes: β first, then steps.
    pub fn variations(&self) -> Vec<Cell> {
        let base = self.cell(self.focus, Method::MuSigma, 0);
        let betas = self.betas.iter().map(|&beta| Cell { beta, ..base });
        betas.chain(self.plan_steps.iter().map(|&step| Cell { step, ..base })).collect()
    }

    /// All runs, seed by seed, so that a sweep that was stopped is fair to all methods and thresholds.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let methods = self.methods()?;
        let mut cells: Vec<Cell> = Vec::new();
        for seed in 0..self.seeds {
            let table = self
                .thresholds
                .iter()
                .flat_map(|&threshold| methods.iter().map(move |&method| self.cell(threshold, method, seed)));
            let others = self.variations().into_iter().map(|cell| Cell { seed, ..cell });
            for cell in table.chain(others) {
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Settings {
        toml::from_str(include_str!("../../../presets/walker.small.toml")).unwrap()
    }

    #[test]
    fn variations_that_are_in_the_table_already_are_one_run() {
        let settings = Settings { seeds: 2, ..small() };
        let table = settings.cells().unwrap().len();
        assert_eq!(table, 2 * settings.thresholds.len() * settings.methods.len());
        let more = Settings { betas: vec![0.1, 1.0, 10.0], plan_steps: vec![0.1, 0.3], ..settings };
        let cells = more.cells().unwrap();
        assert_eq!(cells.len(), table + 2 * 3, "two β and a step are new");
        let names: Vec<String> = cells.iter().map(Cell::variant).collect();
        for name in
            ["dreamer", "mu-ive,step=0.1", "mu-sigma-ive,beta=10,step=0.1", "mu-sigma-ive-sample,beta=0.1"]
        {
            assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
        }
        assert_eq!(cells.iter().filter(|cell| more.is_main(cell)).count(), table);
    }

    /// Plans that follow directions are other runs; Dreamer, which does not plan, is the same.
    #[test]
    fn directions_have_runs_of_their_own() {
        let settings = Settings { plan_ascent: Ascent::Unit, beta_ive: 10.0, ..small() };
        let [plain, plan] = [Method::Dreamer, Method::MuSigma].map(|m| settings.cell(0.7, m, 0));
        assert_eq!(plain.variant(), "dreamer");
        assert_eq!(plan.variant(), "mu-sigma-ive,beta=10,step=0.1,unit");
        assert_eq!(settings.plan(&plan).unwrap().settings["plan_ascent"].as_str(), Some("unit"));
        assert_eq!(
            settings.plan(&plain).unwrap(),
            small().plan(&small().cell(0.7, Method::Dreamer, 0)).unwrap()
        );
    }

    #[test]
    fn thresholds_and_steps_out_of_range_are_refused_with_their_name() {
        let refused = |change: &dyn Fn(&mut Settings)| {
            let mut settings = small();
            change(&mut settings);
            settings.checked().unwrap_err()
        };
        for (change, words) in [
            (
                &(|s: &mut Settings| s.thresholds = vec![0.3, 1.5]) as &dyn Fn(&mut Settings),
                "walker.thresholds: 1.5",
            ),
            (&|s: &mut Settings| s.thresholds.clear(), "walker.thresholds: at least one"),
            (&|s: &mut Settings| s.thresholds = vec![0.3, 0.3], "walker.thresholds: 0.3 is there twice"),
            (&|s: &mut Settings| s.betas = vec![f64::NAN], "walker.betas: NaN"),
            (&|s: &mut Settings| s.plan_step = -1.0, "walker.plan_step: -1"),
            (&|s: &mut Settings| s.task = "fly".to_owned(), "walker.task: there is no `fly`"),
        ] {
            let failure = refused(change);
            assert!(failure.code == 78 && failure.message.starts_with(words), "{}", failure.message);
        }
    }
}
