//! The characters in `data/characters`, and characters fitted to real motion capture.
#![allow(non_snake_case)]

use std::f64::consts::PI;
use std::path::{Path, PathBuf};

use ambler::character::{Character, FitError, FitOptions, Joint, MassProperties, Role, Severity, Shape, check, fit};
use ambler::motion::bvh::{self, ImportOptions};
use ambler::skeleton::{ModelPose, Skeleton};
use ambler::world::{Actuation, CharacterState, EngineKind, Placement, Scene, Terrain, TerrainShape, build};
use glam::{DQuat, DVec3, Vec3Swizzles};
use proptest::prelude::*;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters").join(name)
}

/// Places and rotations of all body frames with the given rotations of joints.
fn pose(character: &Character, rotation: impl Fn(&str) -> DQuat) -> Vec<(DVec3, DQuat)> {
    let mut frames: Vec<(DVec3, DQuat)> = Vec::new();
    for body in &character.bodies {
        let (x, R) = body.parent.map_or((DVec3::ZERO, DQuat::IDENTITY), |p| frames[p]);
        frames.push((x + R * body.offset, R * body.rest * rotation(&body.name)));
    }
    frames
}

#[test]
fn the_benchmark_humanoid_has_the_numbers_of_the_solver_comparison() {
    // 16 bodies, 43 degrees of freedom, and every place, mass, size and gain as in the shared file
    let character = Character::load(&data("benchmark.toml")).unwrap();
    assert_eq!((character.bodies.len(), character.dofs()), (16, 43));
    assert!((character.mass() - 69.8).abs() < 1e-12);

    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/benchmark_humanoid.json");
    let Ok(text) = std::fs::read_to_string(&shared) else {
        println!("skipped: {} is absent", shared.display());
        return;
    };
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let vector = |v: &serde_json::Value| DVec3::from_array(std::array::from_fn(|i| v[i].as_f64().unwrap()));
    let frames = pose(&character, |_| DQuat::IDENTITY);
    let bodies = json["bodies"].as_array().unwrap();
    assert_eq!(bodies.len(), character.bodies.len());
    for expected in bodies {
        let name = expected["name"].as_str().unwrap();
        let i = character.body(name).expect(name);
        let body = &character.bodies[i];
        assert_eq!(
            body.parent.map(|p| character.bodies[p].name.as_str()),
            expected["parent"].as_str()
        );
        assert!(
            (frames[i].0 - vector(&expected["joint_position"])).length() < 1e-12,
            "{name}"
        );
        assert!(
            (frames[i].0 + body.center_of_mass - vector(&expected["center"])).length() < 1e-12,
            "{name}"
        );
        assert_eq!(body.mass, expected["mass"].as_f64().unwrap());
        let axis = match expected["joint"].as_str().unwrap() {
            "hinge_x" => Some(DVec3::X),
            "hinge_y" => Some(DVec3::Y),
            _ => None,
        };
        match body.joint {
            Joint::Hinge { axis: a } => assert!(a == axis.unwrap(), "{name}"),
            Joint::Ball => assert_eq!(expected["joint"], "ball"),
            joint => assert_eq!((joint, &expected["joint"]), (Joint::Free, &"free".into())),
        }
        let size: Vec<f64> = expected["size"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect();
        let [collider] = &body.colliders[..] else {
            panic!("{name}")
        };
        match (&collider.shape, expected["shape"].as_str().unwrap()) {
            (Shape::Box { half_extents }, "box") => assert_eq!(half_extents.to_array(), size[..]),
            (Shape::Capsule { half_length, radius }, kind) => {
                assert_eq!([*radius, *half_length], size[..]);
                let along = if kind == "capsule_x" { DVec3::X } else { DVec3::Y };
                assert!(((collider.rotation * DVec3::Y).abs() - along).length() < 1e-15);
            }
            other => panic!("{name}: {other:?}"),
        }
        if let Some(kp) = expected["kp"].as_f64() {
            assert_eq!((body.kp[0], body.kd[0]), (kp, expected["kd"].as_f64().unwrap()));
        }
        assert_eq!(body.material.friction, 1.0);
    }
}

#[test]
fn the_humanoid_is_an_adult_of_70_kg_and_170_cm() {
    // mass, height, span of the feet and height of the centre of mass agree with published anthropometry
    let character = Character::load(&data("humanoid.toml")).unwrap();
    assert!((character.mass() - 70.0).abs() < 0.02, "{}", character.mass());

    let hanging = |name: &str| match name {
        "left_upper_arm" => DQuat::from_rotation_z(-1.45),
        "right_upper_arm" => DQuat::from_rotation_z(1.45),
        _ => DQuat::IDENTITY,
    };
    let frames = pose(&character, hanging);
    let bodies: Vec<MassProperties> = (character.bodies.iter().zip(&frames))
        .map(|(b, (x, R))| MassProperties {
            mass: b.mass,
            center: *x + *R * b.center_of_mass,
            inertia: glam::DMat3::ZERO,
        })
        .collect();
    let whole = MassProperties::sum(&bodies).unwrap();
    // 0.55 to 0.58 of the stature in standing men (Winter, "Biomechanics and Motor Control of Human Movement")
    assert!(
        (0.55..0.58).contains(&(whole.center.y / 1.70)),
        "{}",
        whole.center.y / 1.70
    );
    assert!(whole.center.x.abs() < 1e-12, "left and right balance");
    // over the soles, or it could not stand in this pose
    assert!((-0.05..0.12).contains(&whole.center.z));

    let frames = character.bind_frames();
    let turned: Vec<_> = frames
        .iter()
        .map(|(x, R)| (DVec3::new(x.x, -x.y, x.z), *R * DQuat::from_rotation_x(PI)))
        .collect();
    let (low, high) = (character.lowest_point(&frames), -character.lowest_point(&turned));
    assert!(low.abs() < 1e-12 && (high - 1.70).abs() < 1e-9, "from {low} to {high}");
    for (i, body) in character.bodies.iter().enumerate() {
        if matches!(
            body.role,
            Role::LeftFoot | Role::RightFoot | Role::LeftToes | Role::RightToes
        ) {
            let alone = Character {
                name: body.name.clone(),
                bodies: vec![body.clone()],
            };
            assert!(alone.lowest_point(&frames[i..]).abs() < 1e-12, "{}", body.name);
        }
    }
}

#[test]
fn every_shipped_character_survives_being_written_and_read() {
    // reading what was written gives the same bits
    for name in ["humanoid.toml", "benchmark.toml"] {
        let character = Character::load(&data(name)).unwrap();
        let again = Character::parse(&character.to_toml(), name).unwrap();
        assert_eq!(again, character, "{name}");
    }
}

/// The motion capture files of the shared folder with the scale each needs; empty, with a message, if it is absent.
fn motion_capture() -> Vec<(String, bvh::Imported)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/bvh");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is absent", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "bvh"));
    paths.sort();
    let import = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let scale = if name == "games105_motion.bvh" { 0.01 } else { 1.0 };
        let options = ImportOptions {
            scale,
            ..Default::default()
        };
        let imported = bvh::import(&path, &options).unwrap();
        (name, imported)
    };
    paths.into_iter().map(import).collect()
}

