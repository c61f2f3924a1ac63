//! `ive reproduce`: from the command line to the report.

use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::ReproduceArgs;
use crate::exit::{Failure, Outcome};
use crate::experiments::{Name, Plan};
use crate::output::{self, layout};
use crate::progress::Session;
use crate::report::{self, Findings, date, terminal};
use crate::settings::{Layers, check_changes, read_file};
use crate::store::Store;

/// Runs the command.
pub fn run(args: &ReproduceArgs) -> Outcome {
    let plans = plan(args)?;
    let of_all = |part: &dyn Fn(&Plan) -> Outcome<Value>| {
        let named = plans.iter().map(|p| Ok((p.name().word().to_owned(), part(p)?)));
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

    let preset = args.preset.to_possible_value().map_or(String::new(), |p| p.get_name().to_owned());
    let out = args.out.clone().unwrap_or_else(|| default_out(&plans, &preset));
    let store = Store::open(&out, &of_all(&Plan::identity)?, args.overwrite)?;
    let session = Session::start(args.json)?;
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
    if session.stopped() {
        return Err(Failure::interrupted(format!(
            "interrupted; what is finished is kept in {}, the same command resumes from there",
            out.display()
        )));
    }
    failure.map_or(shown, Err)
}

/// Where results go. Experiments that `all` leaves out have a directory of their own, so that both can be kept.
fn default_out(plans: &[Plan], preset: &str) -> PathBuf {
    let apart = plans.iter().map(Plan::name).find(|name| !Name::ALL.contains(name));
    let folder = apart.map_or(preset.to_owned(), |name| format!("{}-{preset}", name.word()));
    PathBuf::from("ive-out").join(folder)
}

/// Checked settings of all experiments that take part.
fn plan(args: &ReproduceArgs) -> Outcome<Vec<Plan>> {
    let names = Name::parse(&args.experiment)?;
    let mut layers: Vec<Layers> = names.iter().map(|n| n.layers(args.preset)).collect::<Outcome<_>>()?;
    if let Some(path) = &args.config {
        let shown = path.display().to_string();
        let file = read_file(path)?;
        if let Some(key) = file.keys().find(|k| !Name::EVERY.iter().any(|n| n.word() == *k)) {
            let known: Vec<String> = Name::EVERY.iter().map(|n| n.word().to_owned()).collect();
            let hint = crate::settings::suggest(key, known.iter());
            return Err(Failure::config(format!("{shown}: there is no experiment `{key}`{hint}")));
        }
        layers.iter_mut().try_for_each(|l| l.add_file(&file, &shown))?;
    }
    check_changes(&args.changes, &layers)?;
    names.into_iter().zip(layers).map(|(n, l)| Plan::new(n, l, &args.changes, args.seeds)).collect()
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
