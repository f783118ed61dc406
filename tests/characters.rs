//! The characters in `data/characters`, and characters fitted to real motion capture.
#![allow(non_snake_case)]

use std::path::{Path, PathBuf};

use ambler::character::{Character, Joint, MassProperties, Role, Shape};
use glam::{DQuat, DVec3};

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

    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    for (body, (x, R)) in character.bodies.iter().zip(pose(&character, |_| DQuat::IDENTITY)) {
        for c in &body.colliders {
            let y = (x + R * c.position).y;
            let reach = match &c.shape {
                Shape::Box { half_extents } => half_extents.y,
                Shape::Capsule { half_length, radius } => (c.rotation * DVec3::Y).y.abs() * half_length + radius,
                Shape::Sphere { radius } => *radius,
                Shape::Hull { .. } => 0.0,
            };
            (low, high) = (low.min(y - reach), high.max(y + reach));
            if matches!(
                body.role,
                Role::LeftFoot | Role::RightFoot | Role::LeftToes | Role::RightToes
            ) {
                assert!((y - reach).abs() < 1e-12, "{} has its sole at {}", body.name, y - reach);
            }
        }
    }
    assert!(low.abs() < 1e-12 && (high - 1.70).abs() < 1e-9, "from {low} to {high}");
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
