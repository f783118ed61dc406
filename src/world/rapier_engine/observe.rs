//! Reads motions, contacts and the state hash out of rapier's sets.

use glam::DVec3;
use rapier3d::geometry::{ContactManifold, ContactPair};
use xxhash_rust::xxh3::Xxh3;

use super::build::{Articulation, Structure};
use super::drive::{axis_directions, joint_frame};
use super::tag::Tag;
use super::{Sets, State};
use crate::character::Joint;
use crate::world::{BodyState, Contact};

/// Motions of all bodies of an articulation, consistent with its positions.
///
/// rapier leaves in its bodies the velocities that belong to the positions before the last integration; those of
/// multibodies are therefore computed here from the generalized velocities.
pub(super) fn body_states(articulation: &Articulation, sets: &Sets, out: &mut Vec<BodyState>) {
    out.clear();
    for (i, (body, link)) in articulation
        .definition
        .bodies
        .iter()
        .zip(&articulation.links)
        .enumerate()
    {
        let rigid = &sets.bodies[link.body];
        let (center, rotation) = (rigid.position().translation, *rigid.rotation());
        let origin = center - rotation * body.center_of_mass;
        let mut state = BodyState {
            position: origin,
            rotation,
            center_of_mass: center,
            velocity: rigid.linvel(),
            angular_velocity: rigid.angvel(),
        };
        if let Some(index) = articulation.multibody {
            let rates = sets.multibody_joints[index].generalized_velocity();
            let rate = |k: usize| link.axes.get(k).map_or(0.0, |a| rates[a.dof]);
            match body.joint {
                Joint::Free => {
                    state.velocity = DVec3::new(rate(0), rate(1), rate(2));
                    state.angular_velocity = DVec3::new(rate(3), rate(4), rate(5));
                }
                Joint::Planar => {
                    state.velocity = DVec3::new(0.0, rate(0), rate(1));
                    state.angular_velocity = DVec3::new(rate(2), 0.0, 0.0);
                }
                _ => {
                    let (frame, _) = joint_frame(articulation, i, sets);
                    let position = articulation.joint_position(i, sets);
                    let directions = axis_directions(&body.joint, frame, &position);
                    let relative = (0..link.axes.len()).map(|k| rate(k) * directions[k]).sum::<DVec3>();
                    let parent = body.parent.map_or(BodyState::default(), |p| out[p]);
                    state.angular_velocity = parent.angular_velocity + relative;
                    let joint_velocity =
                        parent.velocity + parent.angular_velocity.cross(origin - parent.center_of_mass);
                    state.velocity = joint_velocity + state.angular_velocity.cross(center - origin);
                }
            }
        }
        out.push(state);
    }
}

/// Rates along the axes of a body's joint.
pub(super) fn joint_rates(articulation: &Articulation, body: usize, sets: &Sets) -> DVec3 {
    let mut out = DVec3::ZERO;
    if let Some(index) = articulation.multibody {
        let rates = sets.multibody_joints[index].generalized_velocity();
        for (k, axis) in articulation.links[body].axes.iter().take(3).enumerate() {
            out[k] = rates[axis.dof];
        }
    }
    out
}

/// Contacts that the last step solved, or that touch without having needed force.
pub(super) fn contacts(sets: &Sets, dt: f64, out: &mut Vec<Contact>) {
    out.clear();
    for pair in sets.narrow_phase.contact_pairs() {
        for manifold in pair.solver_manifolds() {
            manifold_contacts(sets, pair, manifold, dt, out);
        }
    }
}

fn manifold_contacts(sets: &Sets, pair: &ContactPair, manifold: &ContactManifold, dt: f64, out: &mut Vec<Contact>) {
    let (first, second) = (&sets.colliders[pair.collider1], &sets.colliders[pair.collider2]);
    let solved = || {
        // points beyond the prediction distance keep impulses of earlier steps: only the solver's list counts
        let list = manifold.data.solver_contacts.iter();
        list.filter_map(|c| manifold.points.get((c.contact_id[0] as u32 & 0x7fff_ffff) as usize))
    };
    let in_multibody = |body: Option<rapier3d::dynamics::RigidBodyHandle>| {
        body.is_some_and(|b| sets.multibody_joints.rigid_body_link(b).is_some())
    };
    let per_point = in_multibody(manifold.data.rigid_body1) || in_multibody(manifold.data.rigid_body2);
    let total: f64 = solved().map(|p| p.data.impulse).sum();
    // rapier's normal points from the first collider to the second
    let normal = -manifold.data.normal;
    let place = |collider: &rapier3d::geometry::Collider, sub: Option<&rapier3d::math::Pose>, p: DVec3| {
        let local = sub.map_or(p, |s| *s * p);
        *collider.position() * local
    };
    for point in solved() {
        let impulse = point.data.impulse;
        if impulse == 0.0 && point.dist > 0.0 {
            continue;
        }
        // between single bodies rapier solves one friction impulse per manifold: share it by load
        let share = match (per_point, total > 0.0) {
            (true, _) => 1.0,
            (false, true) => impulse / total,
            (false, false) => 0.0,
        };
        let friction = point.data.warmstart_tangent_world * share;
        let p1 = place(first, manifold.subshape_pos1(), point.local_p1);
        let p2 = place(second, manifold.subshape_pos2(), point.local_p2);
        out.push(Contact {
            a: Tag::from_bits(first.user_data).reference(),
            b: Tag::from_bits(second.user_data).reference(),
            point: 0.5 * (p1 + p2),
            normal,
            force: (normal * impulse + friction) / dt,
            depth: -point.dist,
        });
    }
}

/// Hash over everything that the next step depends on.
pub(super) fn state_hash(state: &State, structure: &Structure) -> u64 {
    let mut hash = Xxh3::new();
    let mut number = |v: f64| hash.update(&v.to_bits().to_le_bytes());
    number(state.steps as f64);
    for articulation in &structure.articulations {
        for link in &articulation.links {
            for handle in [Some(link.body), link.intermediate].into_iter().flatten() {
                let body = &state.sets.bodies[handle];
                body.position().translation.to_array().into_iter().for_each(&mut number);
                body.rotation().to_array().into_iter().for_each(&mut number);
                body.linvel().to_array().into_iter().for_each(&mut number);
                body.angvel().to_array().into_iter().for_each(&mut number);
            }
        }
        if let Some(multibody) = articulation.multibody.map(|m| &state.sets.multibody_joints[m]) {
            multibody.generalized_velocity().iter().copied().for_each(&mut number);
            for link in multibody.links() {
                link.joint.coords().into_iter().for_each(&mut number);
                link.joint.joint_rot().to_array().into_iter().for_each(&mut number);
            }
        }
    }
    for pair in state.sets.narrow_phase.contact_pairs() {
        for manifold in pair.solver_manifolds() {
            for point in &manifold.points {
                number(point.dist);
                number(point.data.warmstart_impulse);
                number(point.data.warmstart_twist_impulse);
                let tangent = point.data.warmstart_tangent_world;
                tangent.to_array().into_iter().for_each(&mut number);
            }
        }
    }
    hash.digest()
}
