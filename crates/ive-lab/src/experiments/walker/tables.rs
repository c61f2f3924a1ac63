//! The tables of the report, and the long ones for programs.

use ive::{mean, mean_and_error};

use super::analysis::Compared;
use super::published::{Method, table};
use super::run::{Record, of};
use super::score::{Measure, PLANS, RETURN, first_reward, score, scores};
use super::sweep::{Cell, Settings};
use crate::experiments::runs::record::curve;
use crate::report::number::ranged;
use crate::report::table::{Table, grouped};

/// A mean and its standard error with so many digits; a dash without runs.
fn pair((mean, error): (f64, f64), digits: usize) -> String {
    match (mean.is_finite(), error.is_finite()) {
        (false, _) => "–".into(),
        (true, false) => format!("{mean:.digits$}"),
        (true, true) => format!("{mean:.digits$} ± {error:.digits$}"),
    }
}

fn with_thresholds(caption: &str, first: &[&str], settings: &Settings) -> Table {
    let mut table = Table::new(caption, first);
    table.head.extend(settings.thresholds.iter().map(|eta| format!("η = {eta}")));
    table
}

/// Table 1 and Table 3: ours above the paper's.
pub fn table1(settings: &Settings, records: &[Record], methods: &[Method]) -> Table {
    let caption = format!(
        "Tables 1 and 3. Mean return ± standard error over seeds; at most 1000. Ours after {} steps: {} episodes by the mode of the \
         actor, rewards below η counted as zero as in training, and in brackets the number of runs. The paper's after 1M steps from \
         pixels, three runs, rounded to tens. ♢ plans by gradients, ♣ by samples; plans collect data and are not used in these \
         episodes.",
        grouped(settings.steps),
        settings.greedy_episodes
    );
    let mut out = with_thresholds(&caption, &["method", ""], settings);
    for &method in methods {
        let ours = settings.thresholds.iter().map(|&eta| {
            let values = scores(settings, records, eta, method, Measure::Final);
            let count = if values.is_empty() { String::new() } else { format!(" ({})", values.len()) };
            pair(mean_and_error(&values), 0) + &count
        });
        out.row([method.label().to_owned(), "ours".to_owned()].into_iter().chain(ours));
        let paper = settings.thresholds.iter();
        let paper = paper.map(|&eta| table(method, eta).map_or("–".to_owned(), |known| pair(known, 0)));
        out.row([method.label().to_owned(), "the paper".to_owned()].into_iter().chain(paper));
    }
    out
}

/// The other two measures: area under the curve, and when reward was found.
pub fn learning(settings: &Settings, records: &[Record], methods: &[Method]) -> Table {
    let caption = format!(
        "On the way. Mean return of all training episodes, noise included (the area under the learning curve); then the thousands of \
         steps until training episodes first have a mean return of {} over {} steps, mean over the runs that got there, and how many \
         of them did.",
        settings.found,
        grouped(settings.log_every)
    );
    let mut out = with_thresholds(&caption, &["method", ""], settings);
    for &method in methods {
        let area =
            |&eta: &f64| pair(mean_and_error(&scores(settings, records, eta, method, Measure::Area)), 0);
        let label = || method.label().to_owned();
        out.row([label(), "mean return".to_owned()].into_iter().chain(settings.thresholds.iter().map(area)));
        let found = |&eta: &f64| {
            let runs = of(settings, records, eta, method);
            let steps: Vec<f64> = runs
                .clone()
                .filter_map(|r| first_reward(settings, r))
                .map(|step| step as f64 / 1000.0)
                .collect();
            let all = runs.count();
            if all == 0 {
                "–".to_owned()
            } else {
                format!("{}, {} of {all}", pair(mean_and_error(&steps), 0), steps.len())
            }
        };
        out.row([label(), "found".to_owned()].into_iter().chain(settings.thresholds.iter().map(found)));
    }
    out
}

/// What μ+σ-IVE(5)♢ has ahead of others.
pub fn comparisons(compared: &[Compared]) -> Table {
    let caption = "μ+σ-IVE(5)♢ minus another method, with Welch's 95 % interval over runs (none with fewer than five runs of either): \
                   final return, mean training return, and the share of the run that is left when reward is found. Over several η the mean of \
                   the differences.";
    let head = ["minus", "η", "runs", "final return", "mean training return", "share left"];
    let mut out = Table::new(caption, &head);
    for c in compared {
        let first = c.differences.iter().flatten().next();
        let runs = first.map_or("–".to_owned(), |d| format!("{} and {}", d.runs[0], d.runs[1]));
        let cell = |measure: Measure| {
            c.differences[measure as usize].as_ref().map_or("–".to_owned(), |d| {
                ranged(d.effect, Some(d.interval).filter(|(low, high)| low.is_finite() && high.is_finite()))
            })
        };
        let cells = Measure::ALL.map(cell);
        out.row([c.other.label().to_owned(), c.columns(), runs].into_iter().chain(cells));
    }
    out
}

