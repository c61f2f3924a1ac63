//! Episodes as text for people, as CSV for spreadsheets and as JSON for machines.

use ive::{Members, mean_and_error};
use serde_json::{Value, json};

use super::episode::{Episode, Step};
use crate::report::table::Table;

/// A number of an episode.
type Number = fn(&Episode) -> Option<f64>;

/// The numbers of an episode, as they are shown and as JSON calls them.
const NUMBERS: [(&str, &str, Number); 8] = [
    ("return", "return", |e| Some(e.total())),
    ("length", "length", |e| Some(e.steps.len() as f64)),
    ("mean μ", "mean_mu", |e| e.mean(Step::mu)),
    ("mean σ", "mean_sigma", |e| e.mean(Step::sigma)),
    ("predicted", "predicted", |e| e.mean(|step| Some(step.value))),
    ("realised", "realised", |e| e.mean(|step| Some(step.realised))),
    ("alarms", "alarms", |e| counted(e, |step| step.alarm)),
    ("replaced", "replaced", |e| counted(e, |step| step.fallback)),
];

/// Steps of some kind in an episode that a guard watched.
fn counted(episode: &Episode, of: fn(&Step) -> bool) -> Option<f64> {
    episode.guarded.then(|| episode.steps.iter().filter(|step| of(step)).count() as f64)
}

/// With at most so many digits behind the point: whole rewards stay whole.
pub fn rounded(x: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    (unit * x).round() / unit
}

fn digits(name: &str, x: f64) -> String {
    if matches!(name, "return" | "length" | "alarms" | "replaced") {
        rounded(x, 2).to_string()
    } else {
        format!("{x:.3}")
    }
}

/// Whether the agent chose by the mean of these members, up to rounding: then its value needs no column of its own.
fn chose_by_mu(episode: &Episode) -> bool {
    let same = |step: &Step| step.mu().is_some_and(|mu| (mu - step.value).abs() <= 1e-5 * mu.abs().max(1.0));
    episode.steps.iter().all(same)
}

/// The steps of an episode.
pub fn steps(episode: &Episode) -> String {
    let by_mu = chose_by_mu(episode);
    let mut head = vec!["t", "action", "reward"];
    if !by_mu {
        head.push("value");
    }
    if episode.members.is_some() {
        head.extend(["μ-IVE", "σ-IVE"]);
    }
    head.push("realised");
    let mut table = Table::new("", &head);
    for (t, step) in episode.steps.iter().enumerate() {
        let mark = match (step.fallback, step.alarm, step.random) {
            (true, ..) => " (fallback)",
            (_, true, _) => " (alarm)",
            (.., true) => " (random)",
            _ => "",
        };
        let mut row =
            vec![t.to_string(), format!("{}{mark}", step.action), rounded(step.reward, 4).to_string()];
        let numbers = [Some(step.value).filter(|_| !by_mu), step.mu(), step.sigma(), Some(step.realised)];
        row.extend(numbers.into_iter().flatten().map(|x| format!("{x:.4}")));
        table.row(row);
    }
    table.text()
}

/// An episode in a line, `return 7, length 412, mean μ 1.230, …`.
pub fn line(episode: &Episode) -> String {
    let shown =
        NUMBERS.iter().filter_map(|(name, _, of)| of(episode).map(|x| format!("{name} {}", digits(name, x))));
    let cut = if episode.cut_off { " (cut off)" } else { "" };
    shown.collect::<Vec<_>>().join(", ") + cut
}

/// The numbers that a table of episodes shows: what the agent predicts has no column where it is μ.
fn columns(episode: &Episode) -> impl Iterator<Item = &'static (&'static str, &'static str, Number)> {
    let by_mu = chose_by_mu(episode);
    NUMBERS
        .iter()
        .filter(move |(name, ..)| *name != "predicted" || !by_mu)
        .filter(|(.., of)| of(episode).is_some())
}

