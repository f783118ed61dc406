//! Results on their way into a run folder: a thread of its own writes them while the simulation goes on.

use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};

use super::controls::ControlRecording;
use super::error::ExperimentError;
use super::folder::{CONTROLS, MOTION, RunFolder, failed, file_name};
use super::metrics::Metrics;
use super::prepare::Prepared;
use super::recording::Recording;
use crate::clip::container::Event;
use crate::clip::{Clip, ClipFile, ClipWriter};
use crate::files::NewFile;
use crate::motion::bvh;
use crate::skeleton::Pose;

/// Rows and frames that are sent together: memory holds a few such parts, and the poses for the BVH file.
pub(super) const BATCH: usize = 240;

/// Parts that may wait; then the simulation does.
const WAITING: usize = 2;

/// File names of the recordings of a run, without their endings: `stem`, followed by the names of further characters.
pub(super) fn file_names(prepared: &Prepared, stem: &str) -> Vec<String> {
    let mut names = vec![stem.to_string()];
    for (i, actor) in prepared.actors.iter().enumerate().skip(1) {
        let mut name = format!("{stem}_{}", file_name(&actor.name));
        // different names may come to the same file name
        while names.contains(&name) {
            name = format!("{name}_{i}");
        }
        names.push(name);
    }
    names
}

/// A part of a run's results.
pub(super) struct Batch {
    /// Rows of `metrics.csv`.
    pub metrics: Vec<f64>,
    /// Samples of each recording.
    pub clips: Vec<ClipFile>,
    /// Calls of each controller.
    pub controls: Vec<ClipFile>,
}

/// The sending side.
pub(super) struct RunWriter {
    sender: SyncSender<Batch>,
    thread: JoinHandle<Result<(), ExperimentError>>,
}

impl RunWriter {
    /// Begins the files: `metrics.csv` if there is a table, and one for each of `recordings` and `controls`.
    pub fn start(
        folder: &RunFolder,
        prepared: &Prepared,
        metrics: Option<&Metrics>,
        recordings: &[Recording],
        controls: &[ControlRecording],
    ) -> RunWriter {
        let mut files = Files {
            error: None,
            metrics: None,
            recordings: Vec::new(),
            controls: Vec::new(),
        };
        if let Some(metrics) = metrics {
            let columns = metrics.header.len();
            let begun = folder.create(super::folder::METRICS).and_then(|file| {
                let mut csv = csv::Writer::from_writer(file);
                csv.write_record(&metrics.header)
                    .map_err(|e| failed("write", &folder.path, e))?;
                Ok((csv, columns))
            });
            files.metrics = files.keep(begun);
        }
        for (recording, name) in recordings.iter().zip(file_names(prepared, MOTION)) {
            let poses = !recording.file.skeleton.joints.is_empty();
            let clip = files.begin(folder, &name, &recording.file, poses);
            let wants_bvh = prepared.spec.recording.bvh && poses;
            let bvh = wants_bvh.then(|| folder.create(&format!("{name}.bvh")));
            let file = RecordingFile {
                clip,
                bvh: bvh.and_then(|file| files.keep(file)),
                frames: Vec::new(),
                like: recording.clip_without_frames(),
                provenance: recording.provenance(prepared),
            };
            files.recordings.push(file);
        }
        for (recording, name) in controls.iter().zip(file_names(prepared, CONTROLS)) {
            let clip = files.begin(folder, &name, &recording.file, false);
            files.controls.push((clip, recording.file.without_samples()));
        }
        let (sender, receiver) = sync_channel::<Batch>(WAITING);
        let thread = spawn(move || {
            for batch in receiver {
                files.write(batch);
            }
            files.finish()
        });
        RunWriter { sender, thread }
    }

    /// Sends a part; waits if the writer is behind.
    pub fn send(&self, batch: Batch) {
        // a writer that has gone says why at the end
        let _ = self.sender.send(batch);
    }

    /// Ends the files, which are now in their places, or the first thing that went wrong with any of them.
    pub fn finish(self) -> Result<(), ExperimentError> {
        drop(self.sender);
        let gone = || ExperimentError::Folder("the thread that writes the results has ended early".into());
        self.thread.join().unwrap_or_else(|_| Err(gone()))
    }
}

