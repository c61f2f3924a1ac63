//! Episodes as text for people, as CSV for spreadsheets and as JSON for machines.

use ive::mean_and_error;
use serde_json::{Value, json};

use super::episode::{Episode, Step, member_set};
use super::strange::{EPSILON, Report};
use crate::report::table::Table;

/// A number of an episode.
type Number = fn(&Episode) -> Option<f64>;

/// The numbers of an episode, as they are shown and as JSON calls them.
const NUMBERS: [(&str, &str, Number); 6] = [
    ("return", "return", |e| Some(e.total())),
    ("length", "length", |e| Some(e.steps.len() as f64)),
    ("mean μ", "mean_mu", |e| e.mean(Step::mu)),
    ("mean σ", "mean_sigma", |e| e.mean(Step::sigma)),
    ("predicted", "predicted", |e| e.mean(|step| Some(step.value))),
    ("realised", "realised", |e| e.mean(|step| Some(step.realised))),
];

fn digits(name: &str, x: f64) -> String {
    if matches!(name, "return" | "length") { format!("{x}") } else { format!("{x:.3}") }
}

/// Which members μ and σ are taken over, or that there are none.
pub fn members_note(members: usize, agent: &str) -> String {
    member_set(members).map_or_else(
        || format!("{agent} has no model: there are no members, no μ-IVE and no σ-IVE"),
        |set| format!("μ-IVE and σ-IVE over the members {set} along the plan"),
    )
}

/// The steps of an episode.
pub fn steps(episode: &Episode, actions: &[&str]) -> String {
    // An agent that acts on the mean of its members has one column for both, which differ by rounding only.
    let acts_on_mean =
        episode.steps.iter().all(|step| step.mu().is_some_and(|mu| (mu - step.value).abs() < 1e-4));
    let mut head = vec!["t", "action", "reward"];
    if !acts_on_mean {
        head.push("value");
    }
    if episode.members() > 0 {
        head.extend(["μ-IVE", "σ-IVE"]);
    }
    head.push("realised");
    let mut table = Table::new("", &head);
    for (t, step) in episode.steps.iter().enumerate() {
        let mark = if step.random { " (random)" } else { "" };
        let mut row =
            vec![t.to_string(), format!("{}{mark}", actions[step.action]), format!("{}", step.reward)];
        let value = Some(step.value).filter(|_| !acts_on_mean);
        let numbers = [value, step.mu(), step.sigma(), Some(step.realised)];
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

/// An episode as a row of a table that is printed as the episodes come; the first brings the head.
pub fn row(episode: &Episode, first: bool) -> String {
    let shown: Vec<(&str, f64)> =
        NUMBERS.iter().filter_map(|(name, _, of)| of(episode).map(|x| (*name, x))).collect();
    let line = |label: &str, cells: Vec<String>| {
        let cells = cells.iter().map(|cell| format!("{cell:>11}")).collect::<String>();
        format!("{label:<9}{cells}")
    };
    let mut text = String::new();
    if first {
        let head = line("episode", shown.iter().map(|(name, _)| (*name).to_owned()).collect());
        text = format!("\n{head}\n{}\n", "─".repeat(head.chars().count()));
    }
    let cells = shown.iter().map(|(name, x)| digits(name, *x)).collect();
    text + &line(&episode.number.to_string(), cells) + if episode.cut_off { " *\n" } else { "\n" }
}

/// Several episodes, each number as mean and standard error over the episodes.
pub fn summary(episodes: &[Episode]) -> String {
    let (mut means, mut errors) = ("mean     ".to_owned(), "± error  ".to_owned());
    for (_, _, of) in NUMBERS {
        let Some(numbers) = episodes.iter().map(of).collect::<Option<Vec<f64>>>() else { continue };
        let (mean, error) = mean_and_error(&numbers);
        means += &format!("{mean:>11.3}");
        errors += &format!("{error:>11.3}");
    }
    let cut = if episodes.iter().any(|episode| episode.cut_off) { "* cut off\n" } else { "" };
    let rule = "─".repeat(means.chars().count());
    format!("{rule}\n{means}\n{errors}\n{cut}(± is the standard error over {} episodes)\n", episodes.len())
}

/// All steps of all episodes, in full precision.
pub fn csv(episodes: &[Episode], actions: &[&str]) -> String {
    let members = episodes.first().map_or(0, Episode::members);
    let mut head: Vec<String> =
        ["episode", "step", "action", "reward", "value"].iter().map(|s| (*s).to_owned()).collect();
    if members > 0 {
        head.extend(["mu".to_owned(), "sigma".to_owned()]);
        head.extend((1..=members).map(|k| format!("member_{k}")));
    }
    head.extend(["realised".to_owned(), "random".to_owned()]);
    let mut table = Table { head, ..Table::default() };
    for episode in episodes {
        for (t, step) in episode.steps.iter().enumerate() {
            let mut row = vec![episode.number.to_string(), t.to_string(), actions[step.action].to_owned()];
            let numbers = [Some(step.reward), Some(step.value), step.mu(), step.sigma()];
            let numbers = numbers.into_iter().flatten().chain(step.members.iter().copied());
            row.extend(numbers.chain([step.realised]).map(|x| x.to_string()));
            row.push(u8::from(step.random).to_string());
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

/// Which detector finds which corruption.
pub fn strange(report: &Report) -> String {
    let low = if report.members.is_some() { "low value (−μ)" } else { "low value (−Q)" };
    let mut head = vec!["corruption"];
    head.extend(report.members.as_ref().map(|_| "σ-IVE"));
    head.push(low);
    let mut table = Table::new("", &head);
    for found in &report.detections {
        let mark = |name: &str| if found.better == Some(name) { " *" } else { "" };
        let mut row = vec![found.corruption.to_owned()];
        row.extend(found.sigma.map(|area| format!("{area:.3}{}", mark("sigma"))));
        row.push(format!("{:.3}{}", found.low_value, mark("low_value")));
        table.row(row);
    }
    let better = if report.members.is_some() { "; * marks the better detector" } else { "" };
    let sigma = report.mean_sigma.map_or(String::new(), |sigma| format!(", mean σ {sigma:.4}"));
    format!(
        "{}AUROC: 0.5 is chance, 1 finds every corrupted state{better}.\n\
         {} ordinary states (ε = {EPSILON}): mean value {:.4}{sigma}\n",
        table.text(),
        report.states,
        report.mean_value
    )
}
