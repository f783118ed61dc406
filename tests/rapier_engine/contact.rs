//! Contacts: standing, resting, sliding, being carried, and what rays hit.

use std::sync::Arc;

use ambler::character::{Body, Character, Joint, Material};
use ambler::math::rotation;
use ambler::world::{Actuation, BodyRef, Contact, Platform, PlatformMotion, Scene, Terrain, TerrainShape};
use glam::{DQuat, DVec3};

use crate::scenes::{GRAVITY, box_body, character, ground, scene, shipped_character, state, turned, world};

/// The shipped humanoids stand on their own feet for ten seconds and the ground carries exactly their weight.
#[test]
fn humanoids_stand_and_the_ground_carries_their_weight() {
    for name in ["benchmark", "humanoid"] {
        stands(shipped_character(name));
    }
}

fn stands(humanoid: Arc<Character>) {
    let mut world = world(scene(vec![ground()], vec![], vec![humanoid.clone()]), 240.0);
    let actuations = [Actuation::hold_bind_pose(&humanoid)];
    let weight = humanoid.mass() * GRAVITY;
    let start = state(world.as_ref());
    let (mut sum, mut count, mut slip) = (DVec3::ZERO, 0.0, 0.0_f64);
    let mut middle = start.clone();
    for step in 0..2400 {
        world.step(&actuations, &[]).unwrap();
        let now = state(world.as_ref());
        if step == 1200 {
            middle = now.clone();
        }
        if step > 1200 {
            let force: DVec3 = now.contacts.iter().map(|c| c.force).sum();
            assert!(force.is_finite());
            sum += force;
            count += 1.0;
            for foot in ["left_foot", "right_foot"] {
                let foot = humanoid.body(foot).unwrap();
                slip = slip.max((now.bodies[foot].position - middle.bodies[foot].position).length());
            }
        }
    }
    let end = state(world.as_ref());
    let mean = sum / count;
    println!("mean ground force {mean}, weight {weight}, slip {slip:.2e} m");
    assert!((mean.y - weight).abs() < 1e-3 * weight, "{mean} instead of {weight}");
    assert!(mean.x.abs() + mean.z.abs() < 1e-2 * weight, "{mean}");
    assert!((end.bodies[0].position - start.bodies[0].position).length() < 0.02);
    assert!(slip < 2e-4, "{slip}");
    assert!(end.feet.iter().all(|f| f.force.y > 0.3 * weight));
    let pressure = end.center_of_pressure.unwrap();
    assert!(
        (pressure - end.center_of_mass)
            .reject_from_normalized(DVec3::Y)
            .length()
            < 5e-3
    );
    assert!(end.support_polygon.len() >= 4);
}

/// Flat ground at height 0 in every form that terrain has.
fn flat_grounds() -> Vec<Terrain> {
    let corner = |x: f64, z: f64| DVec3::new(x, 0.0, z);
    let shapes = [
        TerrainShape::Ground,
        TerrainShape::Box {
            half_extents: DVec3::new(5.0, 0.5, 5.0),
        },
        TerrainShape::Heightfield {
            heights: vec![vec![0.0; 41]; 31],
            size: [10.0, 9.0],
        },
        TerrainShape::Mesh {
            vertices: vec![
                corner(-5.0, -5.0),
                corner(5.0, -5.0),
                corner(5.0, 5.0),
                corner(-5.0, 5.0),
            ],
            triangles: vec![[0, 2, 1], [0, 3, 2]],
        },
        TerrainShape::Stairs {
            steps: 1,
            rise: 0.5,
            run: 10.0,
            width: 10.0,
        },
    ];
    let places = [0.0, -0.5, 0.0, 0.0, -0.5].map(|y| DVec3::new(0.0, y, 0.0));
    let mut grounds: Vec<Terrain> = shapes
        .into_iter()
        .zip(places)
        .map(|(shape, position)| Terrain {
            shape,
            position,
            ..ground()
        })
        .collect();
    grounds[4].position.z = -5.0;
    grounds
}

