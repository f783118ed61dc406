//! Reading TOML with errors a person can act on, and writing files so that no reader ever sees half of one.
//!
//! In: text and paths. Out: typed values, or an error that names file, line, key, what was expected and the nearest
//! known name. Knows nothing of what the files mean.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::names::nearest;

/// What is wrong in a TOML file, and where.
#[derive(Debug, Error, Clone, PartialEq)]
#[error("{source_name}:{line}:{column}: {}{message}{}",
        key.as_ref().map(|k| format!("`{k}`: ")).unwrap_or_default(),
        suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default())]
pub struct TomlError {
    /// File, or whatever else the text came from.
    pub source_name: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Path of the key, as far as it is known: `body[2].mass`, or the table it is missing in.
    pub key: Option<String>,
    /// What was found and what was expected.
    pub message: String,
    /// Nearest known name, if one is near.
    pub suggestion: Option<String>,
}

/// A file could not be read, written or understood.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("{path}: {error}")]
    Io { path: String, error: std::io::Error },
    #[error(transparent)]
    Toml(#[from] TomlError),
}

impl FileError {
    pub fn io(path: &Path, error: std::io::Error) -> FileError {
        FileError::Io {
            path: path.display().to_string(),
            error,
        }
    }
}

/// Parses TOML `text`; `source_name` is what errors call it. Give `T` `#[serde(deny_unknown_fields)]`, and avoid
/// `flatten` and untagged enums, which lose the place of an error.
pub fn parse_toml<T: DeserializeOwned>(text: &str, source_name: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let (message, suggestion) = explain(error.message());
        TomlError {
            suggestion,
            ..error_at(text, source_name, offset, message)
        }
    })
}

/// Reads and parses a TOML file.
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    Ok(parse_toml(&read_text(path)?, &path.display().to_string())?)
}

/// Reads a UTF-8 file.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = read_bytes(path).map_err(|error| FileError::io(path, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let (valid, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        FileError::Toml(TomlError {
            source_name: path.display().to_string(),
            line: bytes[..valid].iter().filter(|b| **b == b'\n').count() + 1,
            column: bytes[..valid].iter().rev().take_while(|b| **b != b'\n').count() + 1,
            key: None,
            message: format!("byte {:#04x} is not UTF-8; save the file as UTF-8 text", bytes[valid]),
            suggestion: None,
        })
    })
}

/// Bytes that are taken from something that is no regular file, and so has no size of its own.
const LONGEST_STREAM: u64 = 1 << 28;

/// Reads a file. Pipes and devices are read up to their end, which must come: `/dev/zero` is refused.
pub fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    file.take(LONGEST_STREAM + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_STREAM {
        return Err(std::io::Error::other(format!(
            "no end after {} MiB; expected a file",
            LONGEST_STREAM >> 20
        )));
    }
    Ok(bytes)
}

/// An error about the value at byte `offset` of `text`, for checks made after parsing (see [`toml::Spanned`]).
pub fn error_at(text: &str, source_name: &str, offset: usize, message: impl Into<String>) -> TomlError {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    TomlError {
        source_name: source_name.to_string(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        key: key_at(text, line_start),
        message: message.into(),
        suggestion: None,
    }
}

/// An error about `key` in the table whose header or first byte is at `table_offset`; about the table itself if the
/// key is not written there.
pub fn error_in_table(
    text: &str,
    source_name: &str,
    table_offset: usize,
    key: &str,
    message: impl Into<String>,
) -> TomlError {
    let mut offset = table_offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let mut at = text[..offset].rfind('\n').map_or(0, |i| i + 1);
    let mut found = offset;
    for (i, line) in text[at..].split_inclusive('\n').enumerate() {
        if i > 0 && line.starts_with('[') {
            break;
        }
        if key_of_line(line) == Some(key) {
            found = at;
            break;
        }
        at += line.len();
    }
    let mut error = error_at(text, source_name, found, message);
    if error.key.as_deref().is_none_or(|path| !path.ends_with(key)) {
        error.key = Some(match error.key {
            Some(path) => format!("{path}.{key}"),
            None => key.to_string(),
        });
    }
    error
}

/// A file that appears, whole, when it is [kept](NewFile::keep): until then what is written goes to a temporary file in the
/// same folder, which vanishes if this is dropped.
///
/// A link stays a link, its target is replaced.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    file: std::io::BufWriter<tempfile::NamedTempFile>,
}

