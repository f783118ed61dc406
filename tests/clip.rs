//! Clips in time, and the `.clip` container.

use std::path::Path;

use ambler::clip::container::{ClipReader, ClipWriter, ContentError, Event, ScalarTrack, VectorTrack};
use ambler::clip::{Clip, ClipError, ClipFile, ClipFileError, Rate, RootMotion};
use ambler::math::euler::Axis;
use ambler::math::random::uniform_in;
use ambler::math::rotation::{angle_between, exp};
use ambler::motion::bvh::{self, ImportOptions};
use ambler::skeleton::{Joint, ModelPose, Pose, Skeleton};
use glam::{DQuat, DVec3};

fn vector(stream: u64, index: usize, size: f64) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|k| uniform_in(17, stream * 3 + k, index as u64, -size, size)))
}

fn skeleton(joints: usize) -> Skeleton {
    Skeleton {
        joints: (0..joints)
            .map(|j| Joint {
                name: format!("joint {j} ü"),
                parent: j.checked_sub(1).map(|p| p / 2),
                offset: vector(0, j, 0.4),
                rest: exp(vector(1, j, 1.5)),
                end_sites: vec![vector(2, j, 0.2); j % 3],
            })
            .collect(),
    }
}

/// A walk-like cycle of `n` intervals: the root advances by (0.1, ·, 0.9), bobs and turns by `turn` in a cycle, every other
/// joint swings and returns. Smooth and closed.
fn cycle(n: usize, turn: f64) -> Clip {
    let skeleton = skeleton(6);
    let rest = skeleton.joints[0].rest;
    let frames = (0..=n)
        .map(|f| {
            let s = f as f64 / n as f64;
            let wave = libm::sin(std::f64::consts::TAU * s);
            let mut pose = skeleton.bind_pose();
            for j in 1..6 {
                pose.rotations[j] = exp(vector(3, j, 0.8) * wave) * exp(vector(4, j, 0.5));
            }
            pose.translations[0] = DVec3::new(0.3 + 0.1 * s, 0.9 + 0.03 * wave, -0.2 + 0.9 * s);
            let lean = exp(DVec3::new(0.1, 0.0, 0.05 * wave));
            pose.rotations[0] = rest.conjugate() * Axis::Y.rotation(0.7 + turn * s) * lean * rest;
            pose
        })
        .collect();
    Clip::from_frames("cycle", skeleton, 1.0 / 60.0, frames, true).unwrap()
}

fn root_rotation(clip: &Clip, pose: &Pose) -> DQuat {
    clip.skeleton.joints[0].rest * pose.rotations[0]
}

#[test]
fn a_walk_repeated_a_hundred_times_neither_sinks_nor_tilts() {
    // height and lean of every joint in cycle k are those of cycle 0; plane position and heading follow the k-fold
    // composition of one cycle's motion
    for turn in [0.0, 1e-9, 0.3, -2.9] {
        let clip = cycle(60, turn);
        let duration = clip.duration();
        let heading = |pose: &Pose| pose.heading(&clip.skeleton);
        let (first, last) = (&clip.frames[0], &clip.frames[60]);
        let step = last.translations[0] - first.translations[0];
        // composed cycle by cycle, unlike the closed form under test
        let mut expected = first.translations[0];
        for k in 0..100 {
            let pose = clip.sample(k as f64 * duration + 0.25 * duration);
            let once = clip.sample(0.25 * duration);
            let (mut a, mut b) = (ModelPose::default(), ModelPose::default());
            clip.skeleton.model_pose(&pose, &mut a);
            clip.skeleton.model_pose(&once, &mut b);
            for j in 0..6 {
                assert!(
                    (a.positions[j].y - b.positions[j].y).abs() < 1e-9,
                    "cycle {k}, turn {turn}"
                );
            }
            let turned = libm::remainder(heading(&pose) - heading(&once) - k as f64 * turn, std::f64::consts::TAU);
            assert!(turned.abs() < 1e-9, "cycle {k}: {turned}");
            let start = clip.sample(k as f64 * duration);
            let mut off = start.translations[0] - expected;
            off.y = 0.0;
            // time / duration of the start of a cycle may round into the cycle before: both are the same instant
            assert!(off.length() < 1e-9, "cycle {k}, turn {turn}: {off}");
            expected += Axis::Y.rotation(k as f64 * turn) * step;
        }
    }
}

