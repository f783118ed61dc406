//! The checkpoint: everything a study has to remember, in one file.
//!
//! Layout: 8 bytes magic, version (u32), fingerprint of the study (u64), length of the payload (u64), CRC-32 of the payload (u32), all
//! little-endian, then the payload: the state by postcard.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::StudyError;
use super::log::Mark;
use super::summary::{Best, Counts};
use crate::files::{self, write_replacing};
use crate::optimize::cma::Search;

const MAGIC: [u8; 8] = *b"AMBLSTDY";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 8 + 8 + 4;

/// What a study is after a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub search: Search,
    pub log: Mark,
    /// Length of `history.csv`, bytes.
    pub history: u64,
    pub best: Option<Best>,
    pub counts: Counts,
    /// Costs of the last generation that are no failures.
    pub last_costs: Vec<f64>,
    /// Restart in which they were found.
    pub last_restart: u32,
    /// Generation of the last validation.
    pub validated: u64,
    /// Whether the study has come to its end; only a larger budget lets it go on.
    pub over: Option<String>,
}

/// Writes the checkpoint; `sync` waits until the disk has it.
pub fn write(path: &Path, fingerprint: u64, state: &State, sync: bool) -> Result<(), StudyError> {
    let payload = postcard::to_stdvec(state).map_err(|e| StudyError::Corrupt {
        path: path.to_path_buf(),
        problem: format!("the state cannot be written: {e}"),
    })?;
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(fingerprint.to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    write_replacing(path, &bytes, sync).map_err(StudyError::io("write", path))
}

/// Reads the checkpoint of the study with this fingerprint.
pub fn read(path: &Path, fingerprint: u64) -> Result<State, StudyError> {
    let corrupt = |problem: String| StudyError::Corrupt {
        path: path.to_path_buf(),
        problem,
    };
    let bytes = files::read_bytes(path).map_err(StudyError::io("read", path))?;
    if bytes.len() < HEADER || bytes[..8] != MAGIC {
        return Err(corrupt("this is no checkpoint of a study, or cut short".into()));
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
    if word(20) != payload.len() as u64 {
        return Err(corrupt(format!(
            "the checkpoint holds {} bytes of {}: it has been cut short or added to",
            payload.len(),
            word(20)
        )));
    }
    if crc32fast::hash(payload) != half(28) {
        return Err(corrupt("the checkpoint has been damaged: its checksum is wrong".into()));
    }
    if word(12) != fingerprint {
        return Err(StudyError::Edited {
            path: path.to_path_buf(),
            what: "the checkpoint belongs to other parameters, bounds, settings, objectives or input files".into(),
        });
    }
    postcard::from_bytes(payload).map_err(|e| corrupt(format!("the checkpoint cannot be understood: {e}")))
}
