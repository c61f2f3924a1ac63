//! The memory of this process, for tests that are alone in theirs.

/// Kilobytes of memory in use.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Kilobytes by which memory grows in a thousand cycles of making and dropping, after a hundred that warm up.
pub fn growth(cycle: impl FnMut(u64) + Copy) -> usize {
    (0..100).for_each(cycle);
    let before = resident();
    (100..1100).for_each(cycle);
    resident().saturating_sub(before)
}