#[test]
fn a_cycle_also_repeats_backwards_and_without_a_jump() {
    // across every seam, negative ones too, the pose moves no more than within a cycle
    let clip = cycle(60, 0.4);
    for k in -3..=3 {
        let seam = f64::from(k) * clip.duration();
        let (a, b) = (clip.sample(seam - 1e-7), clip.sample(seam + 1e-7));
        assert!((a.translations[0] - b.translations[0]).length() < 1e-6);
        for j in 0..6 {
            assert!(angle_between(a.rotations[j], b.rotations[j]) < 1e-5);
        }
    }
    // the other option jumps back
    let back = clip.sample_with(clip.duration() * 2.0 + 0.1, RootMotion::Restart);
    let once = clip.sample(0.1);
    assert!((back.translations[0] - once.translations[0]).length() < 1e-12);
}

#[test]
fn frames_are_hit_exactly_and_between_them_the_pose_is_the_geodesic() {
    // at a frame's time its pose; between two, the fraction of way and of angle
    let mut clip = cycle(60, 0.4);
    clip.looped = false;
    for f in [0usize, 1, 17, 59, 60] {
        let pose = clip.sample(f as f64 * clip.frame_time);
        for j in 0..6 {
            assert!((pose.translations[j] - clip.frames[f].translations[j]).length() < 1e-15);
            assert!(angle_between(pose.rotations[j], clip.frames[f].rotations[j]) < 1e-14);
        }
    }
    let pose = clip.sample(20.3 * clip.frame_time);
    let (a, b) = (&clip.frames[20], &clip.frames[21]);
    let way = a.translations[0].lerp(b.translations[0], 0.3);
    assert!((pose.translations[0] - way).length() < 1e-14);
    let (whole, part) = (
        angle_between(a.rotations[3], b.rotations[3]),
        angle_between(a.rotations[3], pose.rotations[3]),
    );
    assert!((part - 0.3 * whole).abs() < 1e-13);
    // before, after and at no time
    assert_eq!(clip.sample(-1.0), clip.frames[0]);
    assert_eq!(clip.sample(1e9), clip.frames[60]);
    assert_eq!(clip.sample(f64::INFINITY), clip.frames[60]);
    assert_eq!(clip.sample(f64::NAN), clip.frames[0]);
}

#[test]
fn velocities_are_those_of_the_motion_in_the_parent_side_frame() {
    // q(t) = exp(ω t) q₀ with ω fixed in the parent-side frame gives back ω, at the ends and between frames too
    let skeleton = skeleton(4);
    let w: Vec<DVec3> = (0..4).map(|j| vector(5, j, 6.0)).collect();
    let v = DVec3::new(0.4, -0.2, 1.3);
    let frames = (0..40)
        .map(|f| {
            let t = f as f64 / 120.0;
            let mut pose = skeleton.bind_pose();
            for (j, q) in pose.rotations.iter_mut().enumerate() {
                *q = exp(w[j] * t) * exp(vector(6, j, 1.0));
            }
            pose.translations[0] = DVec3::Y + v * t;
            pose
        })
        .collect();
    let clip = Clip::from_frames("spin", skeleton, 1.0 / 120.0, frames, false).unwrap();
    for t in [0.0, 0.0013, 0.1, 0.2222, clip.duration()] {
        let velocity = clip.sample_velocity(t);
        assert!((velocity.root_linear - v).length() < 1e-12);
        for (found, expected) in velocity.joints_angular.iter().zip(&w) {
            // rounding of the angle over one frame of 1/120 s
            assert!((*found - *expected).length() < 1e-11, "{t}");
        }
        assert!((velocity.root_angular - clip.skeleton.joints[0].rest * w[0]).length() < 1e-11);
    }
    assert_eq!(clip.sample_velocity(-0.1).joints_angular, vec![DVec3::ZERO; 4]);
    assert_eq!(clip.sample_velocity(9.0).root_linear, DVec3::ZERO);
}

