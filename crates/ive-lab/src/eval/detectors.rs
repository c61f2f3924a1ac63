//! What the detectors made of corrupted states: as text, as CSV and as a picture.

use ive_envs::minatar::Game;

use super::ood::{Detection, EPSILON, Experiment, Report, Scores};
use super::show::member_columns;
use crate::exit::Outcome;
use crate::report::exhibit::{Exhibit, Row};
use crate::report::plot::colour;
use crate::report::table::Table;

/// A detector: name, and its AUROC with interval.
type Detector = (&'static str, fn(&Detection) -> Option<(f64, Option<(f64, f64)>)>);

/// The detectors, in the order of the columns.
const DETECTORS: [Detector; 3] = [
    ("σ-IVE", |d| d.sigma.map(|area| (area, d.sigma_interval))),
    ("σ/|μ|", |d| d.sigma_over_mu.map(|area| (area, d.sigma_over_mu_interval))),
    ("low value", |d| Some((d.low_value, d.low_value_interval))),
];

/// Those that this agent has.
fn detectors(report: &Report) -> Vec<Detector> {
    let has = |d: &Detector| report.detections.iter().all(|found| d.1(found).is_some());
    DETECTORS.into_iter().filter(has).collect()
}

/// Which detector finds which corruption.
pub fn table(report: &Report) -> String {
    let detectors = detectors(report);
    let heads = detectors.iter().map(|d| d.0);
    let head: Vec<&str> = std::iter::once("corruption").chain(heads).collect();
    let mut table = Table::new("", &head);
    for found in &report.detections {
        let areas: Vec<_> = detectors.iter().filter_map(|d| d.1(found)).collect();
        let best = areas.iter().map(|a| a.0).fold(f64::NEG_INFINITY, f64::max);
        let cell = |&(area, interval): &(f64, Option<(f64, f64)>)| {
            let range = interval.map_or(String::new(), |(low, high)| format!(" [{low:.2}, {high:.2}]"));
            let mark = if area == best && areas.len() > 1 { "*" } else { "" };
            format!("{area:.2}{range}{mark}")
        };
        table.row(std::iter::once(found.corruption.to_owned()).chain(areas.iter().map(cell)));
    }
    let low = if report.members.is_some() { "−μ" } else { "−Q" };
    let star = if detectors.len() > 1 { " * marks the best." } else { "" };
    let interval = if report.detections.iter().all(|d| d.low_value_interval.is_some()) {
        format!("95 % intervals by resampling the {} episodes.", report.episodes)
    } else {
        format!("No intervals: only {} episodes; --states makes them more.", report.episodes)
    };
    let sigma = report.mean_sigma.map_or(String::new(), |sigma| format!(", mean σ {sigma:.4}"));
    format!(
        "{}\nAUROC: 0.5 is chance, 1 finds every corrupted state.{star}\n{interval}\n\
         Low value ({low}) is the trivial detector: σ is worth something only where it does\nbetter.\n{}\
         {} ordinary states (ε = {EPSILON}): mean value {:.4}{sigma}\n",
        table.text(),
        silent(report),
        report.states,
        report.mean_value
    )
}

/// Where an alarm on high σ would be worse than chance.
fn silent(report: &Report) -> String {
    let below = report.detections.iter().filter(|d| d.sigma.is_some_and(|area| area < 0.5));
    let names: Vec<&str> = below.map(|d| d.corruption).collect();
    if names.is_empty() {
        return String::new();
    }
    let text =
        format!("σ-IVE is below 0.5 for {}: an alarm on high σ would be silent there.", names.join(", "));
    crate::output::layout::fold(&text, 80, 0)
}

/// The scores of every state, in full precision. Ordinary states have the corruption `none`.
pub fn csv(experiment: &Experiment) -> String {
    let mut head: Vec<String> = ["corruption", "state", "episode"].map(str::to_owned).to_vec();
    let members = experiment.usual.members.as_ref();
    if let Some(members) = members {
        head.extend(["sigma", "sigma_over_mu"].map(str::to_owned));
        head.push("low_value".to_owned());
        head.extend(member_columns(members));
    } else {
        head.push("low_value".to_owned());
    }
    let mut table = Table { head, ..Table::default() };
    let mut add = |name: &str, scores: &Scores| {
        for (i, episode) in experiment.ordinary.episodes.iter().enumerate() {
            let known = members.is_some().then(|| [scores.sigma[i], scores.sigma_over_mu[i]]);
            let numbers = known.into_iter().flatten().chain([scores.low_value[i]]);
            let numbers = numbers.chain(scores.values[i].iter().copied()).map(|x| x.to_string());
            table.row([name.to_owned(), i.to_string(), episode.to_string()].into_iter().chain(numbers));
        }
    };
    add("none", &experiment.usual);
    experiment.unusual.iter().for_each(|(corruption, _, scores)| add(corruption.name(), scores));
    table.csv()
}

/// Each corruption with an example, and AUROC and interval of the detectors, as PNG.
pub fn draw(experiment: &Experiment, report: &Report, game: Game, agent: &str) -> Outcome<Vec<u8>> {
    let detectors = detectors(report);
    let colours: &[&'static str] =
        if detectors.len() > 1 { &[colour::IVE, colour::GREEDY, colour::EVE] } else { &[colour::EVE] };
    let members = report.members.as_ref().map_or(String::new(), |set| format!(", members {set}"));
    let row = |(found, (_, corrupted, _)): (&Detection, &(_, Vec<Vec<u8>>, _))| Row {
        label: found.corruption,
        sight: corrupted[0].clone(),
        areas: detectors.iter().filter_map(|d| d.1(found)).collect(),
    };
    let exhibit = Exhibit {
        title: "Does σ notice boards that the game never shows?",
        subtitle: format!("{agent}{members}; {} states of {} episodes", report.states, report.episodes),
        game,
        detectors: detectors.iter().map(|d| d.0).zip(colours.iter().copied()).collect(),
        rows: report.detections.iter().zip(&experiment.unusual).map(row).collect(),
    };
    exhibit.png()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(sigma: Option<f64>, episodes: usize) -> Report {
        let interval = (episodes >= 10).then_some((0.1, 0.9));
        Report {
            states: 512,
            episodes,
            members: sigma.map(|_| "k=1..5".to_owned()),
            mean_sigma: sigma.map(|_| 0.07),
            mean_value: 3.6,
            detections: vec![Detection {
                corruption: "noise (same density)",
                sigma,
                sigma_interval: interval.filter(|_| sigma.is_some()),
                sigma_over_mu: sigma.map(|_| 0.75),
                sigma_over_mu_interval: interval.filter(|_| sigma.is_some()),
                low_value: 0.9,
                low_value_interval: interval,
                better: None,
            }],
        }
    }

    #[test]
    fn an_alarm_that_would_be_silent_is_named() {
        let words = "σ-IVE is below 0.5 for noise (same density): an alarm on high σ would be silent";
        assert!(table(&report(Some(0.07), 40)).contains(words));
        assert!(!table(&report(Some(0.5), 40)).contains("silent"));
        assert!(!table(&report(None, 40)).contains("silent"));
    }

    #[test]
    fn the_table_has_baseline_interval_and_fits() {
        let shown = table(&report(Some(0.07), 40));
        for words in ["0.07 [0.10, 0.90]", "0.75 [", "0.90 [0.10, 0.90]*", "resampling the 40 episodes"] {
            assert!(shown.contains(words), "{words} is not in\n{shown}");
        }
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let few = table(&report(Some(0.07), 9));
        assert!(few.contains("No intervals: only 9 episodes") && !few.contains('['), "{few}");
    }
}