impl NewFile {
    /// Begins a file that will be called `path`.
    pub fn create(path: &Path) -> Result<NewFile, FileError> {
        let create = || -> std::io::Result<NewFile> {
            let path = match std::fs::metadata(path) {
                Ok(found) if found.is_file() => std::fs::canonicalize(path)?,
                _ => path.to_path_buf(),
            };
            let folder = match path.parent() {
                Some(p) if !p.as_os_str().is_empty() => p,
                _ => Path::new("."),
            };
            let mut builder = tempfile::Builder::new();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                // what any new file gets: the umask is applied to it
                builder.permissions(std::fs::Permissions::from_mode(0o666));
            }
            let file = std::io::BufWriter::new(builder.tempfile_in(folder)?);
            Ok(NewFile { path, file })
        };
        create().map_err(|error| FileError::io(path, error))
    }

    /// What it will be called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in its place.
    pub fn keep(self) -> Result<(), FileError> {
        let NewFile { path, file } = self;
        let keep = || -> std::io::Result<()> {
            let file = file.into_inner().map_err(|e| e.into_error())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|e| e.error)?;
            Ok(())
        };
        keep().map_err(|error| FileError::io(&path, error))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Writes a file by way of a temporary one in the same folder and a rename: a reader sees the old file or the new one.
///
/// A link stays a link, its target is replaced. A pipe or device (`/dev/stdout`) cannot be replaced without destroying it:
/// it is written to as it is.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let is_special = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_special {
        let write = || std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
        return write().map_err(|error| FileError::io(path, error));
    }
    let mut file = NewFile::create(path)?;
    file.write_all(bytes).map_err(|error| FileError::io(path, error))?;
    file.keep()
}

/// As [`write_atomic`] for a file that is written again and again: the disk is waited for only if `sync` says so. A process that is
/// killed leaves the old file or the new one all the same; only when the machine itself fails can it be neither.
pub fn write_replacing(path: &Path, bytes: &[u8], sync: bool) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".tmp-{name}"));
    let write = || {
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(bytes)?;
        if sync {
            file.sync_all()?;
        }
        std::fs::rename(&beside, path)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}

/// serde's message on one line, and the nearest of the names it expected.
fn explain(message: &str) -> (String, Option<String>) {
    let message = message.trim().replace('\n', ", ");
    let mut suggestion = None;
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        let mut quoted = message.split('`').skip(1).step_by(2);
        if let Some(found) = quoted.next() {
            suggestion = nearest(found, quoted).map(str::to_string);
        }
    }
    (message, suggestion)
}

/// Path of the key on the line that starts at byte `line_start`: the last table header above it and the line's own key.
fn key_at(text: &str, line_start: usize) -> Option<String> {
    let line = text[line_start..].lines().next().unwrap_or_default();
    let mut table: Option<(String, bool)> = header_of_line(line);
    let key = if table.is_some() { None } else { key_of_line(line) };
    let mut index = 0;
    let mut above = text[..line_start].lines().rev();
    if table.is_none() {
        table = above.by_ref().find_map(header_of_line);
    }
    if let Some((name, true)) = &table {
        index = above
            .filter_map(header_of_line)
            .filter(|(n, array)| *array && n == name)
            .count();
    }
    let table = table.map(|(name, array)| if array { format!("{name}[{index}]") } else { name });
    match (table, key) {
        (Some(t), Some(k)) => Some(format!("{t}.{k}")),
        (Some(t), None) => Some(t),
        (None, Some(k)) => Some(k.to_string()),
        (None, None) => None,
    }
}

/// Name of a `[table]` or `[[array]]` header and whether it is an array's.
fn header_of_line(line: &str) -> Option<(String, bool)> {
    // a header starts its line here; nested arrays of values are indented by every formatter
    let line = line.strip_prefix('[')?;
    match line.strip_prefix('[') {
        Some(rest) => Some((rest.split_once("]]")?.0.trim().to_string(), true)),
        None => Some((line.split_once(']')?.0.trim().to_string(), false)),
    }
}

