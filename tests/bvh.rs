//! BVH files of every kind: what is read, what is refused and where, and what is written.

use std::path::{Path, PathBuf};

use ambler::clip::Clip;
use ambler::math::euler::EulerOrder;
use ambler::math::random::uniform_in;
use ambler::math::rotation::{angle_between, exp};
use ambler::motion::bvh::{self, BvhError, ExportOptions, ImportOptions, Imported, UpAxis};
use ambler::skeleton::{Joint, ModelPose, Skeleton};
use glam::{DQuat, DVec3};
use proptest::prelude::*;

fn shared_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/bvh");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is absent", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "bvh"))
        .collect();
    files.sort();
    files
}

fn scale_of(path: &Path) -> f64 {
    if path.ends_with("games105_motion.bvh") {
        0.01
    } else {
        1.0
    }
}

fn import(path: &Path) -> Imported {
    let options = ImportOptions {
        scale: scale_of(path),
        up: UpAxis::Y,
    };
    bvh::import(path, &options).unwrap()
}

fn model(clip: &Clip, frame: usize) -> ModelPose {
    let mut model = ModelPose::default();
    clip.skeleton.model_pose(&clip.frames[frame], &mut model);
    model
}

/// Largest distance between equally named joints and their end sites, over all frames.
fn largest_difference(a: &Clip, b: &Clip) -> f64 {
    assert_eq!(a.frames.len(), b.frames.len());
    assert_eq!(a.skeleton.joints.len(), b.skeleton.joints.len());
    let partner: Vec<usize> = a
        .skeleton
        .joints
        .iter()
        .map(|j| b.skeleton.joint(&j.name).unwrap())
        .collect();
    let mut largest = 0.0f64;
    for f in 0..a.frames.len() {
        let (ma, mb) = (model(a, f), model(b, f));
        for (j, &k) in partner.iter().enumerate() {
            largest = largest.max((ma.positions[j] - mb.positions[k]).length());
            let (ends_a, ends_b) = (&a.skeleton.joints[j].end_sites, &b.skeleton.joints[k].end_sites);
            assert_eq!(ends_a.len(), ends_b.len());
            for (&ea, &eb) in ends_a.iter().zip(ends_b) {
                largest = largest.max((ma.end_site(j, ea) - mb.end_site(k, eb)).length());
            }
        }
    }
    largest
}