#[test]
fn every_motion_capture_skeleton_gets_a_sound_character() {
    // 70 kg, all roles, no warning of any kind, level soles, and files that read back to the same bits
    for (name, imported) in motion_capture() {
        let (character, notes) = fit(&imported.clip.skeleton, &FitOptions::default()).unwrap();
        println!("{name}: {} bodies, {notes:#?}", character.bodies.len());
        assert!((character.mass() - 70.0).abs() < 1e-9, "{name}");
        for role in [
            Role::Pelvis,
            Role::Trunk,
            Role::Head,
            Role::LeftFoot,
            Role::RightFoot,
            Role::LeftToes,
            Role::RightToes,
            Role::LeftHand,
            Role::RightHand,
        ] {
            assert!(
                character.bodies.iter().any(|b| b.role == role),
                "{name} has no {role:?}"
            );
        }
        let findings = check(&character, None);
        let bad: Vec<String> = findings
            .iter()
            .filter(|f| f.severity > Severity::Note)
            .map(|f| f.to_string())
            .collect();
        assert!(bad.is_empty(), "{name}: {bad:#?}");
        assert_eq!(character.overlaps(&character.bind_frames()), []);
        assert_eq!(
            Character::parse(&character.to_toml(), &name).unwrap(),
            character,
            "{name}"
        );
    }
}

