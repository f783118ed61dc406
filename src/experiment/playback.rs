//! A run folder as moving pictures.

use std::path::Path;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::error::ExperimentError;
use super::folder::{EXPERIMENT, MOTION};
use super::frame::{BodyPose, CharacterFrame, ContactAt, ForceAt, Frame, reference_poses};
use super::load::LoadedSpec;
use super::measure::joint_error;
use super::prepare::Prepared;
use super::recording::{CONTACT_NUMBERS, PUSH_NUMBERS};
use super::writer::file_names;
use crate::character::Character;
use crate::clip::{ClipFile, ClipReader};
use crate::control::position_from_numbers;
use crate::world::{FootState, JointPosition, SMALLEST_LOAD, Wrench, hull_from_above};

/// A recorded run that is read as it is shown: memory does not grow with its length.
pub struct Playback {
    prepared: Arc<Prepared>,
    /// One per character, or one for the props alone.
    recordings: Vec<Source>,
    samples: usize,
    frame_time: f64,
    /// The last two samples that were asked for.
    frames: Vec<(usize, Frame)>,
}

/// One file, and the two segments of it that were needed last.
struct Source {
    reader: ClipReader,
    segments: Vec<(usize, ClipFile)>,
}

fn wrong(path: &Path, message: impl ToString) -> ExperimentError {
    ExperimentError::Folder(format!("{}: {}", path.display(), message.to_string()))
}

impl Playback {
    /// Opens a run folder. Folders of earlier versions have fewer tracks; what they lack is not shown.
    pub fn open(folder: &Path) -> Result<Playback, ExperimentError> {
        let experiment = folder.join(EXPERIMENT);
        if !experiment.is_file() {
            return Err(wrong(folder, format!("not a run folder: it has no {EXPERIMENT}")));
        }
        let prepared = Arc::new(Prepared::new(&LoadedSpec::read(&experiment, &[])?)?);
        let mut recordings = Vec::new();
        for name in file_names(&prepared, MOTION) {
            let path = folder.join(format!("{name}.clip"));
            if !path.is_file() {
                return Err(wrong(
                    &path,
                    "there is no recording; run the experiment with recording.motion_hz above 0",
                ));
            }
            let reader = ClipReader::open(&path).map_err(|e| wrong(folder, e))?;
            recordings.push(Source {
                reader,
                segments: Vec::new(),
            });
        }
        for (actor, source) in prepared.actors.iter().zip(&recordings) {
            let bodies = actor.character.bodies.len();
            let head = source.reader.head();
            let found = head.vector("body_position").map_or(0, |t| t.arity / 3);
            if found != bodies {
                let message = format!(
                    "the recording `{}` has {found} bodies and {} has {bodies}; it is of another experiment",
                    head.name, actor.name
                );
                return Err(wrong(folder, message));
            }
        }
        // the shortest counts: a run that was stopped may have lost the end of one
        let samples = recordings.iter().map(|s| s.reader.samples()).min().unwrap_or(0);
        let frame_time = recordings.first().map_or(1.0, |s| s.reader.head().rate.frame_time());
        if samples == 0 {
            return Err(wrong(folder, "the recording is empty"));
        }
        Ok(Playback {
            prepared,
            recordings,
            samples,
            frame_time,
            frames: Vec::new(),
        })
    }

    /// The experiment that was run.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// Seconds from the first to the last sample.
    pub fn duration(&self) -> f64 {
        (self.samples - 1) as f64 * self.frame_time
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Seconds from one sample to the next.
    pub fn frame_time(&self) -> f64 {
        self.frame_time
    }

    /// The picture at a time, between samples interpolated; the first or last one outside of the recording.
    pub fn frame(&mut self, time: f64) -> Result<Frame, ExperimentError> {
        let at = (time.max(0.0) / self.frame_time).min((self.samples - 1) as f64);
        // times written as whole samples shall be these
        let nearest = at.round();
        let at = if (at - nearest).abs() < 1e-6 { nearest } else { at };
        let first = at as usize;
        if first as f64 == at {
            return self.sample(first);
        }
        let (before, after) = (self.sample(first)?, self.sample(first + 1)?);
        Ok(before.between(&after, at * self.frame_time))
    }

    /// One sample as it was recorded.
    pub fn sample(&mut self, index: usize) -> Result<Frame, ExperimentError> {
        if let Some((_, frame)) = self.frames.iter().find(|(i, _)| *i == index) {
            return Ok(frame.clone());
        }
        let mut frame = Frame {
            time: index as f64 * self.frame_time,
            ..Frame::default()
        };
        for (i, source) in self.recordings.iter_mut().enumerate() {
            let (first, part) = source.segment(index)?;
            let at = Sample {
                file: part,
                index: index - first,
            };
            if let Some(actor) = self.prepared.actors.get(i) {
                frame.characters.push(at.character(&actor.character));
            }
            if i == 0 {
                at.others(&self.prepared.prop_names, &mut frame);
            }
        }
        if self.frames.len() > 1 {
            self.frames.remove(0);
        }
        self.frames.push((index, frame.clone()));
        Ok(frame)
    }
}

impl Source {
    /// The segment that holds a sample, and its first one.
    fn segment(&mut self, sample: usize) -> Result<(usize, &ClipFile), ExperimentError> {
        let holds = |(first, part): &(usize, ClipFile)| (*first..*first + part.samples()).contains(&sample);
        let found = match self.segments.iter().position(holds) {
            Some(found) => found,
            None => {
                let read = self.reader.segment(sample);
                let read = read.map_err(|e| ExperimentError::Folder(e.to_string()))?;
                let read = read.ok_or_else(|| {
                    ExperimentError::Folder(format!("sample {sample} of `{}` is missing", self.reader.head().name))
                })?;
                if self.segments.len() > 1 {
                    self.segments.remove(0);
                }
                self.segments.push(read);
                self.segments.len() - 1
            }
        };
        let (first, part) = &self.segments[found];
        Ok((*first, part))
    }
}

/// One sample of a segment.
struct Sample<'a> {
    file: &'a ClipFile,
    index: usize,
}