#[test]
fn velocities_of_a_looped_clip_turn_with_its_heading() {
    // in cycle k the root's velocities are those of cycle 0 turned by k headings, and no spike stands at the seam
    let turn = 0.4;
    let clip = cycle(60, turn);
    for phase in [0.0, 0.004, 0.31, 0.999] {
        let once = clip.sample_velocity(phase);
        let later = clip.sample_velocity(phase + 3.0 * clip.duration());
        let turned = Axis::Y.rotation(3.0 * turn);
        assert!((later.root_linear - turned * once.root_linear).length() < 1e-9);
        assert!((later.root_angular - turned * once.root_angular).length() < 1e-9);
        assert!((later.joints_angular[2] - once.joints_angular[2]).length() < 1e-9);
    }
    // finite differences of the sampled world poses agree
    let (t, h) = (7.3 * clip.duration(), 1e-5);
    let (a, b) = (clip.sample(t - h), clip.sample(t + h));
    let velocity = clip.sample_velocity(t);
    let linear = (b.translations[0] - a.translations[0]) / (2.0 * h);
    // the difference over a frame averages an acceleration of about 1 m/s²
    assert!((velocity.root_linear - linear).length() < 0.02);
    let world = ambler::math::rotation::difference(root_rotation(&clip, &b), root_rotation(&clip, &a)) / (2.0 * h);
    assert!((velocity.root_angular - world).length() < 0.02);
}

#[test]
fn resampling_keeps_the_motion_and_the_loop() {
    // poses of the resampled clip are samples of the original; a looped clip keeps its duration and still closes
    let clip = cycle(60, 0.4);
    let slow = clip.resample(1.0 / 23.7).unwrap();
    assert!((slow.duration() - clip.duration()).abs() < 1e-15);
    assert_eq!(slow.frames.len(), 25);
    for f in [0usize, 5, 24] {
        let expected = clip.sample_with(
            (f as f64 * slow.frame_time).min(clip.duration() - 1e-15),
            RootMotion::Restart,
        );
        assert!((slow.frames[f].translations[0] - expected.translations[0]).length() < 1e-12);
        assert!(angle_between(slow.frames[f].rotations[4], expected.rotations[4]) < 1e-12);
    }
    let mut once = clip.clone();
    once.looped = false;
    let fast = once.resample(1.0 / 240.0).unwrap();
    assert_eq!((fast.frames.len(), fast.frame_time), (241, 1.0 / 240.0));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(clip.resample(bad), Err(ClipError::FrameTime { .. })));
    }
    assert!(matches!(clip.resample(1e-12), Err(ClipError::TooManyFrames { .. })));
}

#[test]
fn a_part_starts_at_its_own_time_zero() {
    // sub_range(a, b) at t is the clip at a + t
    let clip = cycle(60, 0.4);
    let part = clip.sub_range(0.211, 0.777).unwrap();
    assert!(!part.looped);
    assert!(part.duration() <= 0.566 + 1e-12 && part.duration() > 0.566 - clip.frame_time);
    let f = 20;
    let expected = clip.sample(0.211 + f as f64 * clip.frame_time);
    assert!((part.frames[f].translations[0] - expected.translations[0]).length() < 1e-12);
    assert_eq!(clip.sub_range(0.0, clip.duration()).unwrap().frames.len(), 61);
    for (a, b) in [(-0.1, 0.5), (0.5, 0.4), (0.0, 1.1), (f64::NAN, 1.0)] {
        assert!(matches!(clip.sub_range(a, b), Err(ClipError::Range { .. })));
    }
}