fn key_of_line(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim().trim_matches('"');
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct File {
        rate_hz: f64,
        #[serde(default)]
        body: Vec<Part>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Part {
        mass: f64,
        kind: Option<Kind>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Hinge,
        Ball,
    }

    #[test]
    fn an_unknown_key_is_reported_with_its_place_and_the_nearest_known_one() {
        // the error names file, line, column, path and the key that was meant
        let text = "rate_hz = 120\n\n[[body]]\nmass = 1\n[[body]]\n# heavy\nmas = 2.5\n";
        let error = parse_toml::<File>(text, "walk.toml").unwrap_err();
        assert_eq!((error.line, error.column), (7, 1), "{error}");
        assert_eq!(error.key.as_deref(), Some("body[1].mas"));
        assert_eq!(error.suggestion.as_deref(), Some("mass"));
        assert!(
            error
                .to_string()
                .starts_with("walk.toml:7:1: `body[1].mas`: unknown field"),
            "{error}"
        );
        assert!(error.to_string().ends_with("did you mean `mass`?"), "{error}");
    }

    #[test]
    fn a_wrong_type_a_wrong_word_and_a_missing_key_name_their_line() {
        // every kind of mistake is found where it is written
        let wrong_type = parse_toml::<File>("rate_hz = \"fast\"\n", "a").unwrap_err();
        assert_eq!((wrong_type.line, wrong_type.key.as_deref()), (1, Some("rate_hz")));
        let word = parse_toml::<File>("rate_hz = 1\n[[body]]\nmass = 1\nkind = \"bal\"\n", "a").unwrap_err();
        assert_eq!((word.line, word.suggestion.as_deref()), (4, Some("ball")));
        let missing = parse_toml::<File>("rate_hz = 1\n[[body]]\nkind = \"hinge\"\n", "a").unwrap_err();
        assert_eq!(
            (missing.line, missing.key.as_deref()),
            (2, Some("body[0]")),
            "{missing}"
        );
        assert!(missing.message.contains("`mass`"));
        let syntax = parse_toml::<File>("rate_hz = 1\nbody = [\n", "a").unwrap_err();
        assert!(syntax.line >= 2, "{syntax}");
    }

    #[test]
    fn a_check_after_parsing_can_point_at_a_key_or_at_its_table() {
        // the line of the key if it is written, else that of the table
        let text = "a = 1\n[[body]]\nmass = -1\n[[body]]\nmass = 3\n";
        let table = text.find("[[body]]").unwrap();
        let error = error_in_table(text, "f", table, "mass", "is negative");
        assert_eq!((error.line, error.key.as_deref()), (3, Some("body[0].mass")));
        let absent = error_in_table(text, "f", table, "axis", "is missing");
        assert_eq!((absent.line, absent.key.as_deref()), (2, Some("body[0].axis")));
    }

    #[test]
    fn a_distant_name_gets_no_suggestion() {
        // suggestions are for typing mistakes only
        let error = parse_toml::<File>("rate_hz = 1\nwindmill = 2\n", "a").unwrap_err();
        assert_eq!((error.line, error.key.as_deref()), (2, Some("windmill")));
        assert_eq!(error.suggestion, None, "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn writing_keeps_links_and_special_files_what_they_are() {
        // a link still leads to its file afterwards, and a pipe is still a pipe that received the bytes
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");

        let pipe = folder.path().join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || read_bytes(&pipe).unwrap())
        };
        write_atomic(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }

    #[test]
    fn text_that_is_not_utf8_is_refused_with_its_place() {
        // the error names line and column of the first byte that is no text
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        std::fs::write(&path, b"a = 1\nb = \"\xff\"\n").unwrap();
        let error = read_text(&path).unwrap_err().to_string();
        assert!(error.contains("x.toml:2:6: byte 0xff is not UTF-8"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_stream_without_an_end_is_refused() {
        // reading stops with an error before memory runs out
        assert!(
            read_bytes(Path::new("/dev/zero"))
                .unwrap_err()
                .to_string()
                .contains("no end")
        );
    }

    #[test]
    fn writing_replaces_the_whole_file_and_leaves_nothing_else() {
        // after a write the folder holds exactly the new content
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        write_atomic(&path, b"a long first version").unwrap();
        write_atomic(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = folder.path().join("missing/x.txt");
        assert!(write_atomic(&nowhere, b"").unwrap_err().to_string().contains("missing"));
    }
}
