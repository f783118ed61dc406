//! A `.clip` file read part by part: memory holds one segment, whatever the length.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::decode::{
    CHUNK_HEAD, Chunk, Cursor, Layout, read_events, read_index, read_layout, read_provenance, read_segment,
};
use super::{ClipFile, ClipFileError, MAGIC};

/// Reads the samples of a file on demand.
#[derive(Debug)]
pub struct ClipReader {
    path: PathBuf,
    /// Name, rate, skeleton, tracks, events and provenance, without samples.
    head: ClipFile,
    samples: usize,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// A file of version 1, which has no segments.
    Whole(Box<ClipFile>),
    Segments {
        file: BufReader<File>,
        layout: Box<Layout>,
        /// First sample, and place of the payload.
        segments: Vec<(usize, Place)>,
    },
}

/// Where a chunk's payload is.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u64,
}

impl ClipReader {
    /// Opens a file of any version and checks that it is whole.
    pub fn open(path: &Path) -> Result<ClipReader, ClipFileError> {
        let failed = |source| ClipFileError::Read {
            path: path.to_owned(),
            source,
        };
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        let mut begin = [0; MAGIC.len() + 4];
        let is_segmented =
            file.read_exact(&mut begin).is_ok() && begin.starts_with(&MAGIC) && begin[MAGIC.len()..] == [2, 0, 0, 0];
        if !is_segmented {
            // an older file, or an error that says what it is
            let whole = ClipFile::read(path)?;
            let head = whole.without_samples();
            return Ok(ClipReader {
                path: path.to_owned(),
                samples: whole.samples(),
                head,
                source: Source::Whole(Box::new(whole)),
            });
        }
        let name = path.display().to_string();
        let places = chunk_places(&mut file, &name).map_err(|e| e.or(failed))?;
        let mut payload = |tag: &[u8; 4]| -> Result<Option<(Vec<u8>, u64)>, ClipFileError> {
            let Some((_, place)) = places.iter().find(|(t, _)| t == tag) else {
                return Ok(None);
            };
            Ok(Some((read_place(&mut file, *place).map_err(failed)?, place.offset)))
        };
        let mut owned = Vec::new();
        for (tag, _) in places.iter().take(3) {
            if let Some((bytes, offset)) = payload(tag)? {
                owned.push((*tag, bytes, offset));
            }
        }
        fn cursor<'a>(bytes: &'a [u8], file: &'a str) -> Cursor<'a> {
            Cursor {
                rest: bytes,
                offset: 0,
                file,
            }
        }
        let chunks: Vec<Chunk> = (owned.iter())
            .map(|(tag, bytes, offset)| Chunk {
                tag: *tag,
                payload: Cursor {
                    offset: *offset as usize,
                    ..cursor(bytes, &name)
                },
            })
            .collect();
        let (layout, _) = read_layout(&chunks, &cursor(&[], &name))?;
        let mut head = layout.empty.clone();
        if let Some((bytes, _)) = payload(b"PROV")? {
            read_provenance(cursor(&bytes, &name), &mut head)?;
        }
        if let Some((bytes, _)) = payload(b"EVTS")? {
            read_events(cursor(&bytes, &name), &mut head)?;
        }
        let Some((bytes, offset)) = payload(b"INDX")? else {
            return Err(cursor(&[], &name).malformed("the chunk `INDX`", "none".into()));
        };
        let index_cursor = Cursor {
            offset: offset as usize,
            ..cursor(&bytes, &name)
        };
        head.validate().map_err(|source| ClipFileError::Content {
            file: name.clone(),
            source,
        })?;
        let (samples, index) = read_index(index_cursor)?;
        let found: Vec<Place> = places.iter().filter(|(t, _)| t == b"SEGM").map(|(_, p)| *p).collect();
        let agrees = found.len() == index.len()
            && (found.iter().zip(&index)).all(|(place, (offset, _))| place.offset == *offset + CHUNK_HEAD as u64)
            && index.first().is_none_or(|(_, first)| *first == 0)
            && index.windows(2).all(|pair| pair[0].1 < pair[1].1)
            // without segments there are no samples
            && index.last().map_or(samples == 0, |(_, first)| *first < samples);
        if !agrees {
            return Err(index_cursor.malformed("an index of the segments", "another one".into()));
        }
        Ok(ClipReader {
            path: path.to_owned(),
            head,
            samples: samples as usize,
            source: Source::Segments {
                file,
                layout: Box::new(layout),
                segments: index.iter().map(|(_, first)| *first as usize).zip(found).collect(),
            },
        })
    }

