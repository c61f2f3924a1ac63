//! `sweep.toml`: which runs somebody asks for, and all of them as tasks.
//!
//! Agents × environments × combinations of settings × seeds. Every run is what `ive train` would make of the same words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use toml::{Table, Value};

use super::manifest::Draft;
use super::name::component;
use super::task::Task;
use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::{AGENTS, Request, resolve};
use crate::settings::{Change, suggest};

/// The most tasks that are planned without being asked twice.
pub const MANY: u64 = 10_000;
/// The most tasks of a sweep.
pub const MOST: u64 = 1_000_000;
/// As many lines a learning curve has at least, as with `ive train`.
const POINTS: u64 = 50;

const KEYS: [&str; 11] = [
    "agents",
    "environments",
    "seeds",
    "preset",
    "steps",
    "greedy_episodes",
    "device",
    "options",
    "set",
    "grid",
    "variants",
];

/// Settings that are changed together.
type Combination = Vec<(String, Value)>;

/// What a sweep file asks for.
#[derive(Debug)]
pub struct Grid {
    agents: Vec<String>,
    environments: Vec<(String, BTreeMap<String, String>)>,
    seeds: Vec<u64>,
    preset: String,
    steps: Option<u64>,
    greedy_episodes: usize,
    device: String,
    /// Settings of all runs, and by agent.
    set: Table,
    /// Settings with a list of values each.
    grid: Vec<(String, Vec<Value>)>,
    /// Combinations that are not to be crossed, each with a name.
    variants: Vec<(Option<String>, Combination)>,
}

fn wrong(what: impl std::fmt::Display) -> Failure {
    Failure::config(format!("sweep: {what}"))
}

/// A whole number; 2e6 is one, too.
fn whole(key: &str, value: &Value) -> Outcome<u64> {
    let number = match value {
        Value::Integer(n) => u64::try_from(*n).ok(),
        Value::Float(x) if x.fract() == 0.0 && (0.0..9e15).contains(x) => Some(*x as u64),
        _ => None,
    };
    number.ok_or_else(|| wrong(format!("`{key}` must be a whole number from 0, not `{value}`")))
}

fn list<'a>(key: &str, value: &'a Value) -> Outcome<&'a Vec<Value>> {
    match value {
        Value::Array(values) if values.is_empty() => {
            Err(wrong(format!("`{key}` is empty: there would be no task")))
        }
        Value::Array(values) => Ok(values),
        other => Err(wrong(format!("`{key}` must be a list, not `{other}`"))),
    }
}

fn word(key: &str, value: &Value) -> Outcome<String> {
    let must = || wrong(format!("`{key}` must be text in quotes, not `{value}`"));
    value.as_str().map(str::to_owned).ok_or_else(must)
}

fn table<'a>(key: &str, value: &'a Value) -> Outcome<&'a Table> {
    value.as_table().ok_or_else(|| wrong(format!("`{key}` must be a table, [{key}]")))
}

/// A value without the quotes of words.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn options(key: &str, value: &Value) -> Outcome<BTreeMap<String, String>> {
    Ok(table(key, value)?.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
}

