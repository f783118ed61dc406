//! Bitwise repetition.

use std::sync::Arc;

use ambler::character::{Character, Joint};
use ambler::math::rotation;
use ambler::world::{Actuation, Engine, EngineKind, JointPosition, Snapshot, build};
use glam::DVec3;

use crate::scenes::{box_body, character, general_tree, ground, scene};

/// A tree tumbling over ground, props and its own limbs under changing targets: contact-rich and never at rest.
pub fn tumbling_world() -> (Box<dyn Engine>, Arc<Character>) {
    tumbling_world_of(EngineKind::Rapier)
}

pub fn tumbling_world_of(engine: EngineKind) -> (Box<dyn Engine>, Arc<Character>) {
    let tree = Arc::new(general_tree());
    let mut body = box_body("crate", Joint::Free, 2.0, DVec3::splat(0.15), DVec3::ZERO);
    body.offset = DVec3::new(0.1, 0.2, -0.3);
    let scene = scene(vec![ground()], vec![character("crate", vec![body])], vec![tree.clone()]);
    (build(engine, scene, 1.0 / 240.0).unwrap(), tree)
}

pub fn tumble(world: &mut dyn Engine, tree: &Character) {
    let mut actuation = Actuation::hold_bind_pose(tree);
    let phase = (world.steps() / 40) as f64;
    actuation.joints[1].target = JointPosition::Rotation(rotation::exp(DVec3::new(libm::sin(phase), 0.5, -0.7)));
    actuation.joints[2].target = JointPosition::Angle(libm::cos(1.7 * phase));
    actuation.joints[3].target = JointPosition::Angles([libm::sin(2.3 * phase), 0.4]);
    world.step(&[actuation], &[]).unwrap();
}

/// Restoring at any time, a clone, a reset and a fresh world all continue bit for bit.
#[test]
fn snapshots_clones_and_resets_are_exact() {
    let (mut world, tree) = tumbling_world();
    let fresh = world.state_hash();
    let steps = 720;
    let mut hashes = vec![fresh];
    let mut snapshots = Vec::new();
    for step in 0..steps {
        if step % 45 == 7 {
            let mut snapshot = Snapshot::default();
            world.snapshot(&mut snapshot);
            snapshots.push((step, snapshot));
        }
        tumble(world.as_mut(), &tree);
        hashes.push(world.state_hash());
    }
    assert!(hashes.windows(2).all(|h| h[0] != h[1]));
    let mut copy = world.boxed_clone();
    assert_eq!(copy.state_hash(), world.state_hash());
    for (step, snapshot) in snapshots.iter().rev() {
        copy.restore(snapshot).unwrap();
        assert_eq!((copy.steps(), copy.state_hash()), (*step as u64, hashes[*step]));
        for hash in &hashes[step + 1..(step + 60).min(steps)] {
            tumble(copy.as_mut(), &tree);
            assert_eq!(copy.state_hash(), *hash);
        }
        let mut again = Snapshot::default();
        copy.restore(snapshot).unwrap();
        copy.snapshot(&mut again);
        assert_eq!(&again, snapshot);
    }
    world.reset();
    assert_eq!(world.state_hash(), fresh);
    let (mut other, _) = tumbling_world();
    for hash in hashes.iter().skip(1).take(200) {
        tumble(world.as_mut(), &tree);
        tumble(other.as_mut(), &tree);
        assert_eq!((world.state_hash(), other.state_hash()), (*hash, *hash));
    }
    let mut elsewhere = build(EngineKind::Rapier, scene(vec![ground()], vec![], vec![]), 0.01).unwrap();
    assert!(elsewhere.restore(&snapshots[0].1).is_err());
    assert!(elsewhere.restore(&Snapshot::default()).is_err());
}