    /// Name, rate, skeleton, tracks, events and provenance; without samples.
    pub fn head(&self) -> &ClipFile {
        &self.head
    }

    /// Number of samples of the whole file.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The first sample of the segment that `sample` is in, and that segment. `None` beyond the end.
    pub fn segment(&mut self, sample: usize) -> Result<Option<(usize, ClipFile)>, ClipFileError> {
        if sample >= self.samples {
            return Ok(None);
        }
        match &mut self.source {
            Source::Whole(file) => Ok(Some((0, (**file).clone()))),
            Source::Segments { file, layout, segments } => {
                let which = segments.partition_point(|(first, _)| *first <= sample) - 1;
                let (first, place) = segments[which];
                let bytes = read_place(file, place).map_err(|source| ClipFileError::Read {
                    path: self.path.clone(),
                    source,
                })?;
                let name = self.path.display().to_string();
                let cursor = Cursor {
                    rest: &bytes,
                    offset: place.offset as usize,
                    file: &name,
                };
                let (found, part) = read_segment(layout, cursor)?;
                let samples = segments.get(which + 1).map_or(self.samples, |s| s.0) - first;
                if (found, part.samples()) != (first as u64, samples) {
                    let expected = format!("{samples} samples from sample {first}");
                    let found = format!("{} from {found}", part.samples());
                    return Err(cursor.malformed(&expected, found));
                }
                part.validate().map_err(|source| ClipFileError::Content {
                    file: name.clone(),
                    source,
                })?;
                Ok(Some((first, part)))
            }
        }
    }
}

/// A read that failed, or a file that is not right.
enum ScanError {
    Io(std::io::Error),
    File(ClipFileError),
}

impl From<std::io::Error> for ScanError {
    fn from(error: std::io::Error) -> ScanError {
        ScanError::Io(error)
    }
}

impl ScanError {
    fn or(self, failed: impl FnOnce(std::io::Error) -> ClipFileError) -> ClipFileError {
        match self {
            ScanError::Io(error) => failed(error),
            ScanError::File(error) => error,
        }
    }
}

/// Tags and places of all chunks, after the checksum has been compared.
fn chunk_places(file: &mut BufReader<File>, name: &str) -> Result<Vec<([u8; 4], Place)>, ScanError> {
    let length = file.get_ref().metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    let mut checksum = crc32fast::Hasher::new();
    let mut offset = 0u64;
    let mut pass = |file: &mut BufReader<File>, count: u64| -> Result<(), std::io::Error> {
        let mut buffer = [0; 1 << 14];
        let mut left = count;
        while left > 0 {
            let part = &mut buffer[..left.min(1 << 14) as usize];
            file.read_exact(part)?;
            checksum.update(part);
            left -= part.len() as u64;
        }
        Ok(())
    };
    let begin = (MAGIC.len() + 4) as u64;
    pass(file, begin)?;
    offset += begin;
    let truncated = |expected: String| {
        ScanError::File(ClipFileError::Truncated {
            file: name.to_owned(),
            offset: length as usize,
            expected,
        })
    };
    let mut places = Vec::new();
    loop {
        if length - offset < CHUNK_HEAD as u64 {
            return Err(truncated("a chunk (the last is `END `)".into()));
        }
        let mut head = [0; CHUNK_HEAD];
        file.read_exact(&mut head)?;
        let mut tag = [0; 4];
        tag.copy_from_slice(&head[..4]);
        let mut count = [0; 8];
        count.copy_from_slice(&head[4..]);
        let count = u64::from_le_bytes(count);
        file.seek_relative(-(CHUNK_HEAD as i64))?;
        pass(file, CHUNK_HEAD as u64)?;
        offset += CHUNK_HEAD as u64;
        if length - offset < count {
            let what = format!("the {count} bytes of chunk `{}`", String::from_utf8_lossy(&tag));
            return Err(truncated(what));
        }
        if &tag != b"END " {
            places.push((tag, Place { offset, length: count }));
            pass(file, count)?;
            offset += count;
            continue;
        }
        let mut stored = [0; 4];
        let whole = count == 4 && length == offset + 4;
        if whole {
            file.read_exact(&mut stored)?;
        }
        let (stored, computed) = (u32::from_le_bytes(stored), checksum.finalize());
        if !whole || stored != computed {
            return Err(ScanError::File(ClipFileError::Checksum {
                file: name.to_owned(),
                offset: offset as usize,
                stored,
                computed,
            }));
        }
        return Ok(places);
    }
}

fn read_place(file: &mut BufReader<File>, place: Place) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(place.offset))?;
    let mut bytes = Vec::new();
    file.take(place.length).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == place.length {
        true => Ok(bytes),
        false => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}
