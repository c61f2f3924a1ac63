//! What the detectors made of corrupted states: as text, as CSV and as a picture.

use ive_agents::evaluation::ood::EPSILON;
use ive_agents::evaluation::{Scored, Scores};

use super::ood::{Detection, Points, Report};
use super::show::member_columns;
use crate::exit::{Failure, Outcome};
use crate::report::exhibit::{Exhibit, Row};
use crate::report::plot::colour;
use crate::report::table::Table;

/// AUROC and its interval.
type Found = (f64, Option<(f64, f64)>);

/// What each detector makes of a corruption, in the order of the columns: those that all agents share, then the agent's own.
fn found(d: &Detection) -> Vec<(&'static str, Found)> {
    let shared = [
        ("σ-IVE", d.sigma.map(|area| (area, d.sigma_interval))),
        ("σ/|μ|", d.sigma_over_mu.map(|area| (area, d.sigma_over_mu_interval))),
        ("low value", Some((d.low_value, d.low_value_interval))),
    ];
    let shared = shared.into_iter().filter_map(|(name, area)| Some((name, area?)));
    shared.chain(d.further.iter().map(|own| (own.score, (own.auroc, own.interval)))).collect()
}

/// More detectors than this have a line each, since a terminal has no room for so many columns.
const COLUMNS: usize = 3;