#[test]
fn raising_by_the_ground_height_sets_the_lowest_point_on_the_ground() {
    // after the correction the lowest joint or end site over all frames is at 0
    let mut clip = cycle(60, 0.4);
    assert!(clip.ground_height().abs() > 0.01);
    clip.raise(-clip.ground_height());
    assert!(clip.ground_height().abs() < 1e-14);
}

#[test]
fn what_is_not_a_clip_is_refused() {
    // no frames, no skeleton, wrong sizes, NaN, wrong rates: typed errors that name the clip
    let clip = cycle(3, 0.0);
    let from = |frames, frame_time| Clip::from_frames("bad", clip.skeleton.clone(), frame_time, frames, false);
    assert_eq!(from(vec![], 0.1), Err(ClipError::Empty { clip: "bad".into() }));
    for bad in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            from(clip.frames.clone(), bad),
            Err(ClipError::FrameTime { .. })
        ));
    }
    let mut frames = clip.frames.clone();
    frames[2].rotations[1].x = f64::NAN;
    let message = from(frames, 0.1).unwrap_err().to_string();
    assert!(
        message.contains("`bad`, frame 2") && message.contains("joint 1"),
        "{message}"
    );
    let mut frames = clip.frames.clone();
    frames[1].translations.pop();
    assert!(matches!(from(frames, 0.1), Err(ClipError::Frame { frame: 1, .. })));
    let empty = Clip::from_frames("bad", Skeleton::default(), 0.1, clip.frames.clone(), false);
    assert!(matches!(empty, Err(ClipError::Skeleton { .. })));
    // signs become continuous and rotations stay
    let mut frames = clip.frames.clone();
    frames[1].rotations[2] = -frames[1].rotations[2];
    assert_eq!(from(frames, clip.frame_time).unwrap().frames, clip.frames);
}

/// One of everything, with values that are awkward to store. `tests/archive/clip_v1.clip` and `clip_v2.clip` hold exactly this.
fn one_of_everything() -> ClipFile {
    let joint = |name: &str, parent, offset: [f64; 3], end_sites| Joint {
        name: name.into(),
        parent,
        offset: DVec3::from_array(offset),
        rest: DQuat::from_xyzw(0.6, 0.0, -0.0, 0.8),
        end_sites,
    };
    let skeleton = Skeleton {
        joints: vec![
            joint("Hüfte", None, [0.0, 0.9, -0.0], vec![]),
            joint(
                "mixamorig:Knee",
                Some(0),
                [0.1, -0.4, 1e-300],
                vec![DVec3::new(0.0, -0.4, 0.1), DVec3::X],
            ),
        ],
    };
    let mut file = ClipFile::new(
        "everything",
        skeleton,
        Rate::Rational {
            samples: 60000,
            seconds: 1001,
        },
    );
    file.looped = true;
    file.add_provenance("engine", "articulated");
    file.add_provenance("seed", "7");
    for s in 0..24 {
        let x = f64::from(s);
        file.frames.push(Pose {
            translations: vec![DVec3::new(0.1 * x, 0.9, -0.0), DVec3::new(0.1, -0.4, 5e-324)],
            rotations: vec![
                DQuat::from_xyzw(0.0, -0.6, 0.0, 0.8),
                DQuat::from_xyzw(-0.0, 0.0, 0.28, if s == 1 { -0.96 } else { 0.96 }),
            ],
        });
    }
    // steady, smooth and random tracks take the three codecs
    let steady = file.add_scalar("kinetic energy", "J");
    file.scalar_tracks[steady].values = vec![1.0 / 3.0; 24];
    file.scalar_tracks[steady].values[1..3].copy_from_slice(&[-0.0, f64::MAX]);
    let smooth = file.add_scalar("height", "m");
    file.scalar_tracks[smooth].values = (0..24).map(|i| 1.0 + f64::from(i * i) / 1024.0).collect();
    let wrench = file.add_vector("wrench", "N, N m", 2);
    file.vector_tracks[wrench].values = (0..48).map(|i| uniform_in(2, 0, i, -9.0, 9.0)).collect();
    file.vector_tracks[wrench].values[3..6].copy_from_slice(&[f64::MIN_POSITIVE, 0.1 + 0.2, -1e-17]);
    file.events.push(Event {
        time: 1.0 / 60.0,
        name: "push".into(),
        payload: "{\"force\": 150}".into(),
    });
    file
}