/// Widths of the columns of [`head`], [`row`] and [`summary`].
const NAME: usize = 9;
const COLUMN: usize = 11;

/// The head of a table with a row per episode.
pub fn head(episode: &Episode) -> String {
    let names = columns(episode).map(|n| n.0);
    format!("{:<NAME$}{}", "episode", names.map(|name| format!("{name:>COLUMN$}")).collect::<String>())
}

/// An episode as a row of that table.
pub fn row(episode: &Episode) -> String {
    let shown = columns(episode).filter_map(|(name, _, of)| of(episode).map(|x| digits(name, x)));
    let cut = if episode.cut_off { " cut" } else { "" };
    let cells: String = shown.map(|cell| format!("{cell:>COLUMN$}")).collect();
    format!("{:<NAME$}{cells}{cut}", episode.number)
}

/// The mean over the episodes and its standard error, as two rows of that table.
pub fn summary(episodes: &[Episode]) -> String {
    let both = episodes.iter().take(1).flat_map(columns).filter_map(|(.., of)| {
        let numbers: Vec<f64> = episodes.iter().map(of).collect::<Option<_>>()?;
        Some(mean_and_error(&numbers))
    });
    let (means, errors): (String, String) =
        both.map(|(mean, error)| (format!("{mean:>COLUMN$.3}"), format!("{error:>COLUMN$.3}"))).unzip();
    format!("{:<NAME$}{means}\n{:<NAME$}{errors}", "mean", "± error")
}

/// The heads of the columns of members.
pub fn member_columns(members: &Members) -> impl Iterator<Item = String> {
    members.lengths().iter().map(|k| format!("member_{k}"))
}

/// All steps of all episodes, in full precision.
pub fn csv(episodes: &[Episode]) -> String {
    let mut head: Vec<String> =
        ["episode", "step", "action", "reward", "value"].iter().map(|s| (*s).to_owned()).collect();
    if let Some(members) = episodes.first().and_then(|e| e.members.as_ref()) {
        head.extend(["mu".to_owned(), "sigma".to_owned()]);
        head.extend(member_columns(members));
    }
    head.extend(["realised", "random"].map(str::to_owned));
    let guarded = episodes.first().is_some_and(|episode| episode.guarded);
    head.extend(["alarm", "fallback"].iter().filter(|_| guarded).map(|name| (*name).to_owned()));
    let mut table = Table { head, ..Table::default() };
    for episode in episodes {
        for (t, step) in episode.steps.iter().enumerate() {
            let mut row = vec![episode.number.to_string(), t.to_string(), step.action.to_string()];
            let members = step.members.as_ref().map_or(&[][..], |members| members.values());
            let numbers = [Some(step.reward), Some(step.value), step.mu(), step.sigma()];
            let numbers = numbers.into_iter().flatten().chain(members.iter().copied());
            row.extend(numbers.chain([step.realised]).map(|x| x.to_string()));
            row.push(u8::from(step.random).to_string());
            let marks = [step.alarm, step.fallback].into_iter().filter(|_| guarded);
            row.extend(marks.map(|mark| u8::from(mark).to_string()));
            table.row(row);
        }
    }
    table.csv()
}

/// The numbers of all episodes, and their means and standard errors.
pub fn json(episodes: &[Episode]) -> Value {
    let one = |episode: &Episode| {
        let mut object = json!({ "episode": episode.number, "cut_off": episode.cut_off });
        NUMBERS.iter().for_each(|(_, key, of)| object[*key] = json!(of(episode)));
        object
    };
    let mut means = json!({});
    for (_, key, of) in NUMBERS {
        let numbers: Option<Vec<f64>> = episodes.iter().map(of).collect();
        // The error of a single number is NaN, which JSON shows as null.
        means[key] = numbers.map_or(Value::Null, |x| {
            let (mean, error) = mean_and_error(&x);
            json!({ "mean": mean, "standard_error": error })
        });
    }
    json!({ "episodes": episodes.iter().map(one).collect::<Vec<_>>(), "summary": means })
}