impl Sample<'_> {
    /// Numbers of a track; empty if there is no such track.
    fn numbers(&self, track: &str) -> &[f64] {
        self.file
            .vector(track)
            .and_then(|t| t.sample(self.index))
            .unwrap_or(&[])
    }

    fn vector(&self, track: &str) -> Option<DVec3> {
        self.numbers(track).first_chunk().map(|v| DVec3::from_array(*v))
    }

    fn vectors(&self, track: &str) -> Vec<DVec3> {
        let (chunks, _) = self.numbers(track).as_chunks();
        chunks.iter().map(|v| DVec3::from_array(*v)).collect()
    }

    fn joints(&self, track: &str, character: &Character) -> Vec<JointPosition> {
        let (chunks, _) = self.numbers(track).as_chunks::<4>();
        (character.bodies.iter().zip(chunks))
            .map(|(body, numbers)| position_from_numbers(&body.joint, numbers))
            .collect()
    }

    fn character(&self, character: &Character) -> CharacterFrame {
        let positions = self.vectors("body_position");
        let (rotations, _) = self.numbers("body_rotation").as_chunks();
        let mut frame = CharacterFrame::default();
        frame
            .bodies
            .extend(positions.into_iter().zip(rotations).map(|(position, r)| BodyPose {
                position,
                rotation: DQuat::from_array(*r),
            }));
        let root = frame.bodies.first().copied().unwrap_or_default();
        frame.assist_point = root.place(character.bodies[0].center_of_mass);

        let (joints, targets) = (
            self.joints("joint_position", character),
            self.joints("target_position", character),
        );
        if targets.len() == character.bodies.len() {
            let reference = pose(self.numbers("root_reference")).unwrap_or(root);
            frame.reference = reference_poses(character, reference, &targets);
        }
        frame.errors = (character.bodies.iter().zip(joints).zip(targets))
            .map(|((body, position), target)| joint_error(&body.joint, &target, &position))
            .collect();
        frame.torques = self.vectors("torque");

        let mass = character.mass();
        let weighted = |points: &mut dyn Iterator<Item = DVec3>| {
            let sum = (character.bodies.iter().zip(points)).fold(DVec3::ZERO, |sum, (body, x)| sum + x * body.mass);
            sum / mass
        };
        frame.center_of_mass = self.vector("center_of_mass").unwrap_or_else(|| {
            let bodies = character.bodies.iter().zip(&frame.bodies);
            weighted(&mut bodies.map(|(b, pose)| pose.place(b.center_of_mass)))
        });
        frame.com_velocity = weighted(&mut self.vectors("body_velocity").into_iter());

        let (contacts, _) = self.numbers("contacts").as_chunks::<CONTACT_NUMBERS>();
        frame.contacts = (contacts.iter().filter(|c| c.iter().any(|x| *x != 0.0)))
            .map(|c| ContactAt {
                point: DVec3::from_slice(c),
                force: DVec3::from_slice(&c[3..]),
                body: c[6] as usize,
                own: c[7] != 0.0,
            })
            .collect();
        let loaded = frame.contacts.iter().filter(|c| !c.own && c.force.y > SMALLEST_LOAD);
        frame.support_polygon = loaded.map(|c| c.point).collect();
        hull_from_above(&mut frame.support_polygon);

        // a centre of pressure of zeros is none: it is recorded so where nothing carries
        let center = |track: &str| self.vector(track).filter(|x| *x != DVec3::ZERO);
        frame.center_of_pressure = center("center_of_pressure");
        frame.feet = ["left", "right"].map(|side| FootState {
            force: self.vector(&format!("{side}_foot_force")).unwrap_or_default(),
            center_of_pressure: center(&format!("{side}_foot_center_of_pressure")),
        });
        frame.assist = Wrench {
            force: self.vector("assist_force").unwrap_or_default(),
            torque: self.vector("assist_torque").unwrap_or_default(),
        };
        frame
    }

    fn others(&self, prop_names: &[String], frame: &mut Frame) {
        let poses = |track: &str| -> Vec<BodyPose> { self.numbers(track).chunks_exact(7).filter_map(pose).collect() };
        frame.props = prop_names.iter().map(|name| poses(&format!("prop.{name}"))).collect();
        frame.platforms = (0..)
            .map_while(|i| poses(&format!("platform.{i}")).first().copied())
            .collect();
        let (pushes, _) = self.numbers("pushes").as_chunks::<PUSH_NUMBERS>();
        frame.pushes = pushes
            .iter()
            .map(|p| ForceAt {
                point: DVec3::from_slice(p),
                force: DVec3::from_slice(&p[3..]),
            })
            .filter(|p| p.force != DVec3::ZERO)
            .collect();
        frame.energy = self
            .file
            .scalar("energy")
            .and_then(|t| t.values.get(self.index))
            .copied()
            .unwrap_or(0.0);
    }
}

/// Position and rotation in seven numbers.
fn pose(numbers: &[f64]) -> Option<BodyPose> {
    Some(BodyPose {
        position: DVec3::from_array(*numbers.first_chunk()?),
        rotation: DQuat::from_array(*numbers.get(3..)?.first_chunk()?),
    })
}
