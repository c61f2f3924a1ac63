//! placeholder
use crate::exit::Outcome;
/// x
#[derive(clap::Args, Debug)]
pub struct TabularArgs {}
pub fn run(_a: &TabularArgs) -> Outcome {
    Ok(())
}
