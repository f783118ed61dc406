//! Files that appear whole or not at all.

use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to a temporary file beside `path` and renames it, so that a reader never sees half a file and an
/// interrupted run leaves the old one. The file gets the usual permissions (666 less the umask).
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ambler-");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt;
        // tempfile's own default of 600 would keep colleagues from reading results
        builder.permissions(std::fs::Permissions::from_mode(0o666))
    };
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