/// All numbers of a file as bits: `==` on floats takes −0.0 for 0.0.
fn bits(file: &ClipFile) -> Vec<u64> {
    let joints = file.skeleton.joints.iter().flat_map(|j| {
        let ends = j.end_sites.iter().flat_map(|e| e.to_array());
        j.offset.to_array().into_iter().chain(j.rest.to_array()).chain(ends)
    });
    let poses = file.frames.iter().flat_map(|f| {
        let translations = f.translations.iter().flat_map(|t| t.to_array());
        translations.chain(f.rotations.iter().flat_map(|r| r.to_array()))
    });
    let scalars = file.scalar_tracks.iter().flat_map(|t| t.values.iter().copied());
    let vectors = file.vector_tracks.iter().flat_map(|t| t.values.iter().copied());
    let rest = file.events.iter().map(|e| e.time).chain([file.rate.frame_time()]);
    joints
        .chain(poses)
        .chain(scalars)
        .chain(vectors)
        .chain(rest)
        .map(f64::to_bits)
        .collect()
}

#[test]
fn everything_comes_back_bit_by_bit() {
    // read(write(x)) is x down to the sign of zero, through bytes and through a file
    let file = one_of_everything();
    let back = ClipFile::from_bytes(&file.to_bytes().unwrap(), "memory").unwrap();
    assert_eq!(back, file);
    assert_eq!(bits(&back), bits(&file));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.clip");
    file.write(&path).unwrap();
    file.write(&path).unwrap();
    assert_eq!(bits(&ClipFile::read(&path).unwrap()), bits(&file));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(file.vector("wrench").unwrap().sample(2), Some(&[0.1 + 0.2, -1e-17][..]));
    assert_eq!(file.vector("wrench").unwrap().sample(24), None);
    assert_eq!(file.provenance("seed"), Some("7"));
}

#[test]
fn every_version_keeps_opening() {
    // the archived files have exactly the values they were written with, read as a whole and in parts
    for name in ["clip_v1.clip", "clip_v2.clip"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archive").join(name);
        let file = ClipFile::read(&path).unwrap();
        assert_eq!(file, one_of_everything(), "{name}");
        assert_eq!(bits(&file), bits(&one_of_everything()), "{name}");
        let mut reader = ClipReader::open(&path).unwrap();
        assert_eq!(reader.samples(), 24);
        assert_eq!(reader.head().events, file.events);
        let (first, part) = reader.segment(23).unwrap().unwrap();
        assert_eq!(bits(&part)[..8], bits(&file)[..8]);
        assert_eq!(part.frames, file.frames[first..], "{name}");
        assert!(reader.segment(24).unwrap().is_none());
    }
}

