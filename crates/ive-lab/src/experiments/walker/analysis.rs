//! Tables 1 and 3 and the verdict on H4.

use ive::mean_and_error;
use std::collections::BTreeMap;

use ive_agents::dreamer::Ascent;
use serde_json::{Value, json};

use super::published::{self, Method, table};
use super::run::{Record, of};
use super::score::{Measure, first_reward, score, scores};
use super::sweep::Settings;
use super::{figures, tables};
use crate::claim::{Claim, Verdict};
use crate::exit::Outcome;
use crate::experiments::runs::compare::{Difference, MIN_RUNS, UNBOUNDED, average, difference};
use crate::experiments::runs::size;
use crate::report::{Findings, table::grouped, unit::Unit};

/// What the paper says of μ+σ-IVE(5)♢ against each of the others, where it says something.
const CLAIMS: [(Method, Says); 5] = [
    (Method::Dreamer, Says::Beats),
    (Method::DreamerPlan, Says::Beats),
    (Method::Mu, Says::Beats),
    (Method::Emve, Says::Beats),
    (Method::Eve, Says::OnPar),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Beats,
    OnPar,
}

/// μ+σ-IVE(5)♢ against another method.
#[derive(Clone, Debug)]
pub struct Compared {
    pub other: Method,
    says: Says,
    /// At which thresholds.
    pub thresholds: Vec<f64>,
    /// By each measure; none without runs.
    pub differences: [Option<Difference>; 3],
}