/// On flat ground of any form a dropped box falls as the discrete integrator predicts, then rests with the ground
/// carrying its weight.
#[test]
fn dropped_box_falls_and_rests() {
    for terrain in flat_grounds() {
        let half = DVec3::new(0.2, 0.1, 0.3);
        let mut body = box_body("crate", Joint::Free, 3.0, half, DVec3::new(0.03, -0.02, 0.01));
        body.offset = DVec3::new(0.4, 1.0, -0.2);
        body.rest = DQuat::from_rotation_y(0.7);
        let shape = terrain.shape.clone();
        let mut world = world(
            scene(vec![terrain], vec![character("crate", vec![body])], vec![]),
            240.0,
        );
        let dt = world.dt();
        let start = world.prop_body(0, 0).center_of_mass;
        for n in 1..=60 {
            world.step(&[], &[]).unwrap();
            // semi-implicit Euler: v_n = -g n dt, y_n = y_0 - g dt² n (n + 1) / 2
            let fallen = GRAVITY * dt * dt * (n * (n + 1)) as f64 / 2.0;
            let now = world.prop_body(0, 0);
            assert!((now.center_of_mass - start + DVec3::Y * fallen).length() < 1e-12);
        }
        for _ in 0..480 {
            world.step(&[], &[]).unwrap();
        }
        let mut contacts = Vec::new();
        world.contacts(&mut contacts);
        let on_crate = |c: &Contact| turned(c, BodyRef::Prop { prop: 0, body: 0 });
        let force: DVec3 = contacts.iter().map(on_crate).sum();
        let weight = 3.0 * GRAVITY;
        assert!(
            (force - weight * DVec3::Y).length() < 1e-3 * weight,
            "{shape:?}: {force}"
        );
        assert!((world.prop_body(0, 0).center_of_mass.y - 0.1).abs() < 2e-3);
        // forces balance about the centre of mass too: points of contact are where the forces act
        let moment = |c: &Contact| (c.point - world.prop_body(0, 0).center_of_mass).cross(on_crate(c));
        let moment: DVec3 = contacts.iter().map(moment).sum();
        assert!(moment.length() < 1e-2 * weight * 0.3, "{shape:?}: {moment}");
        assert_eq!(world.last_step().contact_points, contacts.len());
        assert!(world.last_step().max_penetration < 6e-3);
    }
}

/// On a slope the contact forces on a resting box, friction included, balance its weight; on a steeper one it slides
/// with the force of friction opposing it. The same for two welded boxes, which rapier solves as a multibody.
#[test]
fn friction_holds_a_box_on_a_slope() {
    for (slope, holds) in [(0.3_f64, true), (0.6, false)] {
        for welded in [false, true] {
            let material = Material {
                friction: 0.5,
                restitution: 0.0,
            };
            let rotation = DQuat::from_rotation_x(slope);
            let mut body = box_body("crate", Joint::Free, 2.0, DVec3::new(0.3, 0.1, 0.3), DVec3::ZERO);
            body.offset = rotation * DVec3::new(0.2, 0.1, 0.1);
            body.rest = rotation;
            body.material = material;
            let mut bodies = vec![body];
            if welded {
                let mut lid = box_body("lid", Joint::Fixed, 0.5, DVec3::new(0.3, 0.02, 0.3), DVec3::ZERO);
                lid.parent = Some(0);
                lid.offset = DVec3::new(0.0, 0.12, 0.0);
                bodies.push(lid);
            }
            let weight = GRAVITY * bodies.iter().map(|b| b.mass).sum::<f64>();
            let tilted = Terrain {
                rotation,
                material,
                ..ground()
            };
            let mut world = world(scene(vec![tilted], vec![character("crate", bodies)], vec![]), 240.0);
            for _ in 0..240 {
                world.step(&[], &[]).unwrap();
            }
            let mut contacts = Vec::new();
            world.contacts(&mut contacts);
            let on_crate = |c: &Contact| turned(c, BodyRef::Prop { prop: 0, body: 0 });
            let force: DVec3 = contacts.iter().map(on_crate).sum();
            let speed = world.prop_body(0, 0).velocity.length();
            if holds {
                assert!((force - weight * DVec3::Y).length() < 1e-2 * weight, "{welded} {force}");
                assert!(speed < 2e-3, "{welded} {speed}");
            } else {
                let acceleration = GRAVITY * (libm::sin(slope) - 0.5 * libm::cos(slope));
                assert!(
                    (speed - acceleration).abs() < 0.02 * acceleration,
                    "{welded} {speed} {acceleration}"
                );
                // it slides down along the rotated +Z, friction points up
                let (normal, along) = (force.dot(rotation * DVec3::Y), force.dot(rotation * DVec3::NEG_Z));
                assert!((along - 0.5 * normal).abs() < 0.01 * normal, "{welded} {force}");
            }
        }
    }
}

/// Bodies on the two sides of a joint never collide, universal joints included, whatever their shapes overlap.
#[test]
fn neighbours_never_collide() {
    let axes = [DVec3::X, DVec3::Z];
    for joint in [
        Joint::Universal { axes },
        Joint::Ball,
        Joint::Hinge { axis: DVec3::X },
        Joint::Fixed,
    ] {
        let trunk = box_body("trunk", Joint::Free, 4.0, DVec3::splat(0.2), DVec3::ZERO);
        let mut limb = box_body(
            "limb",
            joint,
            1.0,
            DVec3::new(0.05, 0.2, 0.05),
            DVec3::new(0.0, -0.1, 0.0),
        );
        limb.parent = Some(0);
        let mut tip = limb.clone();
        tip.name = "tip".into();
        let free = |bodies| Scene {
            gravity: DVec3::ZERO,
            ..scene(vec![], vec![], vec![character("pair", bodies)])
        };
        let run = |bodies: Vec<Body>| {
            let mut world = world(free(bodies), 240.0);
            let actuation = [Actuation::hold_bind_pose(
                &world.scene().characters[0].character.clone(),
            )];
            world.step(&actuation, &[]).unwrap();
            world.last_step().contact_points
        };
        assert_eq!(run(vec![trunk.clone(), limb.clone()]), 0, "{joint:?}");
        // siblings are no neighbours: the two limbs stand in the same place
        assert!(run(vec![trunk, limb, tip]) > 0, "{joint:?}");
    }
}

