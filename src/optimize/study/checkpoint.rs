//! The checkpoint: everything a study has to remember, in one file.
//!
//! Layout: 8 bytes magic, version (u32), fingerprints of the study and of its function (u64 each), length of the payload (u64), CRC-32
//! of the payload (u32), all little-endian, then the payload: the state by postcard. A change of what the state holds is another version;
//! every version keeps opening.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::StudyError;
use super::log::Mark;
use super::summary::{Best, Counts};
use crate::files::{self, write_replacing};
use crate::optimize::cma::Search;

const MAGIC: [u8; 8] = *b"AMBLSTDY";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 2 * 8 + 8 + 4;

/// What must be the same when a study goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Parameters, settings, measures.
    pub setup: u64,
    pub function: u64,
}

/// What a study is after a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub search: Search,
    pub log: Mark,
    pub history: Mark,
    pub best: Option<Best>,
    pub counts: Counts,
    /// Costs of the last generation that are no failures.
    pub last_costs: Vec<f64>,
    /// Restart in which they were found.
    pub last_restart: u32,
}

/// Writes the checkpoint and waits until the disk has it.
pub fn write(path: &Path, fingerprint: Fingerprint, state: &State) -> Result<(), StudyError> {
    let payload = postcard::to_stdvec(state).map_err(|e| StudyError::Corrupt {
        path: path.to_path_buf(),
        problem: format!("the state cannot be written: {e}"),
    })?;
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(fingerprint.setup.to_le_bytes());
    bytes.extend(fingerprint.function.to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    write_replacing(path, &bytes, true).map_err(StudyError::io("write", path))
}

/// Reads the checkpoint of the study with these fingerprints.
pub fn read(path: &Path, fingerprint: Fingerprint) -> Result<State, StudyError> {
    let corrupt = |problem: String| StudyError::Corrupt {
        path: path.to_path_buf(),
        problem,
    };
    let bytes = files::read_bytes(path).map_err(StudyError::io("read", path))?;
    let known = bytes.len().min(MAGIC.len());
    if known == 0 || bytes[..known] != MAGIC[..known] {
        return Err(corrupt("this is no checkpoint of a study".into()));
    }
    if bytes.len() < HEADER {
        return Err(corrupt(format!(
            "the checkpoint has been cut short to {} bytes",
            bytes.len()
        )));
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let version = half(8);
    if version != VERSION {
        return Err(corrupt(format!(
            "the checkpoint has version {version}; this ambler reads version {VERSION}"
        )));
    }
    let payload = &bytes[HEADER..];
    if word(28) != payload.len() as u64 {
        return Err(corrupt(format!(
            "the checkpoint holds {} bytes of {}: it has been cut short or added to",
            payload.len(),
            word(28)
        )));
    }
    if crc32fast::hash(payload) != half(36) {
        return Err(corrupt("the checkpoint has been damaged: its checksum is wrong".into()));
    }
    let edited = |what: &str| {
        Err(StudyError::Edited {
            path: path.to_path_buf(),
            what: what.into(),
        })
    };
    if word(12) != fingerprint.setup {
        return edited("its parameters, bounds or settings");
    }
    if word(20) != fingerprint.function {
        return edited("its experiment or a file that this names");
    }
    postcard::from_bytes(payload).map_err(|e| corrupt(format!("the checkpoint cannot be understood: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random;
    use crate::optimize::cma::{SearchSettings, Space};

    const FINGERPRINT: Fingerprint = Fingerprint { setup: 3, function: 5 };

    fn state() -> State {
        let mut search = Search::new(&Space::unbounded(&[1.0, -2.0, 0.5], 0.3), &SearchSettings::default()).unwrap();
        for _ in 0..5 {
            let costs: Vec<f64> = search.ask().iter().map(|x| x.iter().map(|x| x * x).sum()).collect();
            search.tell(&costs).unwrap();
        }
        State {
            search,
            log: Mark {
                bytes: 10,
                lines: 2,
                crc: 11,
            },
            history: Mark::default(),
            best: None,
            counts: Counts::default(),
            last_costs: vec![1.0 / 3.0],
            last_restart: 0,
        }
    }

    fn written() -> (tempfile::TempDir, std::path::PathBuf, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        write(&path, FINGERPRINT, &state()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        (folder, path, bytes)
    }

    #[test]
    fn a_state_comes_back_from_its_file() {
        // write, read, write: equal, and equal states have equal bytes
        let (_folder, path, bytes) = written();
        let read = read(&path, FINGERPRINT).unwrap();
        assert_eq!(read, state());
        write(&path, FINGERPRINT, &read).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn no_damage_goes_unnoticed() {
        // every cut and a flipped bit in every byte is an error, never a panic and never another state
        let (_folder, path, bytes) = written();
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let error = read(&path, FINGERPRINT).unwrap_err().to_string();
            assert!(
                error.contains("cut short") || (length == 0 && error.contains("no checkpoint")),
                "{error}"
            );
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (random::bits(1, 2, place as u64)[0] % 8);
            std::fs::write(&path, &damaged).unwrap();
            assert!(read(&path, FINGERPRINT).is_err(), "{place}");
        }
    }

    #[test]
    fn what_has_changed_is_said() {
        // settings, function, version: each in its own words
        let (_folder, path, mut bytes) = written();
        let refused = |f: Fingerprint| read(&path, f).unwrap_err().to_string();
        assert!(refused(Fingerprint { setup: 4, function: 5 }).contains("parameters, bounds or settings"));
        assert!(refused(Fingerprint { setup: 3, function: 6 }).contains("experiment"));
        bytes[8] = 2;
        std::fs::write(&path, &bytes).unwrap();
        assert!(refused(FINGERPRINT).contains("version 2"));
    }
}
