//! Maps, detection tables, and verdicts on H1 and H2.

use ive::{mean, mean_and_error, quantile, spearman};
use ive_envs::grid::{STATES, UNSEEN};
use serde_json::{Value, json};

use super::run::{Maps, names};
use super::sweep::{IVE_SIZES, Settings};
use crate::claim::{Claim, Verdict, interval};
use crate::exit::{Failure, Outcome};
use crate::experiments::ours;
use crate::experiments::tabular::compared_with_paper;
use crate::report::plot::{self, Figure, Map};
use crate::report::{Findings, table::Table, table::plus_minus, unit::Unit};

/// The panels of Figure 3, as places in [`names`]: IVE(1), IVE(2), IVE(20), EVE(20), EMVE(20).
const FIGURE_3: [usize; 5] = [0, 1, 4, 9, 14];
/// EVE(20), to which the paper compares.
const EVE_20: usize = 9;

/// Judges the finished seeds.
pub fn findings(settings: &Settings, done: &[(u64, Maps)]) -> Outcome<Findings> {
    let all: Vec<&Maps> = done.iter().map(|(_, m)| m).collect();
    let (seed, shown) = done
        .iter()
        .find(|(s, _)| *s == settings.shown_seed)
        .or(done.first())
        .ok_or_else(|| Failure::internal("no seed is finished"))?;
    let likeness: Vec<Vec<f64>> = all.iter().map(|m| similarity(m)).collect::<Outcome<_>>()?;
    Ok(Findings {
        name: "maps",
        title: "Maps of disagreement (Figure 3 and the appendix grid)".into(),
        scale: scale(settings, done.len()),
        text: vec![
            "Each cell is coloured by the standard deviation of the value estimates of an ensemble. The crossed cell is the one that the \
             data leave out: the estimates should disagree there, and agree elsewhere. Every map has its own colours from its smallest (dark) to \
             its largest number (yellow), as in the paper; both numbers stand below it. So compare patterns between maps by eye, and sizes \
             by the numbers."
                .into(),
            format!(
                "The paper shows one seed. One draw can look like anything, so seed {seed} is shown (chosen before the run, not for its \
                 looks) together with the mean of the normalised maps over all seeds."
            ),
            price(&all),
        ],
        claims: claims(&all, &likeness)?,
        figures: figures(*seed, shown, &all)?,
        tables: vec![("maps_detection", detection(&all, &likeness)?), ("maps_sigma", sigma_table(shown, &all))],
        data: Vec::new(),
        numbers: numbers(&all, &likeness)?,
    })
}

/// What the implicit ensemble saves, and what it loses.
fn price(all: &[&Maps]) -> String {
    let names = names();
    let area = |p: usize| format!("{} {:.2}", names[p], mean(&column(all, p, |panel| panel.auroc_states)));
    let [one, last, values, models] = [FIGURE_3[0], FIGURE_3[2], FIGURE_3[3], FIGURE_3[4]].map(area);
    format!(
        "The price of not training an ensemble: the implicit ones come from one value table and one model, the explicit ones need twenty \
         tables or twenty models. In exchange they may detect better. AUROC for cells that the data do not show: {one}, {last}, {values}, {models}."
    )
}

fn scale(settings: &Settings, seeds: usize) -> String {
    let learning = compared_with_paper(&settings.learning);
    format!("{seeds} seeds (the paper: 1) with {learning}.")
}

fn column<'a>(all: &'a [&Maps], panel: usize, of: impl Fn(&super::run::PanelOfSeed) -> f64 + 'a) -> Vec<f64> {
    all.iter().map(|m| of(&m.panels[panel])).collect()
}

/// Stands for an infinite ratio while ratios are put in order: quantiles are those of all seeds, also of these.
const ENDLESS: f64 = 1e300;

/// A quantile of ratios, infinite where it lies among or next to infinite ones.
fn finite_or_endless(x: f64) -> f64 {
    // Ratios of numbers that differ at all are smaller, a mixture of one with the stand-in is larger.
    if x < 1e200 { x } else { f64::INFINITY }
}