impl Grid {
    /// Reads the file. Unknown keys, empty lists and wrong types are refused.
    pub fn read(file: &Table) -> Outcome<Self> {
        if let Some(key) = file.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let known = KEYS.map(str::to_owned);
            return Err(wrong(format!("there is no key `{key}`{}", suggest(key, known.iter()))));
        }
        let needed = |key: &str| file.get(key).ok_or_else(|| wrong(format!("`{key}` is needed")));
        let common = file.get("options").map_or(Ok(BTreeMap::new()), |value| options("options", value))?;
        let seeds = match needed("seeds")? {
            list @ Value::Array(_) => self::list("seeds", list)?
                .iter()
                .map(|seed| whole("seeds", seed))
                .collect::<Outcome<Vec<u64>>>()?,
            count => {
                let count = whole("seeds", count)?;
                if count > MOST {
                    return Err(too_many(count));
                }
                (0..count).collect()
            }
        };
        if seeds.is_empty() {
            return Err(wrong("`seeds` is 0: there would be no task"));
        }
        let words = |key: &str| {
            list(key, needed(key)?)?.iter().map(|item| word(key, item)).collect::<Outcome<Vec<_>>>()
        };
        let environment = |value: &Value| environment(value, &common);
        Ok(Self {
            agents: words("agents")?,
            environments: list("environments", needed("environments")?)?
                .iter()
                .map(environment)
                .collect::<Outcome<_>>()?,
            seeds,
            preset: file.get("preset").map_or(Ok("default".to_owned()), |value| word("preset", value))?,
            steps: file.get("steps").map(|value| whole("steps", value)).transpose()?,
            greedy_episodes: file
                .get("greedy_episodes")
                .map_or(Ok(100), |value| whole("greedy_episodes", value))?
                as usize,
            device: file.get("device").map_or(Ok("cpu".to_owned()), |value| word("device", value))?,
            set: file.get("set").map_or(Ok(Table::new()), |value| table("set", value).cloned())?,
            grid: grid(file)?,
            variants: variants(file)?,
        })
    }

    /// How many tasks there would be; none if that is no number any more.
    pub fn count(&self) -> Option<u64> {
        let sides =
            [self.agents.len(), self.environments.len(), self.seeds.len(), self.variants.len().max(1)];
        let product = |product: Option<u64>, side: usize| product?.checked_mul(side as u64);
        sides.into_iter().chain(self.grid.iter().map(|(_, values)| values.len())).fold(Some(1), product)
    }

    /// `2 agents × 3 environments × 4 settings × 10 seeds = 240 tasks`.
    pub fn words(&self) -> String {
        let settings: usize =
            self.grid.iter().map(|(_, values)| values.len()).product::<usize>() * self.variants.len().max(1);
        let side = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut sides = vec![side(self.agents.len(), "agent"), side(self.environments.len(), "environment")];
        if settings > 1 {
            sides.push(side(settings, "setting"));
        }
        sides.push(side(self.seeds.len(), "seed"));
        format!("{} = {} tasks", sides.join(" × "), self.count().unwrap_or(u64::MAX))
    }

    /// All tasks. More than [`MANY`] must be wanted.
    pub fn draft(&self, wanted: bool) -> Outcome<Draft> {
        let count = self.count().filter(|count| *count <= MOST);
        let count = count.ok_or_else(|| too_many(self.count().unwrap_or(u64::MAX)))?;
        if count > MANY && !wanted {
            return Err(Failure::usage(format!(
                "that is {}, and each has a directory of its own; add --yes if you mean it",
                self.words()
            )));
        }
        let keys = self
            .grid
            .iter()
            .map(|(key, _)| key)
            .chain(self.variants.iter().flat_map(|(_, settings)| settings.iter().map(|(key, _)| key)));
        let columns: BTreeSet<String> = keys.cloned().collect();
        let mut draft = Draft { columns: columns.into_iter().collect(), ..Draft::default() };
        let (mut hashes, mut places) = (HashMap::new(), BTreeSet::new());
        for (world, options) in &self.environments {
            for agent in &self.agents {
                for (label, settings) in self.combinations() {
                    let run = self.run(agent, (world, options), &settings)?;
                    let name = named(world, options, &run.agent, &label);
                    for &seed in &self.seeds {
                        let mut run = run.clone();
                        run.seed = seed;
                        let parts = name.iter().map(|part| component(part));
                        let place: Vec<String> = parts.chain([format!("seed-{seed}")]).collect();
                        let full = format!("{}/seed-{seed}", name.join("/"));
                        let mut task =
                            Task::new(draft.tasks, full, format!("runs/{}", place.join("/")), run)?;
                        if let Some(other) = hashes.insert(task.hash.clone(), draft.tasks) {
                            let (this, name) = (draft.tasks, task.name);
                            return Err(wrong(format!("tasks {other} and {this} are the same run ({name})")));
                        }
                        if !places.insert(task.dir.clone()) {
                            task.dir = format!("{}-{}", task.dir, &task.hash[..8]);
                        }
                        draft.lines += &task.line()?;
                        draft.tasks += 1;
                    }
                }
            }
        }
        debug_assert_eq!(draft.tasks, count);
        Ok(draft)
    }

    /// All combinations of settings, each with its name; one without a name if there is nothing to combine.
    fn combinations(&self) -> Vec<(String, Combination)> {
        let mut all: Vec<(Vec<String>, Combination)> = vec![(Vec::new(), Vec::new())];
        let labelled = |settings: &[(String, Value)]| {
            settings
                .iter()
                .map(|(key, value)| format!("{key}={}", plain(value)))
                .collect::<Vec<_>>()
                .join(",")
        };
        let cross = |all: Vec<(Vec<String>, Combination)>, side: &[(String, Combination)]| {
            let with = |(names, before): &(Vec<String>, Combination)| {
                let (names, before) = (names.clone(), before.clone());
                side.iter().map(move |(name, more)| {
                    ([names.clone(), vec![name.clone()]].concat(), [before.clone(), more.clone()].concat())
                })
            };
            all.iter().flat_map(with).collect::<Vec<_>>()
        };
        if !self.variants.is_empty() {
            let named = |(name, settings): &(Option<String>, Combination)| {
                (name.clone().unwrap_or_else(|| labelled(settings)), settings.clone())
            };
            all = cross(all, &self.variants.iter().map(named).collect::<Vec<_>>());
        }
        for (key, values) in &self.grid {
            let side: Vec<(String, Combination)> = values
                .iter()
                .map(|value| (key.clone(), value.clone()))
                .map(|pair| (labelled(std::slice::from_ref(&pair)), vec![pair]))
                .collect();
            all = cross(all, &side);
        }
        all.into_iter().map(|(names, settings)| (names.join(","), settings)).collect()
    }

    /// The run of a combination, with the first seed.
    fn run(
        &self,
        agent: &str,
        (world, options): (&str, &BTreeMap<String, String>),
        settings: &[(String, Value)],
    ) -> Outcome<Plan> {
        let is_agent = |key: &str| AGENTS.iter().any(|kind| kind.name == key);
        let common = self.set.iter().filter(|(key, _)| !is_agent(key));
        let own = self.set.get(agent).map(|value| table(agent, value)).transpose()?;
        let all = common.chain(own.into_iter().flatten()).map(|(key, value)| (key.clone(), value.clone()));
        let change = |(key, value): (String, Value)| {
            Change::parse(&format!("{key}={value}")).map_err(|e| wrong(format!("`{key}`: {e}")))
        };
        let changes = all.chain(settings.iter().cloned()).map(change).collect::<Outcome<Vec<Change>>>()?;
        let plan = resolve(&Request {
            agent,
            preset: &self.preset,
            world,
            options: options.clone(),
            seed: self.seeds[0],
            steps: self.steps,
            changes: &changes,
            device: Some(&self.device),
            greedy_episodes: Some(self.greedy_episodes),
            points: POINTS,
            ..Request::default()
        })
        .map_err(|e| Failure { message: format!("sweep, {agent} in {world}: {}", e.message), ..e })?;
        // Seeds differ, and nothing else does: the largest stands for all.
        let last = self.seeds.iter().copied().max().unwrap_or(0);
        Plan { seed: last, ..plan.clone() }.check()?;
        Ok(plan)
    }
}

