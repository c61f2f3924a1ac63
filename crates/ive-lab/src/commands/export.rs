//! `ive export`: the model of a trained agent as ONNX graphs.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `ive export`.
#[derive(Args, Debug)]
#[command(after_help = "\
DIR then holds representation.onnx, dynamics.onnx, value.onnx and a model.toml that says what their \
inputs and outputs mean (docs/onnx.md): for `ive score --model`, or any program that runs ONNX. Value \
prediction networks (mu-ive, vpn-v1, vpn-v5) can be written; a DQN has no model.

The policy in the folder is greedy, one step deep: the agent's own plan is a search, not a graph. With \
`ive score --actions` the first member (k = 1) of every action is the agent's own; with branching = \
[6, 1, 1, 1, 1] all members are. The value of a state that was just encoded, k = 0, is never trained: \
use --members 1..5.

Examples:
  ive export breakout-mu-ive-0 breakout-onnx
  ive score --model breakout-onnx --states boards.npy --members 1..5 --out scores.npz

Exit codes: 0 done, 64 usage, 65 corrupt data, 74 input or output.")]
pub struct ExportArgs {
    /// The run: its directory, or its name in `runs` or `ive-out`
    run: PathBuf,
    /// The folder to be made; it must not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

#[cfg(not(feature = "onnx"))]
/// There are no graphs in this build.
pub fn run(_: &ExportArgs) -> crate::exit::Outcome {
    Err(crate::exit::Failure::usage("this build has no ONNX; build it with the feature `onnx`"))
}

#[cfg(feature = "onnx")]
pub use with_onnx::run;

#[cfg(feature = "onnx")]
mod with_onnx {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io;
    use std::path::Path;

    use ive_agents::Agent;
    use ive_onnx::export::{Tensors, value_prediction_network};
    use serde_json::json;

    use super::ExportArgs;
    use crate::exit::{Failure, Outcome};
    use crate::output;
    use crate::report::table::grouped;
    use crate::run::{load, search::find};

    /// Runs the command.
    pub fn run(args: &ExportArgs) -> Outcome {
        free(&args.folder)?;
        let dir = find(&args.run)?;
        let (plan, agent) = load(&dir)?;
        let files = graphs(&plan.agent, agent.as_ref())?;
        write(&args.folder, &files)?;
        let (folder, steps) = (args.folder.display(), agent.steps());
        if args.json {
            return output::json(&json!({
                "run": dir.display().to_string(), "agent": plan.agent, "world": plan.world, "step": steps,
                "folder": folder.to_string(), "files": files.keys().collect::<Vec<_>>(),
            }));
        }
        let bytes: usize = files.values().map(Vec::len).sum();
        output::print(&format!(
            "{folder}: {} after {} steps in {}, as {} files of {} kB in all\n",
            plan.agent,
            grouped(steps),
            plan.world,
            files.len(),
            grouped(bytes as u64 / 1000),
        ))
    }

    /// Refuses a folder that is there.
    fn free(folder: &Path) -> Outcome {
        match folder.symlink_metadata() {
            Ok(_) => Err(Failure::usage(format!("{} exists; name a folder that does not", folder.display()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Failure::io(format!("cannot look at {}: {e}", folder.display()))),
        }
    }

    /// The files of the model of an agent.
    pub(super) fn graphs(name: &str, agent: &dyn Agent) -> Outcome<BTreeMap<String, Vec<u8>>> {
        let weights = agent.weights().ok_or_else(|| {
            Failure::usage(format!(
                "{name} has no model that can be written as ONNX; mu-ive, vpn-v1 and vpn-v5 have, \
                 with reward_loss=huber and prior_scale=0"
            ))
        })?;
        let refused =
            |e: ive_onnx::OnnxError| Failure::usage(format!("{name} cannot be written as ONNX: {e}"));
        let mut tensors = Tensors::default();
        for tensor in weights {
            tensors.add(tensor.name, tensor.shape, tensor.numbers).map_err(refused)?;
        }
        value_prediction_network(&tensors, agent.summary().discount).map_err(refused)
    }

    /// Writes the folder under a temporary name and renames it: it is there as a whole or not at all.
    pub(super) fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Outcome {
        let shown = folder.display();
        let failed = |what: &str, e: io::Error| Failure::io(format!("cannot {what} {shown}: {e}"));
        let name =
            folder.file_name().ok_or_else(|| Failure::usage(format!("{shown} is no name of a folder")))?;
        let beside = folder.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        let fill = || -> io::Result<()> {
            fs::create_dir(&beside)?;
            files.iter().try_for_each(|(name, bytes)| fs::write(beside.join(name), bytes))?;
            // A rename would replace an empty folder that came into being meanwhile.
            if folder.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(&beside, folder)
        };
        fill().map_err(|e| {
            let _ = fs::remove_dir_all(&beside);
            failed("write", e)
        })
    }
}