/// σ of the unseen cell divided by that of visited ones, for every seed.
fn ratios(all: &[&Maps], panel: usize) -> Vec<f64> {
    column(all, panel, |p| p.ratio.unwrap_or(ENDLESS))
}

/// Rank correlation of every map with that of EVE(20), for one seed.
fn similarity(maps: &Maps) -> Outcome<Vec<f64>> {
    let reference = &maps.panels[EVE_20].sigma;
    let one = |p: &super::run::PanelOfSeed| ours(spearman(&p.sigma, reference));
    maps.panels.iter().map(one).collect()
}

fn claims(all: &[&Maps], likeness: &[Vec<f64>]) -> Outcome<Vec<Claim>> {
    let names = names();
    // Inside of a bootstrap there is no way to fail; what is not a number makes the bootstrap fail as a whole.
    let median = |x: &[f64]| quantile(x, 0.5).unwrap_or(f64::NAN);
    let mut claims = Vec::new();
    for panel in [0, 1, 4] {
        let detection = column(all, panel, |p| p.auroc_pairs);
        let range = interval(&detection, mean)?;
        claims.push(Claim {
            hypothesis: "H1",
            claim: format!("{} is lower where there are data than where there are none", names[panel]),
            unit: Unit::AUROC,
            measure: "area under the ROC curve for unvisited state-action pairs, chance 0.5".into(),
            effect: mean(&detection),
            interval: range.ends(),
            verdict: Verdict::above(0.5, range.ends()),
            undecided: range.undecided(),
            note: format!(
                "for cells {}",
                plus_minus(mean_and_error(&column(all, panel, |p| p.auroc_states)))
            ),
        });
    }
    for panel in [0, 1, 4] {
        let ratio = ratios(all, panel);
        let range = interval(&ratio, median)?;
        let (low, high) = range.ends();
        let endless = column(all, panel, |p| f64::from(u8::from(p.ratio.is_none()))).iter().sum::<f64>();
        let largest = mean(&column(all, panel, |p| f64::from(u8::from(p.largest))));
        claims.push(Claim {
            hypothesis: "H2",
            claim: format!("{} is higher at the unseen cell than at visited cells", names[panel]),
            unit: Unit::RATIO,
            measure: "σ there divided by its mean over visited cells, median over seeds".into(),
            effect: finite_or_endless(ours(quantile(&ratio, 0.5))?),
            interval: (finite_or_endless(low), finite_or_endless(high)),
            verdict: Verdict::above(1.0, (low, high)),
            undecided: range.undecided(),
            note: format!("it is the largest of the map in {:.0} % of the seeds", 100.0 * largest)
                + &if endless > 0.0 {
                    format!(
                        "; in {endless} of {} seeds σ is zero on all visited cells, the ratio infinite",
                        all.len()
                    )
                } else {
                    String::new()
                },
        });
    }
    let growth: Vec<f64> = likeness.iter().map(|l| l[4] - l[0]).collect();
    let range = interval(&growth, mean)?;
    let by_size: Vec<String> = IVE_SIZES
        .iter()
        .enumerate()
        .map(|(i, n)| format!("n = {n}: {:.2}", mean(&likeness.iter().map(|l| l[i]).collect::<Vec<_>>())))
        .collect();
    claims.push(Claim {
        hypothesis: "Fig. 3",
        claim: "As n grows from 1 to 20, the map of σ-IVE(n) becomes more like that of σ-EVE(20)".into(),
        unit: Unit::CORRELATIONS,
        measure: "rank correlation with EVE(20) at n = 20 minus at n = 1, paired".into(),
        effect: mean(&growth),
        interval: range.ends(),
        verdict: Verdict::above(0.0, range.ends()),
        undecided: range.undecided(),
        note: format!("correlations {}", by_size.join(", ")),
    });
    Ok(claims)
}