fn too_many(count: u64) -> Failure {
    wrong(format!("that is {count} tasks; a sweep has {MOST} at most: make several"))
}

/// The parts of a name: environment with options, agent, settings.
fn named(world: &str, options: &BTreeMap<String, String>, agent: &str, label: &str) -> Vec<String> {
    let options: String = options.iter().map(|(key, value)| format!(",{key}={value}")).collect();
    let mut parts = vec![format!("{world}{options}"), agent.to_owned()];
    parts.extend((!label.is_empty()).then(|| label.to_owned()));
    parts
}

/// `"minatar:breakout"`, or `{ name = "minatar:breakout", options = { sticky = 0 } }`.
fn environment(
    value: &Value,
    common: &BTreeMap<String, String>,
) -> Outcome<(String, BTreeMap<String, String>)> {
    let Value::Table(about) = value else { return Ok((word("environments", value)?, common.clone())) };
    if let Some(key) = about.keys().find(|key| !["name", "options"].contains(&key.as_str())) {
        return Err(wrong(format!("an environment has no `{key}`; there are name, options")));
    }
    let name = about.get("name").ok_or_else(|| wrong("an environment needs a `name`"))?;
    let own = about.get("options").map_or(Ok(BTreeMap::new()), |value| options("options", value))?;
    Ok((word("name", name)?, common.clone().into_iter().chain(own).collect()))
}

