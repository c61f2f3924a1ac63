//! The study as pictures.

use super::analysis::{Effect, View, over_shifts, risk};
use super::detectors::Detector;
use super::survey::Asked;
use super::sweep::BASE;
use crate::exit::Outcome;
use crate::report::plot::{self, Figure, Line};
use crate::report::table::grouped;

/// All figures.
pub fn all(view: &View<'_>) -> Outcome<Vec<Figure>> {
    Ok(vec![aurocs(view)?, risks(view)?])
}

fn dot(effect: Option<Effect>) -> Option<(f64, (f64, f64))> {
    effect.map(|e| (e.mean, e.interval))
}

/// Every shift with the detectors side by side.
fn aurocs(view: &View<'_>) -> Outcome<Figure> {
    let longest = view.settings.longest();
    let mut names: Vec<String> = Vec::new();
    for found in view.answers.iter().flat_map(|(_, asked)| &asked.found) {
        if !names.contains(&found.shift) {
            names.push(found.shift.clone());
        }
    }
    let mut lines = Vec::new();
    for name in names {
        let mut dots = Vec::new();
        for detector in Detector::ALL {
            let of = |asked: &Asked| over_shifts(asked, detector, &|f| f.shift == name, |f| f.auroc);
            dots.push(dot(view.effect(BASE, longest, &of)?));
        }
        lines.push(Line { label: name, dots });
    }
    let caption = format!(
        "AUROC of each detector for each shift after {} steps, mean over games and seeds with 95 % intervals over seeds; left of the \
         line an alarm on high scores would be silent.",
        grouped(longest)
    );
    plot::forest("detection_auroc", &caption, "AUROC", 0.5, &kinds(), &lines)
}

/// Does a high score mean that the value is wrong?
fn risks(view: &View<'_>) -> Outcome<Figure> {
    let mut lines = Vec::new();
    for variant in view.settings.all_variants() {
        for steps in view.lengths() {
            let mut dots = Vec::new();
            for detector in Detector::ALL {
                let found = view.effect(variant, steps, &|asked| risk(asked, detector, |r| r.ordinary))?;
                dots.push(dot(found));
            }
            lines.push(Line { label: format!("{variant}, {}", grouped(steps)), dots });
        }
    }
    let caption = "Area under the risk–coverage curve divided by the mean error: left of the line, leaving out ordinary states with high \
                   scores lowers the error of the value.";
    plot::forest("detection_risk", caption, "relative risk", 1.0, &kinds(), &lines)
}

fn kinds() -> Vec<(&'static str, &'static str)> {
    Detector::ALL.iter().map(|d| (d.colour(), d.label())).collect()
}