impl Compared {
    /// `0.3`, or `0.3, 0.5, 0.7`.
    pub fn columns(&self) -> String {
        self.thresholds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Judges the finished runs.
pub fn findings(settings: &Settings, mut records: Vec<Record>) -> Outcome<Findings> {
    records.sort_by(|a, b| {
        let key = |r: &Record| (r.cell.threshold, r.cell.beta, r.cell.step);
        let number = key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal);
        a.cell.method.cmp(&b.cell.method).then(number).then(a.cell.seed.cmp(&b.cell.seed))
    });
    let records = &records[..];
    let methods = settings.methods()?;
    let compared = compare(settings, records, &methods)?;
    let mut claims: Vec<Claim> = compared.iter().flat_map(|one| claims_of(one, &compared)).collect();
    claims.extend(solved(settings, records, &methods)?);
    let mut tables = vec![
        ("table1", tables::table1(settings, records, &methods)),
        ("table1_learning", tables::learning(settings, records, &methods)),
        ("table1_differences", tables::comparisons(&compared)),
        ("table1_plans", tables::plans(settings, records, &methods)),
    ];
    if !settings.variations().is_empty() {
        tables.push(("table1_variations", tables::variations(settings, records)));
    }
    tables.push(("table1_cost", tables::cost(settings, records, &methods)));
    Ok(Findings {
        name: "walker",
        title: "Planning with what the model does not know: Dreamer on the walker (Table 1)".into(),
        scale: scale(settings, records)?,
        text: text(settings),
        claims,
        figures: figures::all(settings, records, &methods)?,
        tables,
        data: vec![
            ("runs", tables::runs(settings, records)),
            ("curves", tables::curves(settings, records, &methods)),
        ],
        numbers: json!({
            "runs": records.len(),
            "runs_planned": settings.cells()?.len(),
            "steps": settings.steps,
            "task": settings.task,
            "members": "k=1..5",
            "thresholds": settings.thresholds.iter().map(|&eta| {
                (eta.to_string(), methods.iter().map(|&m| (m.word(), numbers(settings, records, eta, m))).collect::<BTreeMap<_, _>>())
            }).collect::<BTreeMap<_, _>>(),
            "mu_sigma_ive_minus": compared.iter().map(difference_numbers).collect::<Vec<_>>(),
        }),
    })
}

/// Every comparison: over all η above zero at which both have been run together, then at each.
fn compare(settings: &Settings, records: &[Record], methods: &[Method]) -> Outcome<Vec<Compared>> {
    let mut out = Vec::new();
    for (other, says) in CLAIMS {
        if !methods.contains(&other) || !methods.contains(&Method::MuSigma) {
            continue;
        }
        let of = |eta, method, measure| scores(settings, records, eta, method, measure);
        let run = |eta, method| !of(eta, method, Measure::Final).is_empty();
        let both = |&eta: &f64| eta > 0.0 && run(eta, Method::MuSigma) && run(eta, other);
        let sparse: Vec<f64> = settings.thresholds.iter().copied().filter(both).collect();
        let mut sets: Vec<Vec<f64>> = sparse.iter().map(|&eta| vec![eta]).collect();
        if sparse.len() > 1 {
            sets.insert(0, sparse);
        }
        for thresholds in sets {
            let all =
                |method, measure| thresholds.iter().map(|&eta| of(eta, method, measure)).collect::<Vec<_>>();
            let [a, b, c] = Measure::ALL.map(|m| difference(&all(Method::MuSigma, m), &all(other, m)));
            out.push(Compared { other, says, differences: [a?, b?, c?], thresholds });
        }
    }
    Ok(out)
}

/// Over all η by each measure, at single ones beside them by the final return.
fn claims_of(compared: &Compared, all: &[Compared]) -> Vec<Claim> {
    let alone = all.iter().filter(|c| c.other == compared.other).count() == 1;
    let measures = if alone || compared.thresholds.len() > 1 { &Measure::ALL[..] } else { &[Measure::Final] };
    let claim = |&measure: &Measure| {
        let d = compared.differences[measure as usize].as_ref()?;
        let other = compared.other.label();
        // Where neither finds any reward, being on par is no merit.
        let nothing = d.interval.0 == d.interval.1;
        let (words, verdict) = match compared.says {
            Says::Beats => ("beats", Verdict::above(0.0, d.interval)),
            Says::OnPar if nothing => ("is on par with", Verdict::NotDecided),
            Says::OnPar => ("is on par with", Verdict::within(measure.margin(), d.interval)),
        };
        let note = match compared.says {
            Says::Beats => paper(compared),
            Says::OnPar => format!("on par: within ±{}; {}", measure.margin(), paper(compared)),
        };
        Some(Claim {
            hypothesis: "H4",
            claim: format!("μ+σ-IVE(5)♢ {words} {other} at η = {}, {}", compared.columns(), measure.name()),
            unit: if measure == Measure::Found { Unit::SHARES } else { Unit::RETURNS },
            measure: format!(
                "{}; {} runs against {}, Welch's interval",
                match measure {
                    Measure::Final => "return of episodes after training, by the mode of the actor",
                    Measure::Area => "mean return of all training episodes",
                    Measure::Found => "share of the run that is left when reward is found",
                },
                d.runs[0],
                d.runs[1]
            ),
            effect: d.effect,
            interval: d.interval,
            verdict,
            undecided: d
                .undecided
                .clone()
                .or_else(|| nothing.then(|| "all runs of both are alike".to_owned())),
            note,
        })
    };
    measures.iter().filter_map(claim).collect()
}

/// The difference of the published means, as far as the paper has these thresholds.
fn paper(compared: &Compared) -> String {
    let of = |&eta: &f64| Some((eta, table(Method::MuSigma, eta)?.0 - table(compared.other, eta)?.0));
    let known: Vec<String> =
        compared.thresholds.iter().filter_map(of).map(|(eta, d)| format!("{d:+.0} at η = {eta}")).collect();
    if known.is_empty() {
        "the paper has no such η".to_owned()
    } else {
        format!("final returns of the paper: {}", known.join(", "))
    }
}

/// That every method solves the task with all of its rewards; judged by the method whose interval reaches lowest.
fn solved(settings: &Settings, records: &[Record], methods: &[Method]) -> Outcome<Option<Claim>> {
    let (mut all, mut few) = (Vec::new(), None);
    for &method in methods {
        let values = scores(settings, records, 0.0, method, Measure::Final);
        if values.len() < MIN_RUNS && !values.is_empty() {
            few = Some(few.map_or(values.len(), |n: usize| n.min(values.len())));
        }
        if let Some((mean, interval)) = average(&[values])? {
            all.push((method, mean - settings.solved, interval));
        }
    }
    let above = |(low, high): (f64, f64)| (low - settings.solved, high - settings.solved);
    let lowest = |a: &&(Method, f64, (f64, f64)), b: &&(Method, f64, (f64, f64))| {
        a.2.0.total_cmp(&b.2.0).then(a.1.total_cmp(&b.1))
    };
    let Some(&(worst, effect, interval)) = all.iter().min_by(lowest) else { return Ok(None) };
    let interval = if few.is_some() { UNBOUNDED } else { above(interval) };
    let missed = few.is_none() && all.iter().any(|(_, _, interval)| above(*interval).1 < 0.0);
    Ok(Some(Claim {
        hypothesis: "Table 1",
        claim: format!("All methods solve η = 0, final return above {}", settings.solved),
        unit: Unit::RETURNS,
        measure: format!(
            "final return minus {}, of the one of {} methods whose t interval over runs reaches lowest",
            settings.solved,
            all.len()
        ),
        effect,
        interval,
        verdict: if missed { Verdict::NotSupported } else { Verdict::above(0.0, interval) },
        undecided: few.map(|n| format!("too few runs: {n}, at least {MIN_RUNS} of each method are needed")),
        note: format!("reaches lowest: {}; the paper has 1000 for all", worst.label()),
    }))
}

/// How much smaller than the paper's this table is.
fn scale(settings: &Settings, records: &[Record]) -> Outcome<String> {
    let planned = settings.cells()?.len();
    let size = size(settings.steps, published::STEPS);
    let seen = if settings.observation == "state" {
        "from the 24 numbers of the body (the paper: from pixels)"
    } else {
        "from pixels, as in the paper"
    };
    let mut out = format!(
        "{} steps per run, {size} {}, {seen}; {} seed{} (the paper: {}); {} of 7 methods; agents with the settings of their preset {}.",
        grouped(settings.steps),
        grouped(published::STEPS),
        settings.seeds,
        if settings.seeds == 1 { "" } else { "s" },
        published::SEEDS,
        settings.methods()?.len(),
        settings.agent_preset
    );
    if records.len() < planned {
        out += &format!(" Not complete: {} of {planned} runs are finished.", records.len());
    }
    Ok(out)
}

/// What is shown, and how to read it.
fn text(settings: &Settings) -> Vec<String> {
    vec![
        "Rewards below η count as zero, so the larger η, the longer the walker walks blindly before it meets one. All methods learn the \
         same model, value and actor from what they collect; they differ in who collects: the actor with noise, or plans that raise \
         the λ-return, the mean μ of the members k = 1..5, or μ + βσ. H4 says that seeking σ finds reward where Dreamer does not."
            .to_owned(),
        format!(
            "β is {} for IVE, {} for EVE and {} for EMVE; gradient plans take steps of {} {}.",
            settings.beta_ive,
            settings.beta_eve,
            settings.beta_emve,
            settings.plan_step,
            match settings.plan_ascent {
                Ascent::Gradient => "times the gradient",
                Ascent::Unit => "in the direction of the gradient, whatever its length",
            }
        ),
        "The unit is a run. At one η methods are compared by Welch's interval for the difference of means, runs not paired: seeds share no more than \
         their first random episodes. Over several η it is the mean of the differences, spread measured within η. Five runs of each \
         method are needed. Where a method succeeds in one run of ten or fewer, five runs rarely show it and such intervals are too \
         narrow (docs/deviations.md)."
            .to_owned(),
        "There are many intervals here, and about one in twenty misses the truth by chance. Of each comparison those over all η come first: they are \
         the verdict, the single ones say where it comes from."
            .to_owned(),
    ]
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn numbers(settings: &Settings, records: &[Record], eta: f64, method: Method) -> Value {
    let runs = || of(settings, records, eta, method);
    let mut all: BTreeMap<&str, Value> = BTreeMap::new();
    let mut per_seed: BTreeMap<&str, Value> = BTreeMap::new();
    for measure in Measure::ALL {
        let (mean, error) = mean_and_error(&scores(settings, records, eta, method, measure));
        all.insert(measure.key(), json!((finite(mean), finite(error))));
        per_seed
            .insert(measure.key(), json!(runs().map(|r| score(settings, r, measure)).collect::<Vec<_>>()));
    }
    per_seed.insert("first_reward", json!(runs().map(|r| first_reward(settings, r)).collect::<Vec<_>>()));
    all.insert("seeds", json!(runs().map(|r| r.cell.seed).collect::<Vec<_>>()));
    all.insert("per_seed", json!(per_seed));
    all.insert("paper", json!(table(method, eta)));
    json!(all)
}

fn difference_numbers(compared: &Compared) -> Value {
    let one = |d: &Difference| {
        json!({
            "runs": d.runs,
            "effect": d.effect,
            "interval": [finite(d.interval.0), finite(d.interval.1)],
        })
    };
    let each = Measure::ALL.iter().zip(&compared.differences);
    let each: BTreeMap<_, _> = each.map(|(m, d)| (m.key(), d.as_ref().map(one))).collect();
    json!({ "method": compared.other.word(), "thresholds": compared.thresholds, "differences": each })
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{fixture, records, run, settings};
    use super::*;
    use crate::experiments::walker::sweep::Cell;

    fn close(got: f64, expected: &Value) {
        let expected = expected.as_f64().unwrap();
        assert!((got - expected).abs() < 1e-9 * expected.abs().max(1.0), "{got} is not {expected}");
    }

    #[test]
    fn scores_match_numpy() {
        let (f, settings) = (fixture(), settings());
        let records = records(&f);
        for measure in Measure::ALL {
            for method in Method::ALL {
                for (row, &eta) in settings.thresholds.iter().enumerate() {
                    let expected = &f["expected"]["scores"][measure.key()][method.word()][row];
                    let ours = scores(&settings, &records, eta, method, measure);
                    assert_eq!(ours.len(), 5);
                    ours.iter().enumerate().for_each(|(seed, x)| close(*x, &expected[seed]));
                }
            }
        }
    }

    #[test]
    fn differences_match_scipy_and_verdicts_follow_them() {
        let (f, settings) = (fixture(), settings());
        let found = findings(&settings, records(&f)).unwrap();
        let all = found.numbers["mu_sigma_ive_minus"].as_array().unwrap();
        assert_eq!(all.len(), 5 * 4, "five others, at three η together and at each");
        for one in all {
            let expected =
                f["expected"]["mu-sigma-ive against"][one["method"].as_str().unwrap()].as_array().unwrap();
            let expected = expected.iter().find(|e| e["thresholds"] == one["thresholds"]).unwrap();
            for measure in Measure::ALL {
                let (got, expected) = (&one["differences"][measure.key()], &expected[measure.key()]);
                close(got["effect"].as_f64().unwrap(), &expected["effect"]);
                (0..2).for_each(|i| close(got["interval"][i].as_f64().unwrap(), &expected["interval"][i]));
            }
        }
        let h4: Vec<&Claim> = found.claims.iter().filter(|c| c.hypothesis == "H4").collect();
        assert_eq!(h4.len(), 5 * (3 + 3));
        for claim in h4 {
            let (low, high) = claim.interval;
            let beats = claim.claim.contains(" beats ");
            let margin = if claim.unit == Unit::SHARES { 0.1 } else { 100.0 };
            let supported = if beats { low > 0.0 } else { low > -margin && high < margin };
            assert_eq!(claim.verdict == Verdict::Supported, supported, "{claim:?}");
        }
        let solved = found.claims.last().unwrap();
        let expected = &f["expected"]["worst at 0"]["interval"];
        close(solved.interval.0 + settings.solved, &expected[0]);
        close(solved.interval.1 + settings.solved, &expected[1]);
        assert!(found.scale.contains("5 times fewer than the paper's"), "{}", found.scale);
        assert_eq!(found.numbers["thresholds"]["0.3"]["mu-ive"]["paper"], json!([690.0, 70.0]));
        assert_eq!(found.numbers["thresholds"]["0.7"]["mu-ive"]["paper"], Value::Null);
    }

    /// Runs come in any order, and the analysis does not depend on it.
    #[test]
    fn the_order_of_runs_changes_nothing() {
        let f = fixture();
        let (forward, mut backward) = (records(&f), records(&f));
        backward.reverse();
        let of = |records| findings(&settings(), records).unwrap();
        let (a, b) = (of(forward), of(backward));
        assert_eq!(a.summary(&Value::Null), b.summary(&Value::Null));
        let csv = |f: &Findings| f.tables.iter().chain(&f.data).map(|(_, t)| t.csv()).collect::<Vec<_>>();
        assert_eq!(csv(&a), csv(&b));
    }

    /// Claims name the η at which both methods have been run, and no other; if there is one only, it is judged by every measure.
    #[test]
    fn claims_name_the_thresholds_that_were_run() {
        let settings = settings();
        let one = |method, seed| run(settings.cell(0.7, method, seed), 400.0 + seed as f64, 0);
        let mut runs: Vec<Record> = [Method::Dreamer, Method::MuSigma]
            .iter()
            .flat_map(|&m| (0..5).map(move |seed| one(m, seed)))
            .collect();
        runs.push(run(settings.cell(0.5, Method::Dreamer, 0), 400.0, 0));
        let found = findings(&settings, runs).unwrap();
        assert_eq!(found.claims.len(), Measure::ALL.len());
        assert!(found.claims.iter().all(|c| c.claim.contains("Dreamer at η = 0.7, ")), "{:?}", found.claims);
    }

    /// What was not run is a dash, not a panic; and four runs decide nothing.
    #[test]
    fn too_few_runs_decide_nothing_and_say_why() {
        let settings = settings();
        let one = |method, seed| run(settings.cell(0.5, method, seed), 400.0 + seed as f64, 0);
        let alone = findings(&settings, vec![one(Method::Dreamer, 0)]).unwrap();
        assert!(alone.claims.is_empty() && alone.scale.contains("1 of 140 runs"), "{}", alone.scale);
        assert!(alone.figures.iter().all(|f| f.svg.contains("η = 0.5") || f.name == "table1_plans"));
        let four = [Method::Dreamer, Method::MuSigma].into_iter();
        let four = four.flat_map(|m| (0..4).map(move |seed| (m, seed))).map(|(m, seed)| one(m, seed));
        let few = findings(&settings, four.collect()).unwrap();
        assert!(!few.claims.is_empty());
        for claim in &few.claims {
            let why = claim.undecided.as_ref().unwrap();
            assert!(claim.verdict == Verdict::NotDecided && why.contains("4 and 4, at least 5"), "{why}");
        }
    }

    /// Further β are reported beside the table, and leave the table alone.
    #[test]
    fn variations_have_a_table_of_their_own() {
        let f = fixture();
        let plain = findings(&settings(), records(&f)).unwrap();
        let more = Settings { betas: vec![0.1, 10.0], ..settings() };
        let mut all = records(&f);
        all.push(run(Cell { beta: 10.0, ..more.cell(0.5, Method::MuSigma, 3) }, 900.0, 0));
        let varied = findings(&more, all).unwrap();
        let table = |found: &Findings, name: &str| {
            found.tables.iter().find(|(known, _)| *known == name).map(|(_, table)| table.csv())
        };
        assert_eq!(table(&varied, "table1"), table(&plain, "table1"));
        assert!(table(&plain, "table1_variations").is_none());
        let rows = table(&varied, "table1_variations").unwrap();
        let rows: Vec<&str> = rows.lines().collect();
        assert!(
            rows.len() == 3 && rows[1].starts_with("0.1,0.1,5,") && rows[2].starts_with("10,0.1,1,920,"),
            "{rows:?}"
        );
    }
}