#[test]
fn a_clip_written_and_read_in_parts_is_the_clip() {
    // parts of any length make the file that holds them all; every sample is found in its segment
    let whole = one_of_everything();
    let part = |from: usize, to: usize| {
        let mut part = whole.clone();
        part.frames = whole.frames[from..to].to_vec();
        part.scalar_tracks
            .iter_mut()
            .for_each(|t| t.values = t.values[from..to].to_vec());
        let vectors = part.vector_tracks.iter_mut();
        vectors.for_each(|t| t.values = t.values[from * t.arity..to * t.arity].to_vec());
        part
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parts.clip");
    let mut writer = ClipWriter::new(std::fs::File::create(&path).unwrap(), &whole, true).unwrap();
    let cuts = [0, 1, 8, 8, 23, 24];
    for cut in cuts.windows(2) {
        writer.append(&part(cut[0], cut[1])).unwrap();
    }
    assert_eq!(writer.samples(), 24);
    writer.finish(&whole.provenance, &whole.events).unwrap();
    assert_eq!(bits(&ClipFile::read(&path).unwrap()), bits(&whole));
    let mut reader = ClipReader::open(&path).unwrap();
    assert_eq!(
        (reader.head().name.as_str(), reader.head().rate),
        ("everything", whole.rate)
    );
    for sample in 0..24 {
        let (first, found) = reader.segment(sample).unwrap().unwrap();
        assert!(first <= sample && sample < first + found.samples());
        let mut expected = part(first, first + found.samples());
        expected.events.clear();
        assert_eq!(bits(&found), bits(&expected));
    }
    // other tracks, or poses where there were none, do not belong into the file
    let mut writer = ClipWriter::new(Vec::new(), &whole, true).unwrap();
    let mut other = part(0, 3);
    other.scalar_tracks[0].name = "potential energy".into();
    let error = writer.append(&other).unwrap_err().to_string();
    assert!(
        error.contains("kinetic energy") && error.contains("potential energy"),
        "{error}"
    );
    other = part(0, 3);
    other.frames.clear();
    assert!(writer.append(&other).is_err());
}

#[test]
fn reading_in_parts_notices_what_reading_the_whole_notices() {
    // cut off, flipped or forged: both ways of reading refuse, or both read the same, and neither panics
    let bytes = one_of_everything().to_bytes().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.clip");
    let all = |path: &Path| -> Result<Vec<ClipFile>, ClipFileError> {
        let mut reader = ClipReader::open(path)?;
        let (mut parts, mut at) = (Vec::new(), 0);
        while let Some((first, part)) = reader.segment(at)? {
            at = first + part.samples();
            parts.push(part);
        }
        Ok(parts)
    };
    let agree = |bytes: &[u8], what: &str| {
        std::fs::write(&path, bytes).unwrap();
        let (whole, parts) = (ClipFile::read(&path), all(&path));
        match (&whole, &parts) {
            (Ok(whole), Ok(parts)) => assert_eq!(whole.samples(), parts.iter().map(ClipFile::samples).sum::<usize>()),
            (Err(_), Err(_)) => {}
            _ => panic!("{what}: {} {:?}", whole.is_ok(), parts.err()),
        }
    };
    for end in (0..bytes.len()).step_by(7) {
        agree(&bytes[..end], "cut");
    }
    for i in (0..bytes.len()).step_by(3) {
        let mut flipped = bytes.clone();
        flipped[i] ^= 1 << (i % 8);
        std::fs::write(folder.path().join("f"), &flipped).unwrap();
        assert!(ClipReader::open(&folder.path().join("f")).is_err(), "byte {i}");
        agree(&with_checksum(flipped), "forged");
    }
    // an index that promises samples where there is no segment
    let mut nothing = ClipFile::new("nothing", Skeleton::default(), Rate::FrameTime(0.1));
    nothing.add_scalar("x", "m");
    let mut bytes = nothing.to_bytes().unwrap();
    agree(&bytes, "empty");
    let index = bytes.windows(4).position(|w| w == b"INDX").unwrap();
    bytes[index + 12] = 5;
    agree(&with_checksum(bytes.clone()), "promised");
    std::fs::write(&path, with_checksum(bytes)).unwrap();
    assert!(ClipReader::open(&path).is_err());
}

#[test]
fn a_clip_goes_into_a_file_and_comes_back_equal() {
    // frames, rate and loop of a clip survive; a file without poses is not a clip
    let clip = cycle(60, 0.4);
    let bytes = ClipFile::from_clip(&clip).to_bytes().unwrap();
    assert_eq!(ClipFile::from_bytes(&bytes, "memory").unwrap().to_clip().unwrap(), clip);
    let empty = ClipFile::new("empty", clip.skeleton.clone(), Rate::FrameTime(0.1));
    let back = ClipFile::from_bytes(&empty.to_bytes().unwrap(), "memory").unwrap();
    assert!(matches!(back.to_clip(), Err(ClipError::Empty { .. })));
    // control trajectories need no skeleton
    let mut control = ClipFile::new("control", Skeleton::default(), Rate::FrameTime(0.1));
    control.vector_tracks.push(VectorTrack {
        name: "targets".into(),
        unit: "rad".into(),
        arity: 3,
        values: (0..300).map(f64::from).collect(),
    });
    assert_eq!(control.samples(), 100);
    assert_eq!(
        ClipFile::from_bytes(&control.to_bytes().unwrap(), "m").unwrap(),
        control
    );
}

#[test]
fn rates_are_exact() {
    // the frame time of a rate is recognised as that rate, and any other is kept as it is
    for (samples, seconds) in [(60, 1), (1000, 1), (30000, 1001), (60000, 1001), (240, 1)] {
        let rate = Rate::Rational { samples, seconds };
        assert_eq!(Rate::from_frame_time(rate.frame_time()), rate);
    }
    for t in [0.016667, 0.0333333, 1e-300, 1e300] {
        assert_eq!(Rate::from_frame_time(t), Rate::FrameTime(t));
    }
}

/// `bytes` with the checksum that belongs to them.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let at = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..at]).to_le_bytes();
    bytes[at..].copy_from_slice(&checksum);
    bytes
}