/// Positions of all joints of one frame of a well-formed file by 4×4 matrices, read word by word: an independent route.
fn positions_by_matrices(text: &str, frame: usize) -> Vec<(String, [f64; 3])> {
    type Matrix = [[f64; 4]; 4];
    let identity: Matrix = [0, 1, 2, 3].map(|i| [0, 1, 2, 3].map(|j| f64::from(u8::from(i == j))));
    let product = |a: &Matrix, b: &Matrix| -> Matrix {
        [0, 1, 2, 3].map(|i| [0, 1, 2, 3].map(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
    };
    let (hierarchy, motion) = text.split_once("MOTION").unwrap();
    let row: Vec<f64> = motion
        .lines()
        .filter(|l| l.split_whitespace().count() > 5)
        .nth(frame)
        .unwrap()
        .split_whitespace()
        .map(|w| w.parse().unwrap())
        .collect();
    let mut values = row.into_iter();
    let mut stack: Vec<Matrix> = vec![identity];
    let mut found = Vec::new();
    let mut name = None;
    let mut offset = [0.0; 3];
    for line in hierarchy.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.first().copied() {
            Some("ROOT" | "JOINT") => name = Some(words[1].to_owned()),
            Some("End") => name = None,
            Some("OFFSET") => {
                offset = [1, 2, 3].map(|i| words[i].parse().unwrap());
                if name.is_none() {
                    stack.push(identity);
                }
            }
            Some("CHANNELS") => {
                let mut translation = offset;
                let mut rotation = identity;
                for channel in &words[2..] {
                    let value = values.next().unwrap();
                    let axis = usize::from(channel.as_bytes()[0] - b'X');
                    if channel.ends_with("position") {
                        translation[axis] = value;
                    } else {
                        let (sin, cos) = libm::sincos(value.to_radians());
                        let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
                        let mut r = identity;
                        r[i][i] = cos;
                        r[j][j] = cos;
                        r[i][j] = -sin;
                        r[j][i] = sin;
                        rotation = product(&rotation, &r);
                    }
                }
                let mut local = rotation;
                for i in 0..3 {
                    local[i][3] = translation[i];
                }
                let world = product(stack.last().unwrap(), &local);
                found.push((name.clone().unwrap(), [world[0][3], world[1][3], world[2][3]]));
                stack.push(world);
            }
            Some("}") => {
                stack.pop();
            }
            _ => {}
        }
    }
    assert_eq!(values.next(), None);
    found
}

#[test]
fn real_files_import_as_an_independent_reader_sees_them() {
    // every joint of every 37th frame lies where 4×4 matrices put it
    for path in shared_files() {
        let imported = import(&path);
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
        let clip = imported.clip;
        let text = std::fs::read_to_string(&path).unwrap();
        let scale = scale_of(&path);
        for f in (0..clip.frames.len()).step_by(37) {
            let expected = positions_by_matrices(&text, f);
            assert_eq!(expected.len(), clip.skeleton.joints.len());
            let model = model(&clip, f);
            for (j, (name, x)) in expected.into_iter().enumerate() {
                assert_eq!(clip.skeleton.joints[j].name, name);
                // metres, ten levels deep
                let x = DVec3::from_array(x) * scale;
                assert!((model.positions[j] - x).length() < 1e-13, "{name} {x}");
            }
        }
    }
}

#[test]
fn real_files_survive_export_and_import() {
    // every joint and end site of every frame comes back to 1e-6 m, in the default and in the file's own channel order
    let folder = tempfile::tempdir().unwrap();
    let mut largest = 0.0f64;
    for path in shared_files() {
        let imported = import(&path);
        let own = ExportOptions {
            joint_orders: imported.orders.clone(),
            ..ExportOptions::default()
        };
        for options in [ExportOptions::default(), own] {
            let out = folder.path().join("out.bvh");
            bvh::write_with(&imported.clip, &out, &options).unwrap();
            let back = bvh::import(&out, &ImportOptions::default()).unwrap();
            assert!(back.warnings.is_empty(), "{:?}", back.warnings);
            assert_eq!(back.clip.frame_time, imported.clip.frame_time);
            largest = largest.max(largest_difference(&imported.clip, &back.clip));
        }
    }
    println!("largest joint displacement after export and import: {largest:.3e} m");
    assert!(largest < 1e-6, "{largest}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

const SMALL: &str = "HIERARCHY
ROOT Hips
{
  OFFSET 0 0.9 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Spine
  {
    OFFSET 0 0.5 0.1
    CHANNELS 3 Yrotation Zrotation Xrotation
    End Site
    {
      OFFSET 0 0.2 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
0.1 0.95 0.2 10 20 30 -40 15 25
0.2 0.96 0.3 11 21 31 -41 16 26
";

fn parse(text: &str) -> Result<Imported, BvhError> {
    bvh::parse(text, "small.bvh", &ImportOptions::default())
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn axis_turn(axis: DVec3, degrees: f64) -> DQuat {
    exp(axis * degrees.to_radians())
}

#[test]
fn rotations_are_multiplied_in_the_order_of_their_channels() {
    // Zrotation Xrotation Yrotation is Rz Rx Ry, joint by joint
    let clip = parse(SMALL).unwrap().clip;
    let hips = axis_turn(DVec3::Z, 10.0) * axis_turn(DVec3::X, 20.0) * axis_turn(DVec3::Y, 30.0);
    let spine = axis_turn(DVec3::Y, -40.0) * axis_turn(DVec3::Z, 15.0) * axis_turn(DVec3::X, 25.0);
    assert!(angle_between(clip.frames[0].rotations[0], hips) < 1e-15);
    assert!(angle_between(clip.frames[0].rotations[1], spine) < 1e-15);
    assert_eq!(clip.frames[0].translations[0], DVec3::new(0.1, 0.95, 0.2));
    assert_eq!(clip.frames[0].translations[1], DVec3::new(0.0, 0.5, 0.1));
    assert_eq!(clip.frame_time, 0.0333333);
}

#[test]
fn every_spelling_of_the_same_file_reads_the_same() {
    // line ends, tabs, case, missing and extra spaces, blank lines, a byte order mark, exponents: one motion
    let expected = parse(SMALL).unwrap().clip;
    let spellings = [
        SMALL.replace('\n', "\r\n"),
        SMALL.replace('\n', "\r"),
        SMALL.replace('\n', "\n\n"),
        SMALL.replace(' ', "\t\t "),
        format!("\u{feff}{SMALL}"),
        SMALL.trim_end().to_owned(),
        format!("  {SMALL}\n  \n\t\n"),
        SMALL.replace("\n{", "{").replace("\n  {", "{").replace("\n    {", "{"),
        SMALL
            .replace("0.1\n", "0.1 \n")
            .replace("{\n", "{")
            .replace("0.2 0\n    }", "0.2 0}"),
        SMALL
            .replace("Frames: 2", "FRAMES:2")
            .replace("Frame Time: ", "frame time:"),
        SMALL
            .replace("Frames: 2", "Frames : 2")
            .replace("Frame Time:", "Frame Time :"),
        SMALL
            .replace("Frames: 2", "Frames 2")
            .replace("Frame Time:", "Frame  Time"),
        SMALL.replace("MOTION\n", "MOTION "),
        SMALL.replace("Frames: 2\nFrame Time: 0.0333333", "Frame Time: 3.33333e-2\nFrames: 2"),
        SMALL
            .replace("0.95 ", "9.5E-1 ")
            .replace("-40 ", "-4.0e+01 ")
            .replace(" 15 ", " +15. "),
        SMALL
            .replace("HIERARCHY", "Hierarchy")
            .replace("ROOT", "Root")
            .replace("JOINT", "joint")
            .replace("OFFSET", "offset")
            .replace("CHANNELS", "Channels")
            .replace("Zrotation", "ZROTATION")
            .replace("Xposition", "xPosition")
            .replace("End Site", "END SITE")
            .replace("MOTION", "motion"),
        SMALL.replace("End Site", "End Site Spine_end"),
        SMALL.replace("End Site", "EndSite"),
    ];
    for text in spellings {
        let found = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(found.clip, expected, "{text}");
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    }
}

#[test]
fn joints_may_have_any_channels() {
    // 0 to 6 channels in any order and mixture; positions override their own component of OFFSET only
    let text = "HIERARCHY ROOT a { OFFSET 1 2 3 CHANNELS 1 Yposition
        JOINT none { OFFSET 0.1 0.2 0.3 CHANNELS 0
          JOINT two { OFFSET 0.4 0.5 0.6 CHANNELS 2 Zrotation Xposition
            JOINT six { OFFSET 7 8 9 CHANNELS 6 Yrotation Zposition Xrotation Xposition Zrotation Yposition
              End Site { OFFSET 0 1 0 } End Site { OFFSET 0 0 1 } }
            JOINT proper { OFFSET 0 0 1 CHANNELS 3 Zrotation Xrotation Zrotation } } } }
        MOTION Frames: 1
        Frame Time: 0.01
        0.9   30 -0.7   10 0.3 20 0.1 40 0.2   15 25 35";
    let imported = parse(text).unwrap();
    let clip = &imported.clip;
    let pose = &clip.frames[0];
    assert_eq!(pose.translations[0], DVec3::new(1.0, 0.9, 3.0));
    assert_eq!(pose.rotations[0], DQuat::IDENTITY);
    assert_eq!(pose.translations[1], DVec3::new(0.1, 0.2, 0.3));
    assert_eq!(pose.translations[2], DVec3::new(-0.7, 0.5, 0.6));
    assert!(angle_between(pose.rotations[2], axis_turn(DVec3::Z, 30.0)) < 1e-15);
    assert_eq!(pose.translations[3], DVec3::new(0.1, 0.2, 0.3));
    let six = axis_turn(DVec3::Y, 10.0) * axis_turn(DVec3::X, 20.0) * axis_turn(DVec3::Z, 40.0);
    assert!(angle_between(pose.rotations[3], six) < 1e-15);
    let proper = axis_turn(DVec3::Z, 15.0) * axis_turn(DVec3::X, 25.0) * axis_turn(DVec3::Z, 35.0);
    assert!(angle_between(pose.rotations[4], proper) < 1e-15);
    assert_eq!(clip.skeleton.joints[3].end_sites, [DVec3::Y, DVec3::Z]);
    assert_eq!(clip.skeleton.joints[4].parent, Some(2));
    let orders: Vec<Option<String>> = imported.orders.iter().map(|o| o.map(|o| o.to_string())).collect();
    assert_eq!(orders, [None, None, None, Some("YXZ".into()), Some("ZXZ".into())]);
    // and all of it is written and read back, six channels where they are needed
    let options = ExportOptions {
        joint_orders: imported.orders.clone(),
        ..ExportOptions::default()
    };
    let out = bvh::to_string_with(clip, &options).unwrap();
    let six_channels = out.matches("CHANNELS 6").count();
    assert_eq!(
        six_channels, 3,
        "the root and the two joints that leave their offsets:\n{out}"
    );
    assert!(out.contains("Yrotation Xrotation Zrotation"));
    assert!(largest_difference(clip, &parse(&out).unwrap().clip) < 1e-6);
}

#[test]
fn names_keep_spaces_colons_and_scripts() {
    // a name is the rest of its line; a repeated one gets a number and a warning
    let text = SMALL
        .replace("ROOT Hips", "ROOT  mixamorig:Hüften links ")
        .replace("JOINT Spine", "JOINT 背骨");
    let clip = parse(&text).unwrap().clip;
    assert_eq!(clip.skeleton.joints[0].name, "mixamorig:Hüften links");
    assert_eq!(clip.skeleton.joints[1].name, "背骨");
    let back = parse(&bvh::to_string(&clip).unwrap()).unwrap().clip;
    assert_eq!(back.skeleton.joints[0].name, clip.skeleton.joints[0].name);
    let twice = parse(&SMALL.replace("JOINT Spine", "JOINT Hips")).unwrap();
    assert_eq!(twice.clip.skeleton.joints[1].name, "Hips_2");
    assert!(twice.warnings[0].starts_with("small.bvh:6: "), "{:?}", twice.warnings);
}

#[test]
fn z_up_data_is_turned_to_stand_and_face_forward() {
    // z-up data facing −y, as Blender has it, stands along +y and faces +z; positions are those turned as a whole
    let options = ImportOptions {
        scale: 0.01,
        up: UpAxis::Z,
    };
    let text = SMALL
        .replace("OFFSET 0 0.9 0", "OFFSET 0 0 90")
        .replace("OFFSET 0 0.5 0.1", "OFFSET 3 -10 50")
        .replace("0.1 0.95 0.2", "10 -20 95")
        .replace("0.2 0.96 0.3", "20 -30 96");
    let turned = bvh::parse(&text, "z", &options).unwrap().clip;
    let plain = parse(&text).unwrap().clip;
    for f in 0..2 {
        let (a, b) = (model(&turned, f), model(&plain, f));
        for (x, y) in a.positions.iter().zip(&b.positions) {
            assert!((*x - DVec3::new(y.x, y.z, -y.y) * 0.01).length() < 1e-15);
        }
    }
    assert!((turned.skeleton.joints[1].offset - DVec3::new(0.03, 0.5, 0.1)).length() < 1e-15);
}

#[test]
fn hips_at_an_unlikely_height_are_reported_with_the_scale_that_would_do() {
    // the suggestion is the whole --scale, or --up if the other axis has a human height
    let warning = |x: &str, scale: f64| {
        let text = SMALL.replace("0.1 0.95 0.2", x);
        let options = ImportOptions { scale, up: UpAxis::Y };
        bvh::parse(&text, "w.bvh", &options).unwrap().warnings.join("|")
    };
    assert_eq!(warning("0 0.31 0", 1.0), "");
    assert_eq!(warning("0 2.5 0", 1.0), "");
    assert!(warning("0 95 0", 1.0).contains("`--scale 0.01` would make it 0.95 m"));
    assert!(warning("0 102.6 0", 0.1).contains("`--scale 0.01` would make it 1.03 m"));
    assert!(warning("0 37.5 0", 1.0).contains("`--scale 0.0254`"));
    assert!(warning("0 910 0", 1.0).contains("`--scale 0.001`"));
    assert!(warning("0 17 0", 1.0).contains("`--scale 0.0564`"));
    assert!(warning("0 5 0", 1.0).contains("`--scale 0.19`"));
    assert!(warning("0 0.01 0.95", 1.0).contains("`--up Z` would make it 0.95 m"));
    assert!(warning("0 -3 0", 1.0).contains("--up Z"));
}

#[test]
fn broken_files_are_refused_with_file_line_and_expectation() {
    // each error names the line and what was expected there
    let cases: Vec<(String, &[&str])> = vec![
        (String::new(), &["small.bvh:1:", "HIERARCHY", "end of the file"]),
        ("\u{0}\u{1}binary".into(), &["small.bvh:1:", "HIERARCHY"]),
        ("HIERARCHY\nMOTION".into(), &["small.bvh:2:", "ROOT"]),
        (
            SMALL.replace("ROOT Hips", "ROOT"),
            &["small.bvh:3:", "a name after ROOT"],
        ),
        (
            SMALL.replace("0 0.5 0.1", "0 0.5"),
            &["small.bvh:9:", "three numbers", "`CHANNELS`"],
        ),
        (SMALL.replace("0 0.5 0.1", "0 0,5 0.1"), &["small.bvh:8:", "`0,5`"]),
        (
            SMALL.replace("0 0.5 0.1", "0 nan 0.1"),
            &["small.bvh:8:", "`nan` is not a finite number"],
        ),
        (
            SMALL.replace("0 0.5 0.1", "0 1e999 0.1"),
            &["small.bvh:8:", "not a finite"],
        ),
        (
            SMALL.replace("CHANNELS 3", "CHANNELS 4"),
            &["small.bvh:10:", "channel 4 of 4 of joint `Spine`", "`End`"],
        ),
        (
            SMALL.replace("CHANNELS 3", "CHANNELS 99999999999"),
            &["small.bvh:9:", "0 to 6"],
        ),
        (SMALL.replace("CHANNELS 3", "CHANNELS -1"), &["small.bvh:9:", "0 to 6"]),
        (
            SMALL.replace("CHANNELS 3", "CHANNELS 2"),
            &["small.bvh:9:", "`Xrotation`"],
        ),
        (
            SMALL.replace("Yrotation Zrotation Xrotation", "Yrotation Zscale Xrotation"),
            &["small.bvh:9:", "`Zscale`"],
        ),
        (
            SMALL.replace("Xposition Yposition", "Xposition Xposition"),
            &["small.bvh:5:", "once"],
        ),
        (
            SMALL.replace("    OFFSET 0 0.5 0.1\n", ""),
            &["small.bvh:13:", "OFFSET in joint `Spine`"],
        ),
        (
            SMALL.replace("      OFFSET 0 0.2 0\n", ""),
            &["small.bvh:12:", "OFFSET in the End Site of joint `Spine`"],
        ),
        (
            SMALL.replace("End Site", "End"),
            &["small.bvh:11:", "`Site` after `End`"],
        ),
        (
            SMALL.replace("  }\n}\nMOTION", "  }\nMOTION"),
            &["small.bvh:15:", "joint `Hips`", "`MOTION`"],
        ),
        (
            SMALL.replace("}\nMOTION", "}\n}\nMOTION"),
            &["small.bvh:16:", "MOTION", "`}`"],
        ),
        (
            SMALL.replace("MOTION", "ROOT Other\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nMOTION"),
            &["small.bvh:16:", "a second root `Other` after `Hips`", "make it a JOINT"],
        ),
        (
            SMALL.replace("Frames: 2", "Frames: -2"),
            &["small.bvh:17:", "number of frames", "`-2`"],
        ),
        (
            SMALL.replace("Frames: 2", "Frames:"),
            &["small.bvh:17:", "found nothing"],
        ),
        (SMALL.replace("Frames: 2\n", ""), &["small.bvh:18:", "`Frames: N`"]),
        (SMALL.replace("0.0333333", "0"), &["small.bvh:18:", "above 0"]),
        (
            SMALL.replace("0.0333333", "inf"),
            &["small.bvh:18:", "`inf` is not a finite"],
        ),
        (
            SMALL.replace(" 16 26", " 16"),
            &["small.bvh:20:", "frame 2 has 8 values, expected 9"],
        ),
        (
            SMALL.replace(" 16 26", " 16 26 36"),
            &["small.bvh:20:", "frame 2 has 10 values, expected 9"],
        ),
        (SMALL.replace(" 16 26", " 16 NaN"), &["small.bvh:20:", "`NaN`"]),
        (SMALL.replace(" 16 26", " 16 -1.#IND"), &["small.bvh:20:", "`-1.#IND`"]),
        (
            SMALL.replace("Frames: 2", "Frames: 3"),
            &["small.bvh:20:", "ends after 2 frames, expected 3"],
        ),
        (
            SMALL.replace("Frames: 2", "Frames: 18446744073709551615"),
            &["ends after 2 frames"],
        ),
        (
            SMALL
                .split("0.1 0.95")
                .next()
                .unwrap()
                .replace("Frames: 2", "Frames: 0"),
            &["small.bvh:19:", "at least one frame"],
        ),
        (
            "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 0 } MOTION Frames: 99999999999 Frame Time: 1".into(),
            &["channel"],
        ),
    ];
    for (text, expected) in cases {
        let message = error(&text);
        for part in expected {
            assert!(message.contains(part), "`{part}` is missing in: {message}");
        }
    }
    let path = Path::new("does/not/exist.bvh");
    let message = bvh::import(path, &ImportOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("does/not/exist.bvh: cannot read"));
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = ImportOptions { scale, up: UpAxis::Y };
        assert!(matches!(bvh::parse(SMALL, "s", &options), Err(BvhError::Scale { .. })));
    }
    // numbers that only overflow when scaled are refused too
    let options = ImportOptions {
        scale: 1e10,
        up: UpAxis::Y,
    };
    let overflow = bvh::parse(&SMALL.replace("0 0.5 0.1", "0 1e305 0.1"), "s", &options);
    assert!(matches!(overflow, Err(BvhError::Clip { .. })));
}

#[test]
fn a_file_cut_off_anywhere_is_an_error_and_never_a_panic() {
    // every proper prefix that loses more than digits of the last number is refused
    let whole = SMALL.trim_end().len();
    for end in 0..whole - 2 {
        assert!(parse(&SMALL[..end]).is_err(), "{end}");
    }
    // any single byte replaced: an answer or an error, and no panic
    for i in 0..SMALL.len() {
        for byte in ["\u{0}", "{", "}", "9", "-", "\u{e9}", "\n"] {
            let mut text = SMALL.to_owned();
            text.replace_range(i..=i, byte);
            let _ = parse(&text);
        }
    }
}

proptest! {
    #[test]
    fn any_soup_of_words_is_an_answer_or_an_error(words in prop::collection::vec(0usize..24, 0..60), whole in any::<bool>()) {
        // no panic, and what is accepted is a valid clip that can be written and read again
        const WORDS: [&str; 24] = [
            "HIERARCHY", "ROOT a", "JOINT b", "{", "}", "OFFSET", "0 1 0", "CHANNELS", "0", "1", "3", "Xposition",
            "Yrotation", "Zrotation", "End Site", "MOTION", "Frames:", "Frame Time:", "0.1", "\n", "\r", "-1e3", "é", ":",
        ];
        let soup: Vec<&str> = words.iter().map(|&w| WORDS[w]).collect();
        let soup = soup.join(" ");
        let text = if whole { SMALL.replace("JOINT Spine", &format!("JOINT {soup}")) } else { soup };
        if let Ok(imported) = parse(&text) {
            let back = parse(&bvh::to_string(&imported.clip).unwrap()).unwrap();
            prop_assert_eq!(back.clip.frames.len(), imported.clip.frames.len());
        }
    }
}

#[test]
fn more_frames_than_promised_are_read_with_a_warning() {
    // the frames of the file count, not the header
    let imported = parse(&SMALL.replace("Frames: 2", "Frames: 1")).unwrap();
    assert_eq!(imported.clip.frames.len(), 2);
    assert!(imported.warnings[0].starts_with("small.bvh:17: `Frames: 1`"));
}

#[test]
fn a_hundred_thousand_nested_joints_do_not_overflow_the_stack() {
    // depth is bounded by memory only
    let n = 100_000;
    let mut text = String::from("HIERARCHY\nROOT r { OFFSET 0 1 0 CHANNELS 1 Xrotation\n");
    for j in 0..n {
        text.push_str(&format!("JOINT j{j} {{ OFFSET 0 0 0 CHANNELS 0\n"));
    }
    text.push_str(&"}".repeat(n + 1));
    text.push_str("\nMOTION\nFrames: 1\nFrame Time: 0.1\n5\n");
    assert_eq!(parse(&text).unwrap().clip.skeleton.joints.len(), n + 1);
}

/// A skeleton with rest rotations, branches out of depth-first order and moving joints, turning for several rounds.
fn general_clip() -> Clip {
    let vector = |stream: u64, index: usize, size: f64| {
        DVec3::from_array([0, 1, 2].map(|k| uniform_in(3, stream * 3 + k, index as u64, -size, size)))
    };
    let parents = [None, Some(0), Some(0), Some(1), Some(2), Some(1), Some(5), Some(4)];
    let joints = parents
        .into_iter()
        .enumerate()
        .map(|(j, parent)| Joint {
            name: format!("j{j}"),
            parent,
            offset: vector(0, j, 0.4),
            rest: exp(vector(1, j, 2.0)),
            end_sites: if j > 4 { vec![vector(2, j, 0.3); j - 4] } else { vec![] },
        })
        .collect();
    let skeleton = Skeleton { joints };
    let frames = (0..240)
        .map(|f| {
            let t = f as f64 / 60.0;
            let mut pose = skeleton.bind_pose();
            for j in 0..parents.len() {
                pose.rotations[j] = exp(vector(3, j, 5.0) * t) * exp(vector(4, j, 1.0));
            }
            pose.translations[0] = DVec3::new(t, 1.0, -2.0 * t);
            pose.translations[5] += vector(5, 0, 0.1) * t;
            pose
        })
        .collect();
    Clip::from_frames("general", skeleton, 1.0 / 60.0, frames, false).unwrap()
}

#[test]
fn any_clip_in_any_order_survives_export_without_jumps() {
    // positions to 1e-6 m for all twelve Tait-Bryan orders; no angle jumps by half a turn from frame to frame
    let clip = general_clip();
    for order in EulerOrder::all() {
        let options = ExportOptions {
            order,
            scale: 0.01,
            ..ExportOptions::default()
        };
        if order.is_proper() {
            assert!(matches!(
                bvh::to_string_with(&clip, &options),
                Err(BvhError::Order { .. })
            ));
            continue;
        }
        let text = bvh::to_string_with(&clip, &options).unwrap();
        let centimetres = ImportOptions {
            scale: 0.01,
            up: UpAxis::Y,
        };
        let back = bvh::parse(&text, "back", &centimetres).unwrap();
        let d = largest_difference(&clip, &back.clip);
        assert!(d < 1e-6, "{order} {d}");
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip_while(|l| !l.starts_with("Frame Time"))
            .skip(1)
            .map(|l| l.split(' ').map(|w| w.parse().unwrap()).collect())
            .collect();
        // at most 5√3 rad/s per joint: 8 degrees a frame, more near gimbal lock but never a wrap of 360
        for pair in rows.windows(2) {
            let jump = pair[0]
                .iter()
                .zip(&pair[1])
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(jump < 181.0, "{order} {jump}");
        }
    }
    // the bind pose is all angles 0
    let bind = Clip {
        frames: vec![clip.skeleton.bind_pose()],
        ..clip.clone()
    };
    let text = bvh::to_string(&bind).unwrap();
    let row = text.lines().last().unwrap();
    let [x, y, z] = clip.skeleton.joints[0].offset.to_array();
    let zeros = " 0.0000000".repeat(3 * 8);
    assert_eq!(row, format!("{x:.7} {y:.7} {z:.7}{zeros}"));
}

#[test]
fn blender_finds_each_line_where_it_looks_for_it() {
    // Blender takes OFFSET two lines and CHANNELS three lines below a name, `Frames:` and `Frame Time:` after MOTION
    let text = bvh::to_string(&general_clip()).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut leaves = 0;
    for (i, line) in lines.iter().enumerate() {
        if line.starts_with("ROOT") || line.starts_with("JOINT") {
            assert_eq!(lines[i + 1], "{");
            assert!(lines[i + 2].starts_with("OFFSET "));
            assert!(lines[i + 3].starts_with("CHANNELS "));
        }
        if *line == "End Site" {
            assert_eq!(lines[i + 1], "{");
            assert!(lines[i + 2].starts_with("OFFSET "));
            assert_eq!(lines[i + 3], "}");
            leaves += 1;
        }
    }
    // joints 5, 6 and 7 carry one, two and three; joint 3 is a bare leaf
    assert_eq!(leaves, 1 + 2 + 3 + 1);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
    let motion = lines.iter().position(|l| *l == "MOTION").unwrap();
    assert_eq!(lines[motion + 1], "Frames: 240");
    assert_eq!(lines[motion + 2], "Frame Time: 0.016666666666666666");
    assert_eq!(lines.len(), motion + 3 + 240);
    assert!(!text.contains("-0.0000000") && !text.contains("NaN"));
}

#[test]
fn a_clip_that_is_not_one_is_not_written() {
    // NaN and empty clips are errors, and no file appears
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.bvh");
    let mut clip = general_clip();
    clip.frames[7].translations[3].y = f64::NAN;
    let message = bvh::write(&clip, &path).unwrap_err().to_string();
    assert!(message.contains("frame 7") && message.contains("`j3`"), "{message}");
    clip.frames.clear();
    assert!(bvh::write(&clip, &path).unwrap_err().to_string().contains("no frames"));
    assert!(!path.exists());
    let nowhere = folder.path().join("absent/motion.bvh");
    let message = bvh::write(&general_clip(), &nowhere).unwrap_err().to_string();
    assert!(
        message.starts_with("cannot write ") && message.contains("absent/motion.bvh"),
        "{message}"
    );
    // a hostile name cannot break the file
    let mut clip = general_clip();
    clip.skeleton.joints[1].name = " a{b}\nOFFSET 1".into();
    let back = parse(&bvh::to_string(&clip).unwrap()).unwrap();
    assert_eq!(back.clip.skeleton.joints.len(), 8);
}

#[test]
fn a_binary_file_puts_no_control_characters_into_the_error() {
    // what is quoted reaches a terminal: escapes and line ends must not
    let error = bvh::parse("\u{1b}[31m\u{7}\u{8}x\n", "x.bvh", &ImportOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(text.starts_with("x.bvh:1:"), "{text}");
}

#[test]
fn many_joints_of_one_name_are_numbered_without_delay() {
    // names stay unique, also against one that looks like a numbered one; time grows with the number of joints
    const JOINTS: usize = 40_000;
    let mut text =
        String::from("HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\nJOINT a_3\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\n");
    for _ in 0..JOINTS {
        text += "JOINT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\n";
    }
    text += "}\nMOTION\nFrames: 1\nFrame Time: 0.01\n\n";
    let begin = std::time::Instant::now();
    let parsed = bvh::parse(&text, "x.bvh", &ImportOptions::default());
    assert!(begin.elapsed().as_secs_f64() < 5.0);
    if let Ok(parsed) = parsed {
        let names: std::collections::HashSet<_> = parsed.clip.skeleton.joints.iter().map(|j| &j.name).collect();
        assert_eq!(names.len(), JOINTS + 2);
    }
}