/// Cells scaled from the smallest to the largest, as in the paper.
fn normalised(x: &[f64]) -> Vec<f64> {
    let low = x.iter().copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    x.iter().map(|v| if high > low { (v - low) / (high - low) } else { 0.0 }).collect()
}

fn mean_map(maps: &[Vec<f64>]) -> Vec<f64> {
    (0..STATES).map(|s| mean(&maps.iter().map(|m| m[s]).collect::<Vec<_>>())).collect()
}

fn figures(seed: u64, shown: &Maps, all: &[&Maps]) -> Outcome<Vec<Figure>> {
    let names = names();
    let map = |title: &str, subtitle: &str, cells: Vec<f64>| Map {
        title: title.into(),
        subtitle: subtitle.into(),
        cells,
        crossed: vec![UNSEEN],
    };
    let visits: Vec<Vec<f64>> = all.iter().map(|m| m.visits.clone()).collect();
    let mean_of =
        |p: usize| mean_map(&all.iter().map(|m| normalised(&m.panels[p].sigma)).collect::<Vec<_>>());
    let single = |p: usize| map(&names[p], &format!("seed {seed}"), shown.panels[p].sigma.clone());
    let average = |p: usize| map(&names[p], &format!("mean of {} seeds", all.len()), mean_of(p));

    let mut figure_3 = vec![map("visits", &format!("seed {seed}"), shown.visits.clone())];
    figure_3.extend(FIGURE_3.map(single));
    figure_3.push(map("visits", &format!("mean of {} seeds", all.len()), mean_map(&visits)));
    figure_3.extend(FIGURE_3.map(average));
    let caption = "Figure 3. First: how often the data show each cell. Then the standard deviation over the implicit ensemble after one, two and \
                   twenty steps, over twenty value tables, and over twenty models; first one seed, then the mean over seeds of the maps scaled to 0–1. Below \
                   each map: its smallest and its largest number.";
    let grid = |name: &str, what: &str, panel: &dyn Fn(usize) -> Map| {
        let caption = format!(
            "Appendix grid, {what}: implicit ensembles, then ensembles of values, then ensembles of models. Below each map: its smallest and \
             its largest number."
        );
        plot::maps(name, &caption, &(0..names.len()).map(panel).collect::<Vec<_>>(), 5)
    };
    Ok(vec![
        plot::maps("maps", caption, &figure_3, 6)?,
        grid("maps_all_seed", &format!("seed {seed}"), &single)?,
        grid("maps_all_mean", "mean over seeds", &average)?,
    ])
}

fn detection(all: &[&Maps], likeness: &[Vec<f64>]) -> Outcome<Table> {
    let mut table = Table::new(
        "Detection of what the data do not show, mean ± standard error over seeds; ratio is the median with quartiles; likeness is the rank \
         correlation with the map of σ-EVE(20)",
        &[
            "ensemble",
            "members",
            "AUROC cells",
            "AUROC pairs",
            "ratio unseen / visited",
            "largest cell",
            "likeness",
        ],
    );
    for (panel, name) in names().into_iter().enumerate() {
        let members = match panel {
            0..5 => format!("k=0..{}", IVE_SIZES[panel]),
            _ => name.chars().filter(char::is_ascii_digit).collect(),
        };
        let ratio = ratios(all, panel);
        let at = |q: f64| ours(quantile(&ratio, q)).map(finite_or_endless);
        let (low, middle, high) = (at(0.25)?, at(0.5)?, at(0.75)?);
        table.row([
            name,
            members,
            plus_minus(mean_and_error(&column(all, panel, |p| p.auroc_states))),
            plus_minus(mean_and_error(&column(all, panel, |p| p.auroc_pairs))),
            format!("{middle:.2} [{low:.2}, {high:.2}]"),
            plus_minus(mean_and_error(&column(all, panel, |p| f64::from(u8::from(p.largest))))),
            plus_minus(mean_and_error(&likeness.iter().map(|l| l[panel]).collect::<Vec<_>>())),
        ]);
    }
    Ok(table)
}

