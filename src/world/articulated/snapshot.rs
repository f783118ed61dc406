//! Saving, restoring and hashing the state.

use xxhash_rust::xxh3::xxh3_64;

use super::ArticulatedEngine;
use super::collision::{ContactKey, ContactPoint};
use crate::world::{EngineKind, RestoreError, Snapshot};
use glam::DVec3;

/// Numbers per contact point.
const POINT: usize = 17;

fn pack(a: u32, b: u32) -> f64 {
    f64::from_bits(u64::from(a) << 32 | u64::from(b))
}

fn unpack(x: f64) -> [u32; 2] {
    let bits = x.to_bits();
    [(bits >> 32) as u32, bits as u32]
}

pub(super) fn save(engine: &ArticulatedEngine, out: &mut Snapshot) {
    out.engine = Some(EngineKind::Articulated);
    out.scene = engine.fingerprint;
    out.bytes.clear();
    let numbers = &mut out.numbers;
    numbers.clear();
    numbers.push(f64::from_bits(engine.steps));
    numbers.push(f64::from_bits(engine.warm.len() as u64));
    numbers.extend_from_slice(&engine.q);
    numbers.extend_from_slice(&engine.v);
    numbers.extend_from_slice(&engine.limit_impulses);
    for articulation in &engine.articulations {
        numbers.extend_from_slice(&articulation.applied);
        numbers.extend(articulation.saturation.iter().map(|&s| f64::from(s)));
        numbers.extend_from_slice(&articulation.root_wrench.force.to_array());
        numbers.extend_from_slice(&articulation.root_wrench.torque.to_array());
    }
    for p in &engine.warm {
        let [x, n, j] = [p.x_W, p.normal, p.impulse].map(|v| v.to_array());
        numbers.extend_from_slice(&[
            pack(p.key.colliders[0], p.key.colliders[1]),
            pack(p.key.subshapes[0], p.key.subshapes[1]),
            pack(p.key.features[0], p.key.features[1]),
            pack(p.link_a, p.link_b),
            x[0],
            x[1],
            x[2],
            n[0],
            n[1],
            n[2],
            j[0],
            j[1],
            j[2],
            p.gap,
            p.impact,
            p.friction,
            p.restitution,
        ]);
    }
}

pub(super) fn load(engine: &mut ArticulatedEngine, snapshot: &Snapshot) -> Result<(), RestoreError> {
    if snapshot.engine != Some(EngineKind::Articulated) {
        return Err(RestoreError(format!(
            "engine {:?}, this is the articulated one",
            snapshot.engine
        )));
    }
    if snapshot.scene != engine.fingerprint {
        return Err(RestoreError("the scene or the step differs".into()));
    }
    let fixed: usize = 2
        + engine.q.len()
        + engine.v.len()
        + engine.limit_impulses.len()
        + engine
            .articulations
            .iter()
            .map(|a| 2 * a.applied.len() + 6)
            .sum::<usize>();
    let numbers = &snapshot.numbers;
    let points = numbers.get(1).map_or(0, |n| n.to_bits() as usize);
    if points.checked_mul(POINT).and_then(|n| n.checked_add(fixed)) != Some(numbers.len()) {
        return Err(RestoreError(format!(
            "{} numbers, expected {fixed} and {POINT} per contact",
            numbers.len()
        )));
    }
    engine.steps = numbers[0].to_bits();
    let mut rest = &numbers[2..];
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at(n);
        rest = tail;
        head
    };
    let n = engine.q.len();
    engine.q.copy_from_slice(take(n));
    let n = engine.v.len();
    engine.v.copy_from_slice(take(n));
    let n = engine.limit_impulses.len();
    engine.limit_impulses.copy_from_slice(take(n));
    for articulation in &mut engine.articulations {
        let n = articulation.applied.len();
        articulation.applied.copy_from_slice(take(n));
        for (s, x) in articulation.saturation.iter_mut().zip(take(n)) {
            *s = *x as i8;
        }
        articulation.root_wrench.force = DVec3::from_slice(take(3));
        articulation.root_wrench.torque = DVec3::from_slice(take(3));
    }
    engine.warm.clear();
    for _ in 0..points {
        let n = take(POINT);
        let [link_a, link_b] = unpack(n[3]);
        engine.warm.push(ContactPoint {
            key: ContactKey {
                colliders: unpack(n[0]),
                subshapes: unpack(n[1]),
                features: unpack(n[2]),
            },
            link_a,
            link_b,
            x_W: DVec3::from_slice(&n[4..]),
            normal: DVec3::from_slice(&n[7..]),
            impulse: DVec3::from_slice(&n[10..]),
            gap: n[13],
            impact: n[14],
            friction: n[15],
            restitution: n[16],
            curvature: 0.0,
        });
    }
    engine.refresh();
    Ok(())
}

/// Hash over everything that [`save`] writes.
pub(super) fn hash(engine: &ArticulatedEngine) -> u64 {
    let mut snapshot = Snapshot::default();
    save(engine, &mut snapshot);
    let bytes: Vec<u8> = snapshot
        .numbers
        .iter()
        .flat_map(|x| x.to_bits().to_le_bytes())
        .collect();
    xxh3_64(&bytes)
}