fn grid(file: &Table) -> Outcome<Vec<(String, Vec<Value>)>> {
    let Some(value) = file.get("grid") else { return Ok(Vec::new()) };
    let grid = table("grid", value)?;
    if grid.is_empty() {
        return Err(wrong("`grid` is empty: give it a list of values for at least one setting"));
    }
    grid.iter()
        .map(|(key, values)| Ok((key.clone(), list(&format!("grid.{key}"), values)?.clone())))
        .collect()
}

fn variants(file: &Table) -> Outcome<Vec<(Option<String>, Combination)>> {
    let Some(value) = file.get("variants") else { return Ok(Vec::new()) };
    let one = |value: &Value| {
        let mut settings = table("variants", value)?.clone();
        let name = settings.remove("name").map(|name| word("name", &name)).transpose()?;
        Ok((name, settings.into_iter().collect()))
    };
    list("variants", value)?.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "\
agents = ['dqn', 'mu-ive']
environments = ['minatar:breakout', { name = 'minatar:freeway', options = { sticky = 0.5 } }]
seeds = 2
preset = 'smoke'
steps = 1e3
";

    fn tasks(text: &str) -> Outcome<Vec<Task>> {
        let draft = Grid::read(&text.parse().unwrap())?.draft(false)?;
        draft.lines.lines().enumerate().map(|(i, line)| Task::read(line, i as u64)).collect()
    }

    #[test]
    fn a_grid_is_every_combination_once() {
        let all = tasks(&format!("{SMALL}[grid]\ndiscount = [0.9, 0.99]\nlog_every = [50]\n")).unwrap();
        assert_eq!(all.len(), 2 * 2 * 2 * 2);
        let first = &all[0];
        assert_eq!(first.name, "minatar:breakout/dqn/discount=0.9,log_every=50/seed-0");
        assert_eq!(first.dir, "runs/minatar-breakout/dqn/discount=0.9,log_every=50/seed-0");
        assert_eq!((first.run.steps, first.run.greedy_episodes), (1000, 100));
        assert_eq!(first.run.settings["discount"], Value::Float(0.9));
        let last = all.last().unwrap();
        assert_eq!(last.name, "minatar:freeway,sticky=0.5/mu-ive/discount=0.99,log_every=50/seed-1");
        assert_eq!(last.run.options["sticky"], "0.5");
        let dirs: BTreeSet<&String> = all.iter().map(|task| &task.dir).collect();
        assert_eq!(dirs.len(), all.len());
    }

    #[test]
    fn variants_are_taken_as_they_are_and_settings_may_be_for_one_agent() {
        let text = format!(
            "{SMALL}variants = [{{ name = 'a \"b\" $(c)/β', discount = 0.5 }}, {{ target_every = 8, discount = 0.9 }}]\n\
             [set]\nlog_every = 77\n[set.dqn]\nreplay_capacity = 512\n"
        );
        let all = tasks(&text).unwrap();
        assert_eq!(all.len(), 16);
        assert!(all.iter().all(|task| task.run.settings["log_every"] == Value::Integer(77)));
        let capacity = |task: &Task| task.run.settings["replay_capacity"].as_integer();
        let of = |agent: &str| all.iter().find(|task| task.run.agent == agent).unwrap();
        assert_eq!(capacity(of("dqn")), Some(512));
        assert_ne!(capacity(of("mu-ive")), Some(512));
        assert!(all[0].name.contains("a \"b\" $(c)/β"));
        assert!(all[0].dir.is_ascii() && !all[0].dir.contains(['$', '"', ' ', '(']), "{}", all[0].dir);
        assert!(all[2].name.contains("discount=0.9,target_every=8"));
    }

    #[test]
    fn runs_are_those_of_ive_train() {
        let all = tasks(SMALL).unwrap();
        let plan = resolve(&Request {
            agent: "dqn",
            preset: "smoke",
            world: "minatar:breakout",
            seed: 1,
            steps: Some(1000),
            points: POINTS,
            ..Request::default()
        });
        assert_eq!(all[1].run, plan.unwrap());
    }

    #[test]
    fn mistakes_are_named() {
        let with = |from: &str, to: &str| tasks(&SMALL.replace(from, to)).unwrap_err();
        for (from, to, code, words) in [
            ("agents", "agentz", 78, "did you mean agents?"),
            ("seeds = 2", "", 78, "`seeds` is needed"),
            ("seeds = 2", "seeds = 0", 78, "no task"),
            ("seeds = 2", "seeds = []", 78, "`seeds` is empty"),
            ("seeds = 2", "seeds = -1", 78, "whole number"),
            ("seeds = 2", "seeds = 'many'", 78, "whole number"),
            ("seeds = 2", "seeds = [1, 1]", 78, "are the same run"),
            ("['dqn', 'mu-ive']", "[]", 78, "`agents` is empty"),
            ("['dqn', 'mu-ive']", "'dqn'", 78, "must be a list"),
            ("'mu-ive'", "'mu-iwe'", 64, "did you mean mu-ive?"),
            ("'mu-ive'", "'dqn'", 78, "are the same run"),
            ("minatar:breakout", "minatar:breakin", 64, "breakout"),
            ("sticky", "stocky", 64, "sticky"),
            ("steps = 1e3", "steps = 0", 78, "steps"),
            ("steps = 1e3", "[grid]", 78, "`grid` is empty"),
            ("steps = 1e3", "[grid]\nbatch = []", 78, "`grid.batch` is empty"),
            ("steps = 1e3", "[grid]\nbetch = [1]", 78, "did you mean batch?"),
            ("steps = 1e3", "[grid]\nbatch = [-1]", 78, "batch"),
            ("steps = 1e3", "[grid]\nbatch = 3", 78, "must be a list"),
            ("steps = 1e3", "set = 3", 78, "must be a table"),
            ("preset = 'smoke'", "preset = 'smock'", 64, "did you mean smoke?"),
            ("preset = 'smoke'", "device = 'abacus'", 64, "abacus"),
        ] {
            let failure = with(from, to);
            assert!(
                failure.code == code && failure.message.contains(words),
                "{to}: {} {}",
                failure.code,
                failure.message
            );
        }
    }

    #[test]
    fn large_sweeps_must_be_wanted_and_larger_ones_are_refused() {
        let grid = |seeds: &str| Grid::read(&SMALL.replace("seeds = 2", seeds).parse().unwrap());
        let many = grid("seeds = 250000").unwrap();
        assert_eq!(many.count(), Some(1_000_000));
        let failure = many.draft(false).unwrap_err();
        assert!(
            failure.code == 64
                && failure.message.contains("= 1000000 tasks")
                && failure.message.contains("--yes"),
            "{}",
            failure.message
        );
        assert!(grid("seeds = 250001").unwrap().draft(true).unwrap_err().message.contains("1000004 tasks"));
        assert!(grid("seeds = 1e15").unwrap_err().message.contains("make several"));
        assert_eq!(grid("seeds = 5000").unwrap().draft(true).unwrap().tasks, 20_000);
    }
}