/// What the planners did, over the last tenth of training.
pub fn plans(settings: &Settings, records: &[Record], methods: &[Method]) -> Table {
    let caption = "What the planners did, over the last tenth of training, means over runs. Flips by σ: the share of decisions in which \
                   another plan had a larger μ (♣), or climbing gave up some μ (♢). |Δa|: how far planning moves the first action (the exploration noise has length 0.73). \
                   Share of actions: how much of the variance of the utility over ten sampled sequences would be due to their actions if each had \
                   latent noise of its own, as printed in the paper; the rest is luck. σ: of the chosen plan. Actor std: before tanh. Imagined: the λ-return that the model promises; realised: the discounted \
                   return that followed.";
    let mut head = vec!["η", "method"];
    head.extend(PLANS.map(|(_, name)| name));
    let mut out = Table::new(caption, &head);
    for &eta in &settings.thresholds {
        for &method in methods {
            let runs = of(settings, records, eta, method);
            let cells = PLANS.map(|(name, _)| at_end(runs.clone(), name));
            out.row([eta.to_string(), method.label().to_owned()].into_iter().chain(cells));
        }
    }
    out
}

/// A logged number over the last tenth of some runs; a dash where none has it.
fn at_end<'a>(runs: impl Iterator<Item = &'a Record>, name: &str) -> String {
    let values: Vec<f64> = runs.filter_map(|r| r.at_end(name)).collect();
    if values.is_empty() { "–".to_owned() } else { crate::report::number::short(mean(&values)) }
}

/// Other β and other steps of plans, at one threshold.
pub fn variations(settings: &Settings, records: &[Record]) -> Table {
    let caption = format!(
        "μ+σ-IVE(5)♢ at η = {} with other β and other steps of its plans, everything else as in the table. Means ± standard errors over \
         runs; plans over the last tenth of training.",
        settings.focus
    );
    let head =
        ["β", "step", "runs", "final return", "mean training return", "share left", "flips by σ", "|Δa|"];
    let mut out = Table::new(&caption, &head);
    let mut cells = settings.variations();
    cells.push(settings.cell(settings.focus, Method::MuSigma, 0));
    cells
        .sort_by(|a, b| (a.step, a.beta).partial_cmp(&(b.step, b.beta)).unwrap_or(std::cmp::Ordering::Equal));
    cells.dedup();
    for cell in cells {
        let runs = || records.iter().filter(|r| r.cell == Cell { seed: r.cell.seed, ..cell });
        let of =
            |measure| mean_and_error(&runs().filter_map(|r| score(settings, r, measure)).collect::<Vec<_>>());
        out.row([
            cell.beta.to_string(),
            cell.step.to_string(),
            runs().count().to_string(),
            pair(of(Measure::Final), 0),
            pair(of(Measure::Area), 0),
            pair(of(Measure::Found), 2),
            at_end(runs(), PLANS[0].0),
            at_end(runs(), PLANS[1].0),
        ]);
    }
    out
}

/// What the runs cost.
pub fn cost(settings: &Settings, records: &[Record], methods: &[Method]) -> Table {
    let caption = "Environment steps per second of CPU time, learning and evaluation included, mean over seeds. It depends on the machine \
                   and on what else runs there.";
    let mut out = with_thresholds(caption, &["method"], settings);
    for &method in methods {
        let cell = |&eta: &f64| {
            let speeds: Vec<f64> = of(settings, records, eta, method).filter_map(|r| r.speed).collect();
            if speeds.is_empty() { "–".to_owned() } else { format!("{:.0}", mean(&speeds)) }
        };
        out.row([method.label().to_owned()].into_iter().chain(settings.thresholds.iter().map(cell)));
    }
    out
}

/// One row per run, for programs.
pub fn runs(settings: &Settings, records: &[Record]) -> Table {
    let mut head =
        vec!["eta", "method", "beta", "step", "seed", "steps", "final", "area", "found", "first_reward"];
    head.extend(PLANS.map(|(name, _)| name));
    let mut out = Table::new("One row per finished run", &head);
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for r in records {
        let Cell { threshold, method, beta, step, seed, .. } = r.cell;
        let scores = Measure::ALL.map(|measure| number(score(settings, r, measure)));
        let first = first_reward(settings, r).map_or(String::new(), |step| step.to_string());
        let plans = PLANS.map(|(name, _)| number(r.at_end(name)));
        let words = [
            threshold.to_string(),
            method.word().to_owned(),
            beta.to_string(),
            step.to_string(),
            seed.to_string(),
        ];
        out.row(words.into_iter().chain([r.steps.to_string()]).chain(scores).chain([first]).chain(plans));
    }
    out
}

/// The curves, for programs: one row per threshold, method, logged number and step.
pub fn curves(settings: &Settings, records: &[Record], methods: &[Method]) -> Table {
    let head = ["eta", "method", "number", "step", "seeds", "mean", "error"];
    let mut out = Table::new("Means over seeds on the way", &head);
    for &eta in &settings.thresholds {
        for &method in methods {
            let runs = of(settings, records, eta, method);
            let seeds = runs.clone().count();
            for name in std::iter::once(RETURN).chain(PLANS.map(|(name, _)| name)) {
                for (step, mean, error) in curve(runs.clone(), name, settings.curve_points) {
                    let error = if error.is_finite() { error.to_string() } else { String::new() };
                    let words = [eta.to_string(), method.word().to_owned(), name.to_owned()];
                    let numbers = [step.to_string(), seeds.to_string(), mean.to_string(), error];
                    out.row(words.into_iter().chain(numbers));
                }
            }
        }
    }
    out
}