#[test]
fn the_bodies_of_a_fit_move_as_the_joints_of_its_skeleton() {
    // with every body's joint turned like the skeleton's, body frames are the joints' frames, in any pose of the clip
    for (name, imported) in motion_capture() {
        let skeleton = &imported.clip.skeleton;
        let (character, _) = fit(skeleton, &FitOptions::default()).unwrap();
        let mut model = ModelPose::default();
        for frame in imported.clip.frames.iter().step_by(37) {
            let mut still = frame.clone();
            // translations of joints other than the root are no part of a body's motion
            for (t, joint) in still.translations.iter_mut().zip(&skeleton.joints).skip(1) {
                *t = joint.offset;
            }
            skeleton.model_pose(&still, &mut model);
            let frames = pose(&character, |body| frame.rotations[skeleton.joint(body).unwrap()]);
            let root = frames[0].0 - model.positions[0];
            for (body, (x, R)) in character.bodies.iter().zip(&frames) {
                let j = skeleton.joint(&body.name).unwrap();
                assert!(R.angle_between(model.rotations[j]) < 1e-6, "{name}: {}", body.name);
                assert!(
                    (*x - root - model.positions[j]).length() < 1e-9,
                    "{name}: {}",
                    body.name
                );
            }
        }
    }
}

#[test]
fn captured_motion_does_not_press_the_bodies_of_a_fit_into_each_other() {
    // in the frames of the clips themselves, bodies that may collide overlap by less than 2 cm: contacts do not fight tracking
    for (name, imported) in motion_capture() {
        let skeleton = &imported.clip.skeleton;
        let (character, _) = fit(skeleton, &FitOptions::default()).unwrap();
        let mut worst = std::collections::BTreeMap::new();
        for frame in imported.clip.frames.iter().step_by(5) {
            let frames = pose(&character, |body| frame.rotations[skeleton.joint(body).unwrap()]);
            for (a, b, depth) in character.overlaps(&frames) {
                let pair = (&character.bodies[a].name, &character.bodies[b].name);
                let deepest = worst.entry(pair).or_insert(0.0f64);
                *deepest = deepest.max(depth);
            }
        }
        assert!(worst.values().all(|depth| *depth < 0.02), "{name}: {worst:?}");
    }
}

/// Lowest and highest height of the pelvis over the ground while `character` holds its bind pose for `seconds`.
fn hold(character: &Character, seconds: f64) -> (f64, f64) {
    let lowest = character.lowest_point(&character.bind_frames());
    let character = std::sync::Arc::new(character.clone());
    let scene = Scene {
        terrain: vec![Terrain {
            shape: TerrainShape::Ground,
            position: DVec3::ZERO,
            rotation: DQuat::IDENTITY,
            material: Default::default(),
        }],
        characters: vec![Placement {
            character: character.clone(),
            position: DVec3::new(0.0, -lowest, 0.0),
            heading: 0.0,
        }],
        ..Default::default()
    };
    let dt = 1.0 / 240.0;
    let mut engine = build(EngineKind::Articulated, scene, dt).unwrap();
    let actuation = [Actuation::hold_bind_pose(&character)];
    let mut state = CharacterState::default();
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for _ in 0..(seconds / dt) as usize {
        engine.step(&actuation, &[]).unwrap();
        engine.read_state(0, &mut state);
        let y = state.bodies[0].position.y;
        (low, high) = (low.min(y), high.max(y));
    }
    assert!(state.center_of_mass.is_finite());
    (low, high)
}

#[test]
fn shipped_and_fitted_characters_stand_on_their_own_feet() {
    // articulated engine, 240 Hz, 5 s: the pelvis stays within 1 cm of where it started
    let mut characters = vec![
        ("humanoid".to_string(), Character::load(&data("humanoid.toml")).unwrap()),
        (
            "benchmark".to_string(),
            Character::load(&data("benchmark.toml")).unwrap(),
        ),
    ];
    for (name, imported) in motion_capture() {
        characters.push((name, fit(&imported.clip.skeleton, &FitOptions::default()).unwrap().0));
    }
    for (name, character) in characters {
        let (low, high) = hold(&character, 5.0);
        println!("{name}: pelvis between {low:.4} and {high:.4} m");
        assert!(high - low < 0.01, "{name}: {low} to {high}");
    }
}

