//! stub
use super::sweep::Settings;
use crate::exit::{Failure, Outcome};
use crate::experiments::Judged;
use crate::progress::Session;
use crate::store::Store;

pub fn all(_settings: &Settings, _store: &Store, _session: &Session) -> Outcome<Judged> {
    Err(Failure::internal("not yet"))
}