#[test]
fn a_file_cut_off_at_any_byte_says_where() {
    // every proper prefix is refused as truncated, at an offset within it
    let bytes = one_of_everything().to_bytes().unwrap();
    for end in 0..bytes.len() {
        match ClipFile::from_bytes(&bytes[..end], "cut.clip") {
            Err(ClipFileError::Truncated { offset, .. }) => assert!(offset <= end),
            other => panic!("{end}: {other:?}"),
        }
    }
    let mut longer = bytes.clone();
    longer.push(0);
    let message = ClipFile::from_bytes(&longer, "long.clip").unwrap_err().to_string();
    assert!(
        message.starts_with("long.clip: byte ") && message.contains("1 more bytes"),
        "{message}"
    );
}

#[test]
fn a_flipped_bit_is_noticed_wherever_it_is() {
    // every single-bit error is refused; with a checksum made to fit, the content is refused or readable, never a panic
    let bytes = one_of_everything().to_bytes().unwrap();
    for i in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[i] ^= 1 << bit;
            assert!(ClipFile::from_bytes(&flipped, "flipped").is_err(), "byte {i} bit {bit}");
            let _ = ClipFile::from_bytes(&with_checksum(flipped), "forged");
        }
        for value in [0u8, 0x7f, 0xff] {
            let mut forged = bytes.clone();
            forged[i] = value;
            let _ = ClipFile::from_bytes(&with_checksum(forged), "forged");
        }
    }
}

#[test]
fn chunks_of_later_writers_are_skipped_and_later_versions_refused() {
    // an unknown chunk changes nothing; version 3 and other files are named as such
    let file = one_of_everything();
    let bytes = file.to_bytes().unwrap();
    let end = bytes.len() - 16;
    let mut extended = bytes[..end].to_vec();
    extended.extend(b"WIND");
    extended.extend(5u64.to_le_bytes());
    extended.extend(b"hello");
    extended.extend(&bytes[end..]);
    assert_eq!(ClipFile::from_bytes(&with_checksum(extended), "m").unwrap(), file);
    let mut newer = bytes.clone();
    newer[8] = 3;
    let message = ClipFile::from_bytes(&with_checksum(newer), "n.clip")
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("version 3") && message.contains("expected 1 to 2"),
        "{message}"
    );
    let message = ClipFile::from_bytes(b"HIERARCHY\nROOT", "w.bvh")
        .unwrap_err()
        .to_string();
    assert!(message.starts_with("w.bvh: not a .clip file"), "{message}");
    assert!(matches!(
        ClipFile::read(Path::new("no/such.clip")),
        Err(ClipFileError::Read { .. })
    ));
}