/// Name, parent, offset, end site.
type Row = (&'static str, Option<usize>, [f64; 3], Option<[f64; 3]>);

fn skeleton(rows: &[Row]) -> Skeleton {
    let joint = |(name, parent, offset, end): &Row| ambler::skeleton::Joint {
        name: name.to_string(),
        parent: *parent,
        offset: DVec3::from_array(*offset),
        rest: DQuat::IDENTITY,
        end_sites: end.iter().map(|e| DVec3::from_array(*e)).collect(),
    };
    Skeleton {
        joints: rows.iter().map(joint).collect(),
    }
}

#[test]
fn odd_skeletons_get_sound_characters_too() {
    // a snake, coincident joints, bones without end: valid bodies of positive mass, whatever the names
    let snake = skeleton(&[
        ("a", None, [0.0, 0.2, 0.0], None),
        ("b", Some(0), [0.0, 0.0, 0.3], None),
        ("c", Some(1), [0.0, 0.0, 0.3], None),
        ("d", Some(2), [0.0, 0.0, 0.3], Some([0.0, 0.0, 0.3])),
    ]);
    let (character, notes) = fit(&snake, &FitOptions::default()).unwrap();
    assert_eq!(character.bodies.len(), 4);
    assert!(
        notes
            .iter()
            .any(|n| n.contains("`b` is no part of the body known by name"))
    );

    let coincident = skeleton(&[
        ("Hips", None, [0.0, 0.9, 0.0], None),
        ("LHipJoint", Some(0), [0.0, 0.0, 0.0], None),
        ("LeftUpLeg", Some(1), [0.1, 0.0, 0.0], None),
        ("LeftLeg", Some(2), [0.0, -0.4, 0.0], None),
        ("LeftFoot", Some(3), [0.0, -0.4, 0.0], None),
        ("Twist", Some(0), [0.0, 0.0, 0.0], None),
        ("Spine", Some(5), [0.0, 0.0, 0.0], None),
        ("Head", Some(6), [0.0, 0.5, 0.0], Some([0.0, 0.2, 0.0])),
    ]);
    let (character, _) = fit(&coincident, &FitOptions::default()).unwrap();
    assert!((character.mass() - 70.0).abs() < 1e-9);
    let thigh = &character.bodies[character.body("LeftUpLeg").unwrap()];
    // of two joints named like a hip the second is the thigh
    assert!(thigh.mass > 5.0, "{}", thigh.mass);
    let findings = check(&character, None);
    assert!(findings.iter().all(|f| f.severity < Severity::Error), "{findings:#?}");

    let lonely = skeleton(&[("root", None, [0.0; 3], Some([0.0, 1.0, 0.0]))]);
    assert_eq!(fit(&lonely, &FitOptions::default()).unwrap().0.bodies.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_tree_of_joints_gets_a_valid_character_or_a_reason(
        joints in prop::collection::vec(
            (0usize..100, [-0.5..0.5f64, -0.5..0.5, -0.5..0.5], 0usize..16, any::<bool>(), any::<bool>()),
            1..40,
        )
    ) {
        // names that mean anything in any place, bones of any length, zero included: no panic, and what is built is valid
        let words = [
            "Hips", "LeftUpLeg", "RightLeg", "lAnkle", "RightToeBase", "Spine", "Neck", "Head", "LeftShoulder", "LeftArm",
            "rElbow", "LeftHand", "LeftHandThumb", "Head_End", "tail", "rToe",
        ];
        let rows = joints.iter().enumerate().map(|(i, (parent, offset, word, zero, end))| ambler::skeleton::Joint {
            name: format!("{}{i}", words[*word]),
            parent: (i > 0).then(|| parent % i.max(1)),
            offset: if *zero { DVec3::ZERO } else { DVec3::from_array(*offset) },
            rest: DQuat::from_rotation_y(offset[0]),
            end_sites: end.then(|| DVec3::from_array(*offset).zxy()).into_iter().collect(),
        });
        match fit(&Skeleton { joints: rows.collect() }, &FitOptions::default()) {
            Ok((character, _)) => {
                prop_assert_eq!(character.validate(), Ok(()));
                prop_assert!((character.mass() - 70.0).abs() < 1e-6);
                prop_assert!(character.overlaps(&character.bind_frames()).is_empty());
                check(&character, None);
            }
            Err(e) => prop_assert!(matches!(e, FitError::Size { .. }), "{}", e),
        }
    }
}

#[test]
fn skeletons_that_cannot_be_fitted_are_refused_with_a_reason() {
    // empty, in centimetres, of no size, not finite, with a name twice, without mass
    let refused = |s: &Skeleton| fit(s, &FitOptions::default()).unwrap_err().to_string();
    assert!(refused(&Skeleton::default()).contains("no joints"));
    assert!(refused(&skeleton(&[("a", None, [0.0; 3], Some([0.0, 170.0, 0.0]))])).contains("--scale 0.01"));
    assert!(refused(&skeleton(&[("a", None, [0.0; 3], None)])).contains("0.000 m"));
    assert!(refused(&skeleton(&[("a", None, [0.0, f64::NAN, 0.0], None)])).contains("finite"));
    let twice = skeleton(&[("a", None, [0.0; 3], None), ("a", Some(0), [0.0, 1.0, 0.0], None)]);
    assert!(refused(&twice).contains("same name"));
    let options = FitOptions {
        mass: f64::NAN,
        ..Default::default()
    };
    assert!(fit(&twice, &options).unwrap_err().to_string().contains("mass is NaN"));
}