/// The receiving side. A file that cannot be written is given up, the others go on.
struct Files {
    error: Option<ExperimentError>,
    metrics: Option<(csv::Writer<NewFile>, usize)>,
    recordings: Vec<RecordingFile>,
    /// With their events and provenance.
    controls: Vec<(OpenClip, ClipFile)>,
}

/// A clip that is being written; `None` if it has been given up.
type OpenClip = Option<ClipWriter<NewFile>>;

struct RecordingFile {
    clip: OpenClip,
    bvh: Option<NewFile>,
    /// Kept for the BVH file, which begins with their number.
    frames: Vec<Pose>,
    like: Clip,
    provenance: Vec<(String, String)>,
}

fn cannot_write(error: impl ToString) -> ExperimentError {
    ExperimentError::Folder(format!("cannot write the results: {}", error.to_string()))
}

impl Files {
    /// What went well; the first failure is remembered.
    fn keep<T>(&mut self, result: Result<T, ExperimentError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    fn begin(&mut self, folder: &RunFolder, name: &str, like: &ClipFile, poses: bool) -> OpenClip {
        let clip = folder.create(&format!("{name}.clip")).and_then(|file| {
            ClipWriter::new(file, like, poses).map_err(|e| failed("write the recording", &folder.path, e))
        });
        self.keep(clip)
    }

    fn append(&mut self, clip: &mut OpenClip, part: &ClipFile) {
        if let Some(mut writer) = clip.take() {
            let written = writer.append(part).map_err(cannot_write);
            *clip = self.keep(written).map(|()| writer);
        }
    }

    fn end(&mut self, clip: OpenClip, provenance: &[(String, String)], events: &[Event]) {
        if let Some(writer) = clip {
            let written = writer.finish(provenance, events).map_err(cannot_write);
            let kept = written.and_then(|file| Ok(file.keep()?));
            self.keep(kept);
        }
    }

    fn write(&mut self, batch: Batch) {
        if let Some((mut csv, columns)) = self.metrics.take() {
            let written = write_rows(&mut csv, columns, &batch.metrics).map_err(cannot_write);
            self.metrics = self.keep(written).map(|()| (csv, columns));
        }
        let mut recordings = std::mem::take(&mut self.recordings);
        for (file, part) in recordings.iter_mut().zip(batch.clips) {
            self.append(&mut file.clip, &part);
            if file.bvh.is_some() {
                file.frames.extend(part.frames);
            }
        }
        self.recordings = recordings;
        let mut controls = std::mem::take(&mut self.controls);
        for ((clip, _), part) in controls.iter_mut().zip(batch.controls) {
            self.append(clip, &part);
        }
        self.controls = controls;
    }

    fn finish(mut self) -> Result<(), ExperimentError> {
        if let Some((csv, _)) = self.metrics.take() {
            let file = csv.into_inner().map_err(|e| cannot_write(e.error()));
            let kept = file.and_then(|file| Ok(file.keep()?));
            self.keep(kept);
        }
        for mut file in std::mem::take(&mut self.recordings) {
            self.end(file.clip.take(), &file.provenance, &[]);
            if let Some(mut out) = file.bvh.take() {
                file.like.frames = std::mem::take(&mut file.frames);
                let text = bvh::to_string(&file.like).map_err(cannot_write);
                let written = text.and_then(|text| out.write_all(text.as_bytes()).map_err(cannot_write));
                let kept = written.and_then(|()| Ok(out.keep()?));
                self.keep(kept);
            }
        }
        for (clip, like) in std::mem::take(&mut self.controls) {
            self.end(clip, &like.provenance, &like.events);
        }
        self.error.map_or(Ok(()), Err)
    }
}

/// Every number reads back to the same bits.
fn write_rows(csv: &mut csv::Writer<NewFile>, columns: usize, values: &[f64]) -> Result<(), csv::Error> {
    for row in values.chunks_exact(columns.max(1)) {
        csv.write_record(row.iter().map(f64::to_string))?;
    }
    Ok(())
}