#[test]
fn content_that_is_not_whole_is_not_written() {
    // NaN, uneven tracks, repeated names, bad rates: an error that names the track, and no bytes
    let broken = |change: &dyn Fn(&mut ClipFile)| {
        let mut file = one_of_everything();
        change(&mut file);
        file.to_bytes().unwrap_err()
    };
    let e = broken(&|f| f.vector_tracks[0].values[3] = f64::NAN);
    assert!(matches!(&e, ContentError::NotFinite { track, sample: 1, .. } if track == "wrench"));
    let e = broken(&|f| f.scalar_tracks[0].values.truncate(5));
    assert!(matches!(&e, ContentError::Length { track, found: 5, expected: 24, .. } if track == "kinetic energy"));
    assert!(matches!(
        broken(&|f| f.vector_tracks[0].arity = 0),
        ContentError::Arity { .. }
    ));
    assert!(matches!(
        broken(&|f| f.rate = Rate::FrameTime(f64::NAN)),
        ContentError::Rate { .. }
    ));
    assert!(matches!(
        broken(&|f| f.events[0].time = f64::INFINITY),
        ContentError::EventTime { .. }
    ));
    assert!(matches!(
        broken(&|f| f.frames[1].rotations[0].w = f64::NAN),
        ContentError::Clip(_)
    ));
    let twin = |f: &mut ClipFile| {
        f.scalar_tracks.push(ScalarTrack {
            name: "wrench".into(),
            values: vec![0.0; 24],
            ..ScalarTrack::default()
        });
    };
    assert!(matches!(broken(&twin), ContentError::DuplicateTrack { .. }));
}

#[test]
fn real_motion_is_stored_to_the_bit_and_smaller_than_raw() {
    // each shared BVH file through the container is unchanged; the size is printed against 56 bytes a joint and frame
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/bvh");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is absent", folder.display());
        return;
    };
    for path in entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "bvh"))
    {
        let clip = bvh::import(&path, &ImportOptions::default()).unwrap().clip;
        let file = ClipFile::from_clip(&clip);
        let bytes = file.to_bytes().unwrap();
        let back = ClipFile::from_bytes(&bytes, "memory").unwrap();
        assert_eq!(bits(&back), bits(&file));
        let raw = clip.frames.len() * clip.skeleton.joints.len() * 56;
        println!(
            "{}: {} bytes, {:.2} of raw",
            clip.name,
            bytes.len(),
            bytes.len() as f64 / raw as f64
        );
        assert!(bytes.len() < raw);
    }
}

#[test]
fn any_time_reads_a_finite_pose_and_velocity() {
    // NaN, infinities and times beyond every clip: looped or not, with one frame or many
    let mut single = cycle(4, 0.3);
    single.frames.truncate(1);
    let mut once = cycle(4, 0.3);
    once.looped = false;
    for clip in [cycle(4, 0.3), cycle(4, 0.0), once, single] {
        for time in [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            -1e300,
            -1e18,
            1e18,
            -0.0,
        ] {
            let pose = clip.sample(time);
            assert!(pose.translations.iter().all(|t| t.is_finite()), "{time}: {pose:?}");
            assert!(
                pose.rotations.iter().all(|r| (r.length() - 1.0).abs() < 1e-9),
                "{time}: {pose:?}"
            );
            let velocity = clip.sample_velocity(time);
            assert!(velocity.root_linear.is_finite() && velocity.root_angular.is_finite());
            assert!(velocity.joints_angular.iter().all(|w| w.is_finite()));
        }
    }
}

#[test]
fn frame_times_that_give_no_velocity_or_duration_are_refused() {
    // neither 0 nor NaN, neither so short that rates are infinite nor so long that the duration is
    let good = cycle(4, 0.0);
    for frame_time in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
        let skeleton = good.skeleton.clone();
        let clip = Clip::from_frames("x", skeleton, frame_time, good.frames.clone(), true);
        assert!(clip.is_err(), "{frame_time}");
    }
}
