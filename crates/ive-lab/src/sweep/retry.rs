//! What an exit code means for whoever started the process (`docs/exit-codes.md`).

use std::process::ExitStatus;

/// How often something is tried again without progress.
pub const LIMIT: u32 = 3;

/// What to do after a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing: it is done.
    Done,
    /// It was stopped on request, and can go on at once.
    Stopped,
    /// Somebody else works on it: try later.
    Busy,
    /// It crashed, was killed, or reading or writing failed: try again, a few times.
    Again,
    /// Trying again would end in the same way.
    Never,
}

impl After {
    /// Of an exit code; none for a process that a signal ended.
    pub fn code(code: Option<i32>) -> Self {
        match code {
            Some(0) => Self::Done,
            Some(75) => Self::Stopped,
            Some(73) => Self::Busy,
            Some(64 | 65 | 70 | 78) => Self::Never,
            _ => Self::Again,
        }
    }
}

/// `exit code 74`, `signal 9`.
pub fn words(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.code().map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_mean_what_the_page_on_exit_codes_says() {
        let page = include_str!("../../../../docs/exit-codes.md");
        for code in [0, 64, 65, 70, 73, 74, 75, 78] {
            let row = page.lines().find(|line| line.starts_with(&format!("| {code} |"))).unwrap();
            let advice = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap().trim();
            let expected = match After::code(Some(code)) {
                After::Done | After::Never => "no",
                After::Stopped => "yes, at once",
                After::Busy => "later",
                After::Again => "yes",
            };
            assert_eq!(advice, expected, "{code}");
        }
        assert_eq!(After::code(None), After::Again);
    }
}
