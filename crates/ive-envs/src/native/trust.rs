//! Who else could change an installed library, and so run code as this user.

use std::path::Path;

use super::Installed;

/// A warning if other users can write to the library, its folder, or the two folders above it; `None` if all is well.
///
/// The administrator may, of course. So may a group that has the number of its only member, which is how many systems
/// give each user a group of his own.
pub fn others_can_write(found: &Installed) -> Option<String> {
    let above = found.folder.ancestors().take(3);
    let place = std::iter::once(found.library.as_path()).chain(above).find(|place| is_shared(place))?;
    let place = place.display();
    Some(format!(
        "warning: other users can write to {place}, and the library there runs with your rights; `chmod go-w {place}`, \
         or set IVE_HOME to a folder of your own"
    ))
}

#[cfg(unix)]
fn is_shared(place: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(about) = std::fs::metadata(place) else { return false };
    // Who we are, where the system has this way to ask.
    let us = std::fs::metadata("/proc/self").map_or(about.uid(), |us| us.uid());
    let group = about.mode() & 0o020 != 0 && about.gid() != about.uid();
    // In a folder with the sticky bit only owners replace things.
    let everybody = about.mode() & 0o002 != 0 && about.mode() & 0o1000 == 0;
    everybody || group || ![us, 0].contains(&about.uid())
}

#[cfg(not(unix))]
fn is_shared(_place: &Path) -> bool {
    false
}