/// A level seesaw with balanced loads stays level; a box nailed to the world stays where it is.
#[test]
fn seesaw_and_fixed_props_work() {
    let mut plank = box_body(
        "plank",
        Joint::Hinge { axis: DVec3::X },
        8.0,
        DVec3::new(0.2, 0.03, 1.3),
        DVec3::ZERO,
    );
    plank.offset = DVec3::new(0.0, 0.6, 0.0);
    let load = |name: &str, mass: f64, z: f64| {
        let mut body = box_body(name, Joint::Free, mass, DVec3::splat(0.1), DVec3::ZERO);
        body.offset = DVec3::new(0.0, 0.73, z);
        character(name, vec![body])
    };
    let mut nail = box_body("nail", Joint::Fixed, 5.0, DVec3::splat(0.1), DVec3::ZERO);
    nail.offset = DVec3::new(2.0, 1.0, 0.0);
    let props = vec![
        character("seesaw", vec![plank]),
        load("light", 20.0, 1.0),
        load("heavy", 40.0, -0.5),
        character("nail", vec![nail]),
    ];
    let mut world = world(scene(vec![ground()], props, vec![]), 240.0);
    for _ in 0..720 {
        world.step(&[], &[]).unwrap();
    }
    let tilt = rotation::log(world.prop_body(0, 0).rotation);
    assert!(tilt.length() < 5e-3, "{tilt}");
    assert!((world.prop_body(1, 0).center_of_mass.y - 0.73).abs() < 1e-2);
    assert_eq!(world.prop_body(3, 0).center_of_mass, DVec3::new(2.0, 1.0, 0.0));
    let rate = DVec3::new(0.3, 0.0, 0.0);
    let tilted = DQuat::from_rotation_x(0.2);
    world
        .set_prop(0, DVec3::new(0.0, 0.6, 0.0), tilted, DVec3::ZERO, rate)
        .unwrap();
    let placed = world.prop_body(0, 0);
    assert!(rotation::difference(placed.rotation, tilted).length() < 1e-12);
    assert!((placed.angular_velocity - rate).length() < 1e-12);
    assert!((placed.position - DVec3::new(0.0, 0.6, 0.0)).length() < 1e-12);
}

/// A platform is where its motion says and carries what lies on it.
#[test]
fn platform_carries_a_box() {
    let velocity = DVec3::new(0.4, 0.0, 0.2);
    let mut body = box_body("crate", Joint::Free, 2.0, DVec3::splat(0.1), DVec3::ZERO);
    body.offset = DVec3::new(0.0, 0.15, 0.0);
    let mut scene = scene(vec![ground()], vec![character("crate", vec![body])], vec![]);
    scene.platforms.push(Platform {
        half_extents: DVec3::new(1.0, 0.025, 1.0),
        position: DVec3::new(0.0, 0.025, 0.0),
        rotation: DQuat::IDENTITY,
        motion: PlatformMotion::Linear {
            velocity,
            angular_velocity: DVec3::ZERO,
        },
        material: Material::default(),
    });
    let mut world = world(scene, 240.0);
    for _ in 0..480 {
        world.step(&[], &[]).unwrap();
    }
    let (place, _) = world.platform_pose(0);
    assert!((place - DVec3::new(0.8, 0.025, 0.4)).length() < 1e-12);
    let carried = world.prop_body(0, 0);
    assert!((carried.velocity - velocity).length() < 1e-3, "{}", carried.velocity);
}

/// Rays see terrain, platforms and props where they are now, even before the first step, and never characters.
#[test]
fn rays_see_the_world_but_no_characters() {
    let mut low = box_body("crate", Joint::Free, 2.0, DVec3::splat(0.1), DVec3::ZERO);
    low.offset = DVec3::new(0.0, 0.4, 0.0);
    let mut high = box_body("man", Joint::Free, 2.0, DVec3::splat(0.1), DVec3::ZERO);
    high.offset = DVec3::new(0.0, 1.0, 0.0);
    let world = world(
        scene(
            vec![ground()],
            vec![character("crate", vec![low])],
            vec![character("man", vec![high])],
        ),
        240.0,
    );
    let down = |x: f64| world.cast_ray(DVec3::new(x, 2.0, 0.0), DVec3::NEG_Y, 5.0);
    let (distance, normal) = down(0.05).expect("the crate");
    assert!((distance - 1.5).abs() < 1e-12 && (normal - DVec3::Y).length() < 1e-12);
    assert!((down(0.5).expect("the ground").0 - 2.0).abs() < 1e-12);
    assert_eq!(world.cast_ray(DVec3::Y, DVec3::Y, 100.0), None);
    assert_eq!(world.cast_ray(DVec3::new(0.5, 2.0, 0.0), DVec3::NEG_Y, 1.9), None);
}
