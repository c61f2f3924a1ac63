//! Processes that stop in good order when the one that started them says so, or is gone.
//!
//! A signal could be sent, but nobody sends one when the parent is killed. So the child reads its standard input, a pipe
//! that nobody writes to: it ends when the parent closes it, and when the parent dies.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::progress::Session;

/// Asks the session to stop when standard input ends.
pub fn hold(session: &Session) {
    let session = session.clone();
    thread::spawn(move || {
        let mut scrap = [0; 64];
        while std::io::stdin().read(&mut scrap).is_ok_and(|read| read > 0) {}
        session.ask_to_stop();
    });
}

/// Starts a process that is to be held by [`hold`].
pub fn start(command: &mut Command) -> std::io::Result<Child> {
    command.stdin(Stdio::piped()).spawn()
}

/// Asks it to stop.
pub fn let_go(child: &mut Child) {
    drop(child.stdin.take());
}
