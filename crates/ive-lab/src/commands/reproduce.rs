//! `ive reproduce`: from the command line to the report.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::ReproduceArgs;
use crate::exit::{Failure, Outcome};
use crate::experiments::{Experiment, Plan, Preset};
use crate::output::{self, layout};
use crate::progress::Session;
use crate::report::{self, Findings, date, terminal};
use crate::settings::{Change, Layers, check_changes, read_file};
use crate::store::Store;
use crate::sweep::experiment;
use crate::sweep::manifest::Sweep;

/// Runs the command.
pub fn run(args: &ReproduceArgs) -> Outcome {
    let Some((plans, sweep)) = source(args)? else { return Ok(()) };
    let of_all = |part: &dyn Fn(&Plan) -> Outcome<Value>| {
        let named = plans.iter().map(|p| Ok((p.experiment.name.to_owned(), part(p)?)));
        named.collect::<Outcome<_>>().map(Value::Object)
    };
    let settings = of_all(&Plan::settings)?;
    if args.dry_run {
        return output::json(&settings);
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build_global()
        .map_err(|e| Failure::internal(format!("cannot start threads: {e}")))?;

    let preset = if args.from.is_some() { "as the sweep was planned".to_owned() } else { preset_word(args) };
    let only_report = sweep.is_some() || args.report_only;
    let out = sweep.unwrap_or_else(|| args.out.clone().unwrap_or_else(|| default_out(&plans, &preset)));
    if args.report_only && !out.exists() {
        return Err(Failure::usage(format!("there is no {}, so nothing to report", out.display())));
    }
    let store = Store::open(&out, &of_all(&Plan::identity)?, args.overwrite)?;
    // What is not finished is not made here.
    let mut session = Session::start(args.json)?;
    session.only_finished = only_report;
    let start = Instant::now();
    let (mut all, mut origin, mut failure, mut shown) = (Vec::new(), Value::Null, None, Ok(()));
    for plan in &plans {
        if session.stopped() {
            break;
        }
        let judged = plan.run(&store, &session)?;
        failure = failure.or(judged.failure);
        let Some(findings) = judged.findings else { continue };
        origin = provenance(&preset, &settings, start);
        findings.write(&store, &origin)?;
        all.push(findings);
    }
    if !all.is_empty() {
        let page = report::html(&all, report::Origin { provenance: &origin, place: store.root() });
        store.write("report.html", page.as_bytes())?;
        shown = show(args, &all, &store, &origin, start);
    }
    if args.report_only && all.is_empty() && failure.is_none() {
        return Err(Failure::usage(format!("nothing is finished in {} yet", out.display())));
    }
    if session.stopped() {
        return Err(Failure::interrupted(format!(
            "interrupted; what is finished is kept in {}, the same command resumes from there",
            out.display()
        )));
    }
    failure.map_or(shown, Err)
}

/// What is to be judged; of a sweep also its directory, whose runs are verified. None if an engine is still at work on them.
fn source(args: &ReproduceArgs) -> Outcome<Option<(Vec<Plan>, Option<PathBuf>)>> {
    let verified = |dir: &Path| -> Outcome<Plan> {
        let sweep = Sweep::open(dir)?;
        let plan = experiment::plan(&sweep)?;
        super::sweep::verified(&sweep, args.partial, args.how.allow_mixed)?;
        Ok(plan)
    };
    if let Some(dir) = &args.from {
        let plan = verified(dir)?;
        let (asked, there) = (&args.experiment, plan.experiment.name);
        if asked != there && asked != "all" {
            return Err(Failure::usage(format!("{} is a sweep of {there}, not of {asked}", dir.display())));
        }
        return Ok(Some((vec![plan], Some(dir.clone()))));
    }
    let plans = plan(args)?;
    let Some(engine) = args.engine.filter(|_| !args.dry_run) else { return Ok(Some((plans, None))) };
    let [plan] = plans.as_slice() else {
        return Err(Failure::usage(
            "--engine: name one experiment, walker, procgen, minatar or trials".to_owned(),
        ));
    };
    let out = args.out.clone().unwrap_or_else(|| default_out(&plans, &preset_word(args)));
    if !super::sweep::distribute(args, engine, &out, plan)? {
        return Ok(None);
    }
    Ok(Some((vec![verified(&out)?], Some(out))))
}

/// The settings of one experiment.
pub fn one(name: &str, preset: Preset, changes: &[Change], seeds: Option<u64>) -> Outcome<Plan> {
    let named = Experiment::parse(name)?;
    let [experiment] = named.as_slice() else {
        return Err(Failure::usage(format!("`{name}` is more than one experiment; name one")));
    };
    let layers = experiment.layers(preset)?;
    check_changes(changes, std::slice::from_ref(&layers))?;
    Plan::new(experiment, layers, changes, seeds)
}

fn preset_word(args: &ReproduceArgs) -> String {
    args.preset.to_possible_value().map_or(String::new(), |p| p.get_name().to_owned())
}

/// Where results go. Experiments that `all` leaves out have a directory of their own, so that both can be kept.
fn default_out(plans: &[Plan], preset: &str) -> PathBuf {
    let apart = plans.iter().map(|plan| plan.experiment).find(|experiment| !experiment.in_all);
    let folder = apart.map_or(preset.to_owned(), |experiment| format!("{}-{preset}", experiment.name));
    PathBuf::from("ive-out").join(folder)
}

/// Checked settings of all experiments that take part.
fn plan(args: &ReproduceArgs) -> Outcome<Vec<Plan>> {
    let experiments = Experiment::parse(&args.experiment)?;
    let mut layers: Vec<Layers> =
        experiments.iter().map(|n| n.layers(args.preset)).collect::<Outcome<_>>()?;
    if let Some(path) = &args.config {
        let shown = path.display().to_string();
        let file = read_file(path)?;
        let known: Vec<String> = Experiment::names().collect();
        if let Some(key) = file.keys().find(|key| !known.contains(key)) {
            let hint = crate::settings::suggest(key, known.iter());
            return Err(Failure::config(format!("{shown}: there is no experiment `{key}`{hint}")));
        }
        layers.iter_mut().try_for_each(|l| l.add_file(&file, &shown))?;
    }
    check_changes(&args.changes, &layers)?;
    let both = experiments.into_iter().zip(layers);
    both.map(|(e, layers)| Plan::new(e, layers, &args.changes, args.seeds)).collect()
}

fn provenance(preset: &str, settings: &Value, start: Instant) -> Value {
    let command: Vec<String> = std::env::args().skip(1).collect();
    json!({
        "command": format!("ive {}", command.join(" ")),
        "preset": preset,
        "version": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("IVE_COMMIT").unwrap_or("unknown"),
        "date": date::today(),
        "machine": { "os": std::env::consts::OS, "arch": std::env::consts::ARCH,
            "threads": rayon::current_num_threads(), "cpu": cpu_name() },
        "wall_seconds": (start.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        "settings": settings,
    })
}

/// The model of the CPU, where the system tells.
pub fn cpu_name() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn show(args: &ReproduceArgs, all: &[Findings], store: &Store, origin: &Value, start: Instant) -> Outcome {
    if args.json {
        let summaries: Vec<Value> = all.iter().map(|f| f.summary(origin)).collect();
        return output::json(&json!(summaries));
    }
    let terminal = terminal::Terminal::here();
    let mut text = format!("\n{}\n", terminal::verdicts(all, terminal));
    for findings in all {
        text += &layout::fold(&format!("{}: {}", findings.name, findings.scale), output::width(), 2);
    }
    let (page, seconds) = (store.root().join("report.html"), start.elapsed().as_secs_f64());
    output::print(&format!("{text}\nreport: {}  ({seconds:.0} s)\n", page.display()))
}