/// Which detector finds which corruption; `what` is what a corruption is called here.
pub fn table(report: &Report, what: &str) -> String {
    let all: Vec<Vec<(&'static str, Found)>> = report.detections.iter().map(found).collect();
    let heads: Vec<&str> = all.first().map_or(Vec::new(), |first| first.iter().map(|d| d.0).collect());
    let cells = |areas: &[(&'static str, Found)]| -> Vec<String> {
        let best = areas.iter().map(|(_, (area, _))| *area).fold(f64::NEG_INFINITY, f64::max);
        let cell = |(_, (area, interval)): &(&'static str, Found)| {
            let range = interval.map_or(String::new(), |(low, high)| format!(" [{low:.2}, {high:.2}]"));
            let mark = if *area == best && areas.len() > 1 { "*" } else { "" };
            format!("{area:.2}{range}{mark}")
        };
        areas.iter().map(cell).collect()
    };
    let wide = heads.len() <= COLUMNS;
    let head: Vec<&str> =
        std::iter::once(what).chain(if wide { heads.clone() } else { vec!["detector", "AUROC"] }).collect();
    let mut table = Table::new("", &head);
    for (detection, areas) in report.detections.iter().zip(&all) {
        let cells = cells(areas);
        if wide {
            table.row(std::iter::once(detection.corruption.to_string()).chain(cells));
            continue;
        }
        for (i, (name, cell)) in heads.iter().zip(cells).enumerate() {
            let first = if i == 0 { &*detection.corruption } else { "" };
            table.row([first.to_owned(), (*name).to_owned(), cell]);
        }
    }
    let low = if report.members.is_some() { "−μ" } else { "−Q" };
    let star = if heads.len() > 1 { " * marks the best." } else { "" };
    let interval = if report.detections.iter().all(|d| d.low_value_interval.is_some()) {
        format!("95 % intervals by resampling the {} episodes.", report.episodes)
    } else {
        format!("No intervals: only {} episodes; --states makes them more.", report.episodes)
    };
    let sigma = report.mean_sigma.map_or(String::new(), |sigma| format!(", mean σ {sigma:.4}"));
    format!(
        "{}\nAUROC: 0.5 is chance, 1 finds every such state.{star}\n{interval}\n\
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
    let names: Vec<&str> = below.map(|d| &*d.corruption).collect();
    if names.is_empty() {
        return String::new();
    }
    let text =
        format!("σ-IVE is below 0.5 for {}: an alarm on high σ would be silent there.", names.join(", "));
    crate::output::layout::fold(&text, 80, 0)
}

/// The scores of every state, in full precision. Ordinary states have the corruption `none`; rows of odd starts
/// begin with `start: `.
pub fn csv(scored: &Scored, starts: Option<&Scored>) -> String {
    let mut head: Vec<String> = ["corruption", "state", "episode"].map(str::to_owned).to_vec();
    let members = scored.ordinary.scores.members.as_ref().and_then(|all| all.first());
    if members.is_some() {
        head.extend(["sigma", "sigma_over_mu"].map(str::to_owned));
    }
    head.push("low_value".to_owned());
    head.extend(scored.ordinary.scores.further.iter().map(|own| own.name.to_owned()));
    head.extend(members.into_iter().flat_map(|members| member_columns(members.ks())));
    let mut table = Table { head, ..Table::default() };
    rows(&mut table, "", scored);
    if let Some(starts) = starts {
        rows(&mut table, "start: ", starts);
    }
    table.csv()
}

fn rows(table: &mut Table, before: &str, scored: &Scored) {
    for scores in std::iter::once(&scored.ordinary.scores).chain(&scored.corrupted) {
        let points = Points::of(scores);
        for (i, episode) in scored.ordinary.episodes.iter().enumerate() {
            let known = scores.members.as_ref().map(|_| [points.sigma[i], points.sigma_over_mu[i]]);
            let numbers = known.into_iter().flatten().chain([points.low_value[i]]);
            let numbers = numbers.chain(scores.further.iter().map(|own| own.scores[i]));
            let values = scores.members.as_ref().map_or(&[][..], |all| all[i].values());
            let numbers = numbers.chain(values.iter().copied()).map(|x| x.to_string());
            let words = [format!("{before}{}", scores.name), i.to_string(), episode.to_string()];
            table.row(words.into_iter().chain(numbers));
        }
    }
}

/// Colours of detectors, in their order.
const COLOURS: [&str; 7] =
    [colour::IVE, colour::GREEDY, colour::EVE, colour::EMVE, colour::SAMPLE, colour::PLAN, colour::UNIFORM];

/// Each corruption with an example, and AUROC and interval of the detectors, as PNG.
pub fn draw(scored: &Scored, report: &Report, agent: &str, title: &'static str) -> Outcome<Vec<u8>> {
    let areas: Vec<Vec<(&'static str, Found)>> = report.detections.iter().map(found).collect();
    let names: Vec<&'static str> = areas.first().map_or(Vec::new(), |all| all.iter().map(|d| d.0).collect());
    // Where there is only the trivial detector, it keeps its colour.
    let colours = if names.len() > 1 { &COLOURS[..] } else { &COLOURS[2..] };
    let members = report.members.as_ref().map_or(String::new(), |set| format!(", members {set}"));
    if scored.ordinary.scores.example.is_none() {
        return Err(Failure::usage("there are no such pictures of this environment"));
    }
    let row = |(scores, areas): (&Scores, &Vec<(&'static str, Found)>)| Row {
        label: scores.name.clone(),
        sight: scores.example.clone(),
        areas: areas.iter().map(|(_, area)| *area).collect(),
    };
    let exhibit = Exhibit {
        title,
        subtitle: format!("{agent}{members}; {} states of {} episodes", report.states, report.episodes),
        detectors: names.into_iter().zip(colours.iter().copied().cycle()).collect(),
        rows: scored.corrupted.iter().zip(&areas).map(row).collect(),
    };
    exhibit.png()
}

#[cfg(test)]
mod tests {
    use super::super::ood::Own;
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
                corruption: "noise (same density)".into(),
                sigma,
                sigma_interval: interval.filter(|_| sigma.is_some()),
                sigma_over_mu: sigma.map(|_| 0.75),
                sigma_over_mu_interval: interval.filter(|_| sigma.is_some()),
                low_value: 0.9,
                low_value_interval: interval,
                further: Vec::new(),
                better: None,
            }],
        }
    }

    #[test]
    fn an_alarm_that_would_be_silent_is_named() {
        let words = "σ-IVE is below 0.5 for noise (same density): an alarm on high σ would be silent";
        assert!(table(&report(Some(0.07), 40), "corruption").contains(words));
        assert!(!table(&report(Some(0.5), 40), "corruption").contains("silent"));
        assert!(!table(&report(None, 40), "corruption").contains("silent"));
    }

    #[test]
    fn the_table_has_baseline_interval_and_fits() {
        let shown = table(&report(Some(0.07), 40), "corruption");
        for words in ["0.07 [0.10, 0.90]", "0.75 [", "0.90 [0.10, 0.90]*", "resampling the 40 episodes"] {
            assert!(shown.contains(words), "{words} is not in\n{shown}");
        }
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let few = table(&report(Some(0.07), 9), "corruption");
        assert!(few.contains("No intervals: only 9 episodes") && !few.contains('['), "{few}");
    }

    /// Agents with scores of their own have more detectors than fit side by side.
    #[test]
    fn many_detectors_have_a_line_each() {
        let mut many = report(Some(0.6), 40);
        let own = |score, auroc| Own { score, auroc, interval: Some((0.85, 0.97)) };
        many.detections[0].further = vec![own("KL surprise", 0.94), own("reconstruction error", 0.8)];
        let shown = table(&many, "start");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("start") && lines[0].ends_with("AUROC"), "{shown}");
        assert!(lines[2].starts_with("noise (same density)") && lines[2].contains("σ-IVE"), "{shown}");
        assert!(
            lines[5].trim_start().starts_with("KL surprise") && lines[5].ends_with("0.94 [0.85, 0.97]*"),
            "{shown}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
    }
}