fn sigma_table(shown: &Maps, all: &[&Maps]) -> Table {
    let mut table =
        Table::new("σ of the state values in the shown seed, and visits; cells row by row", &["ensemble"]);
    table.head.extend((0..STATES).map(|s| format!("{},{}", s / 5, s % 5)));
    let row = |name: String, cells: &[f64]| {
        std::iter::once(name).chain(cells.iter().map(|x| format!("{x:.4}"))).collect::<Vec<_>>()
    };
    table.row(row("visits".into(), &shown.visits));
    names().into_iter().zip(&shown.panels).for_each(|(name, p)| table.row(row(name, &p.sigma)));
    table.row(row(
        "visits, mean".into(),
        &mean_map(&all.iter().map(|m| m.visits.clone()).collect::<Vec<_>>()),
    ));
    table
}

fn numbers(all: &[&Maps], likeness: &[Vec<f64>]) -> Outcome<Value> {
    let of = |panel: usize| -> Outcome<Value> {
        let median = finite_or_endless(ours(quantile(&ratios(all, panel), 0.5))?);
        Ok(json!({
            "auroc_states": mean_and_error(&column(all, panel, |p| p.auroc_states)),
            "auroc_pairs": mean_and_error(&column(all, panel, |p| p.auroc_pairs)),
            // Null if it is infinite.
            "ratio_median": median.is_finite().then_some(median),
            "unseen_is_largest": mean(&column(all, panel, |p| f64::from(u8::from(p.largest)))),
            "spearman_with_eve_20": mean(&likeness.iter().map(|l| l[panel]).collect::<Vec<_>>()),
        }))
    };
    let panels = names().into_iter().enumerate().map(|(i, name)| Ok((name, of(i)?)));
    let panels: serde_json::Map<String, Value> = panels.collect::<Outcome<_>>()?;
    Ok(json!({ "seeds": all.len(), "ensembles": panels }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::maps::run::PanelOfSeed;

    /// Seeds with these ratios, equal in all else.
    fn seeds(ratios: &[Option<f64>]) -> Vec<Maps> {
        let panel = |ratio| PanelOfSeed {
            sigma: (0..STATES).map(|s| s as f64).collect(),
            auroc_states: 0.9,
            auroc_pairs: 0.9,
            ratio,
            largest: true,
        };
        let of = |ratio: &Option<f64>| Maps { visits: vec![1.0; STATES], panels: vec![panel(*ratio); 15] };
        ratios.iter().map(of).collect()
    }

    fn ratio_claim(ratios: &[Option<f64>]) -> Claim {
        let maps = seeds(ratios);
        let all: Vec<&Maps> = maps.iter().collect();
        let claims = claims(&all, &vec![vec![0.5; 15]; all.len()]).unwrap();
        assert!(detection(&all, &vec![vec![0.5; 15]; all.len()]).is_ok());
        claims.into_iter().find(|c| c.hypothesis == "H2").unwrap()
    }

    #[test]
    fn infinite_ratios_count_as_the_largest_and_decide_like_others() {
        let endless = ratio_claim(&[None; 12]);
        assert_eq!((endless.effect, endless.interval), (f64::INFINITY, (f64::INFINITY, f64::INFINITY)));
        assert_eq!(endless.verdict, Verdict::Supported);
        assert!(
            endless.note.contains("in 12 of 12 seeds σ is zero on all visited cells"),
            "{}",
            endless.note
        );
        // The median of eleven: five infinite ones above it.
        let mut mixed = vec![Some(2.0); 6];
        mixed.extend([None; 5]);
        let mixed = ratio_claim(&mixed);
        assert_eq!((mixed.effect, mixed.interval.0, mixed.verdict), (2.0, 2.0, Verdict::Supported));
        let low = ratio_claim(&[Some(0.5); 12]);
        assert_eq!((low.effect, low.verdict, low.undecided), (0.5, Verdict::NotSupported, None));
        let few = ratio_claim(&[None; 3]);
        assert_eq!((few.verdict, few.undecided.is_some()), (Verdict::NotDecided, true));
    }
}
