//! The default engine: reduced coordinates, implicit PD and contacts on one factorisation.
//!
//! Characters and props are articulations of the same kind and are moved by the same solve. One step:
//!
//! ```text
//! per articulation: bias, mass matrix + dt (Kd + D) + dt² Kp, Lᵀ L       step, drive, middle
//! detect contacts, collect joint limits                                  collision, reduce, limits
//! rows y = L⁻ᵀ Jᵀ, Gauss-Seidel over limits and contacts                 assemble, rows
//! torques outside their limits leave the mass matrix; solve again        step
//! try the end of the step; solve again for what linear rows missed       ahead
//! split impulse, midpoint root twist, momentum projection, integrate     finish, momentum
//! ```
//!
//! A step is a function of the state alone: positions, rates, the contact points of the last step with their impulses,
//! the joint-limit impulses and the set of saturated torques. That is all a snapshot holds.

mod ahead;
mod assemble;
mod collision;
mod drive;
mod finish;
mod limits;
mod middle;
mod momentum;
mod reduce;
mod rows;
mod snapshot;
mod step;

use std::sync::Arc;

use glam::{DQuat, DVec3};

use self::collision::{Collision, ContactPoint, NO_LINK, NewCollider};
use self::drive::Drive;
use self::limits::{ActiveLimit, SLOTS};
use self::rows::{Correction, Rows};
use super::{
    Actuation, BodyRef, BodyState, BuildError, CharacterState, Contact, Engine, EngineKind, ExternalForce,
    JointPosition, RestoreError, Scene, Snapshot, StepError, StepReport, StepTimes, Wrench, measure, shapes, validate,
};
use crate::character::{Character, Joint};
use crate::dynamics::{Dynamics, Factor, Momentum};

/// See the module page.
#[derive(Clone)]
pub struct ArticulatedEngine {
    scene: Arc<Scene>,
    dt: f64,
    steps: u64,
    /// Characters, then props.
    articulations: Vec<Articulation>,
    /// Coordinates and rates of all articulations, one after the other.
    q: Vec<f64>,
    v: Vec<f64>,
    /// Contact points of the last step that had a row, sorted by key, with their impulses.
    warm: Vec<ContactPoint>,
    /// Impulses of joint limits in the last step, [`SLOTS`] per link.
    limit_impulses: Vec<f64>,
    links: Vec<Link>,
    /// Global degrees of freedom of each link's chain, one link after the other.
    chains: Vec<u32>,
    collision: Collision,
    scratch: Scratch,
    report: StepReport,
    timing: bool,
    times: StepTimes,
    initial: Snapshot,
    /// Fingerprint of what a snapshot must agree with.
    fingerprint: u64,
}

/// One character or prop.
#[derive(Clone)]
struct Articulation {
    character: Arc<Character>,
    /// Kinematics at the current state.
    dynamics: Dynamics,
    /// Mass matrix with armature and passive damping.
    mass: Factor,
    factor: Factor,
    /// First coordinate, first rate, first link.
    q0: usize,
    v0: usize,
    link0: usize,
    damping: Vec<f64>,
    armature: Vec<f64>,
    drives: Vec<Drive>,
    /// Sign of the limit that each torque is held at, 0 if it follows its law.
    saturation: Vec<i8>,
    /// Torque applied in the last step per degree of freedom.
    applied: Vec<f64>,
    root_wrench: Wrench,
    momentum: Momentum,
}

/// A moving body in the global numbering.
#[derive(Clone, Copy, Debug)]
struct Link {
    articulation: usize,
    body: usize,
    /// Where its chain starts in the list of global degrees of freedom, and its length.
    chain: usize,
    chain_len: usize,
    /// Radius about the origin that holds all its shapes.
    reach: f64,
    /// First collider and their number.
    collider: usize,
    colliders: usize,
}

/// Buffers of a step; nothing in them outlives it.
#[derive(Clone, Default)]
struct Scratch {
    rows: Rows,
    limits: Vec<ActiveLimit>,
    limit_guess: Vec<f64>,
    y6: Vec<[f64; 6]>,
    /// Per link: first entry in `y6` or `usize::MAX`, and its twist without impulses.
    link_y6: Vec<usize>,
    link_twist: Vec<(DVec3, DVec3)>,
    /// Generalized external forces.
    push: Vec<f64>,
    v_free: Vec<f64>,
    v_plus: Vec<f64>,
    u: Vec<f64>,
    correction: Vec<f64>,
    position_correction: Correction,
    saturation: Vec<i8>,
    refactor: Vec<bool>,
    /// Per articulation: linear impulse, angular impulse about its centre of mass, pseudo impulse, touches something fixed.
    impulses: Vec<momentum::External>,
    q_next: Vec<f64>,
    twist_ahead: Vec<(DVec3, DVec3)>,
    poses_ahead: Vec<(DVec3, DQuat)>,
    found_ahead: Vec<ContactPoint>,
}

impl ArticulatedEngine {
    /// A world of `scene` with steps of `dt` seconds.
    ///
    /// # Errors
    /// [`BuildError`] names the thing whose number is not usable.
    pub fn new(scene: Scene, dt: f64) -> Result<ArticulatedEngine, BuildError> {
        validate::scene(&scene, dt)?;
        let mut placed: Vec<Arc<Character>> = Vec::new();
        for placement in &scene.characters {
            let mut character = (*placement.character).clone();
            let turn = crate::math::rotation::exp(DVec3::Y * placement.heading);
            let root = &mut character.bodies[0];
            if root.joint == Joint::Planar && placement.heading != 0.0 {
                return Err(BuildError::Unsupported {
                    engine: "articulated",
                    what: format!(
                        "turn the planar character {} away from the sagittal plane",
                        character.name
                    ),
                    remedy: "set its heading to 0".into(),
                });
            }
            root.offset = turn * root.offset + placement.position;
            root.rest = (turn * root.rest).normalize();
            placed.push(Arc::new(character));
        }
        placed.extend(scene.props.iter().map(|p| p.body.clone()));

        let mut engine = ArticulatedEngine {
            dt,
            steps: 0,
            articulations: Vec::with_capacity(placed.len()),
            q: Vec::new(),
            v: Vec::new(),
            warm: Vec::new(),
            limit_impulses: Vec::new(),
            links: Vec::new(),
            chains: Vec::new(),
            collision: Collision::new(Vec::new()),
            scratch: Scratch::default(),
            report: StepReport {
                torque_passes: 1,
                pd_law_met: true,
                ..StepReport::default()
            },
            timing: false,
            times: StepTimes::default(),
            initial: Snapshot::default(),
            fingerprint: 0,
            scene: Arc::new(scene),
        };
        for character in placed {
            engine.add_articulation(character);
        }
        engine.add_colliders()?;
        engine.limit_impulses = vec![0.0; SLOTS * engine.links.len()];
        engine.fingerprint = engine.scene.fingerprint(dt);
        engine.refresh();
        let mut initial = Snapshot::default();
        engine.snapshot(&mut initial);
        engine.initial = initial;
        Ok(engine)
    }

    fn add_articulation(&mut self, character: Arc<Character>) {
        let dynamics = Dynamics::new(&character, self.scene.gravity);
        let tree = &dynamics.tree;
        let n = tree.dofs;
        let (mut damping, mut armature) = (vec![0.0; n], vec![0.0; n]);
        for (definition, body) in character.bodies.iter().zip(&tree.bodies) {
            if !matches!(body.joint, Joint::Free | Joint::Planar) {
                damping[body.dof..body.dof + body.dofs].copy_from_slice(&definition.damping[..body.dofs]);
                armature[body.dof..body.dof + body.dofs].copy_from_slice(&definition.armature[..body.dofs]);
            }
        }
        let (q0, v0, link0) = (self.q.len(), self.v.len(), self.links.len());
        for (body, b) in tree.bodies.iter().enumerate().map(|(i, b)| (i, b.tip)) {
            let chain = self.chains.len();
            self.chains.extend(tree.chain(b).iter().map(|k| k + v0 as u32));
            self.links.push(Link {
                articulation: self.articulations.len(),
                body,
                chain,
                chain_len: self.chains.len() - chain,
                reach: 0.0,
                collider: 0,
                colliders: 0,
            });
        }
        self.q.extend(tree.bind_coordinates());
        self.v.resize(v0 + n, 0.0);
        self.articulations.push(Articulation {
            mass: Factor::new(tree),
            factor: Factor::new(tree),
            q0,
            v0,
            link0,
            damping,
            armature,
            drives: vec![Drive::default(); n],
            saturation: vec![0; n],
            applied: vec![0.0; n],
            root_wrench: Wrench::default(),
            momentum: Momentum::default(),
            character,
            dynamics,
        });
    }

    fn add_colliders(&mut self) -> Result<(), BuildError> {
        let mut excluded = Vec::new();
        for articulation in &self.articulations {
            let character = &articulation.character;
            for b in 0..character.bodies.len() {
                let apart = (0..b).filter(|a| !character.may_collide(*a, b));
                excluded.extend(apart.map(|a| ((articulation.link0 + a) as u32, (articulation.link0 + b) as u32)));
            }
        }
        excluded.sort_unstable();
        let mut collision = Collision::new(excluded);
        let scene = self.scene.clone();
        for (i, terrain) in scene.terrain.iter().enumerate() {
            for part in shapes::terrain_parts(i, terrain)? {
                collision.add(NewCollider {
                    owner: BodyRef::Terrain(i),
                    link: NO_LINK,
                    body: NO_LINK,
                    solid: true,
                    shape: part.shape,
                    position: part.position,
                    rotation: part.rotation,
                    friction: terrain.material.friction,
                    restitution: terrain.material.restitution,
                });
            }
        }
        for (i, platform) in scene.platforms.iter().enumerate() {
            let part = shapes::platform_part(platform);
            collision.add(NewCollider {
                owner: BodyRef::Platform(i),
                link: NO_LINK,
                body: NO_LINK,
                solid: true,
                shape: part.shape,
                position: part.position,
                rotation: part.rotation,
                friction: platform.material.friction,
                restitution: platform.material.restitution,
            });
        }
        let characters = scene.characters.len();
        for (l, link) in self.links.iter_mut().enumerate() {
            let character = &self.articulations[link.articulation].character;
            let body = &character.bodies[link.body];
            let owner = if link.articulation < characters {
                BodyRef::Character {
                    character: link.articulation,
                    body: link.body,
                }
            } else {
                BodyRef::Prop {
                    prop: link.articulation - characters,
                    body: link.body,
                }
            };
            // a body that nothing can move is part of the fixed world
            let moves = link.chain_len > 0;
            link.collider = collision.colliders.len();
            for part in shapes::body_parts(&character.name, body)? {
                collision.add(NewCollider {
                    owner,
                    link: if moves { l as u32 } else { NO_LINK },
                    body: l as u32,
                    solid: body.filter != 0,
                    shape: part.shape,
                    position: part.position,
                    rotation: part.rotation,
                    friction: body.material.friction,
                    restitution: body.material.restitution,
                });
                let reach = collision.colliders[collision.colliders.len() - 1].reach();
                link.reach = link.reach.max(reach);
            }
            link.colliders = collision.colliders.len() - link.collider;
        }
        self.collision = collision;
        Ok(())
    }

    /// Recomputes everything that follows from coordinates and rates.
    fn refresh(&mut self) {
        for articulation in &mut self.articulations {
            let tree = &articulation.dynamics.tree;
            let q = &self.q[articulation.q0..articulation.q0 + tree.coordinates];
            let v = &self.v[articulation.v0..articulation.v0 + tree.dofs];
            articulation.dynamics.update(q, v);
            articulation.momentum = articulation.dynamics.momentum();
        }
    }

    fn body_state(&self, link: usize) -> BodyState {
        let Link { articulation, body, .. } = self.links[link];
        let k = &self.articulations[articulation].dynamics.bodies[body];
        BodyState {
            position: k.x_WB,
            rotation: k.q_WB,
            center_of_mass: k.x_WC,
            velocity: k.v_WC,
            angular_velocity: k.w_WB,
        }
    }

    /// Writes root pose, joint positions and rates of an articulation into the state.
    fn place(
        &mut self,
        articulation: usize,
        position: DVec3,
        rotation: DQuat,
        joints: &[JointPosition],
        velocities: &[(DVec3, DVec3)],
    ) {
        let a = &mut self.articulations[articulation];
        let q = &mut self.q[a.q0..];
        let v = &mut self.v[a.v0..];
        for (b, body) in a.dynamics.tree.bodies.iter().enumerate() {
            let (c, d) = (body.coordinate, body.dof);
            let (linear, angular) = velocities[b];
            match (body.joint, joints[b]) {
                (Joint::Free, _) => {
                    let rotation = rotation.normalize();
                    q[c..c + 3].copy_from_slice(&(position + rotation * body.center_of_mass).to_array());
                    q[c + 3..c + 7].copy_from_slice(&rotation.to_array());
                    v[d..d + 3].copy_from_slice(&linear.to_array());
                    v[d + 3..d + 6].copy_from_slice(&angular.to_array());
                }
                (Joint::Planar, _) => {
                    let turn = crate::math::rotation::log(rotation * body.rest.conjugate());
                    let com = position + rotation.normalize() * body.center_of_mass;
                    q[c..c + 3].copy_from_slice(&[com.y, com.z, turn.x]);
                    v[d..d + 3].copy_from_slice(&[linear.y, linear.z, angular.x]);
                }
                (Joint::Ball, JointPosition::Rotation(r)) => {
                    q[c..c + 4].copy_from_slice(&r.normalize().to_array());
                    v[d..d + 3].copy_from_slice(&angular.to_array());
                }
                (Joint::Hinge { .. }, JointPosition::Angle(angle)) => {
                    q[c] = angle;
                    v[d] = angular.x;
                }
                (Joint::Universal { .. }, JointPosition::Angles(angles)) => {
                    q[c..c + 2].copy_from_slice(&angles);
                    v[d..d + 2].copy_from_slice(&[angular.x, angular.y]);
                }
                _ => {}
            }
        }
        // what was remembered of its contacts, limits and torques belongs to the old place
        let owns = |link: u32| link != NO_LINK && self.links[link as usize].articulation == articulation;
        self.warm.retain(|p| !owns(p.link_a) && !owns(p.link_b));
        let (first, count) = (a.link0, a.character.bodies.len());
        self.limit_impulses[SLOTS * first..SLOTS * (first + count)].fill(0.0);
        a.saturation.fill(0);
        a.applied.fill(0.0);
        a.root_wrench = Wrench::default();
        self.refresh();
    }

    fn contact(&self, p: &ContactPoint) -> Contact {
        let owner = |side: usize| self.collision.colliders[p.key.colliders[side] as usize].owner;
        Contact {
            a: owner(1),
            b: owner(0),
            point: p.x_W,
            normal: p.normal,
            force: p.impulse / self.dt,
            depth: -p.gap,
        }
    }
}

impl Engine for ArticulatedEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Articulated
    }

    fn scene(&self) -> &Scene {
        &self.scene
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    fn time(&self) -> f64 {
        self.steps as f64 * self.dt
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, actuations: &[Actuation], forces: &[ExternalForce]) -> Result<(), StepError> {
        self.advance(actuations, forces)
    }

    fn read_state(&self, character: usize, out: &mut CharacterState) {
        let articulation = &self.articulations[character];
        let tree = &articulation.dynamics.tree;
        let (q, v) = (&self.q[articulation.q0..], &self.v[articulation.v0..]);
        out.time = self.time();
        out.joints.clear();
        out.joint_velocities.clear();
        out.bodies.clear();
        out.torques.clear();
        out.saturated.clear();
        for (b, body) in tree.bodies.iter().enumerate() {
            let (c, d) = (body.coordinate, body.dof);
            let axes = |values: &[f64]| {
                let mut three = [0.0; 3];
                if !matches!(body.joint, Joint::Free | Joint::Planar) {
                    three[..body.dofs].copy_from_slice(&values[d..d + body.dofs]);
                }
                DVec3::from_array(three)
            };
            out.joints.push(match body.joint {
                Joint::Free | Joint::Planar | Joint::Fixed => JointPosition::None,
                Joint::Hinge { .. } => JointPosition::Angle(q[c]),
                Joint::Universal { .. } => JointPosition::Angles([q[c], q[c + 1]]),
                Joint::Ball => JointPosition::Rotation(DQuat::from_slice(&q[c..c + 4])),
            });
            out.joint_velocities.push(axes(v));
            out.torques.push(axes(&articulation.applied));
            out.saturated
                .push(articulation.saturation[d..d + body.dofs].iter().any(|&s| s != 0));
            out.bodies.push(self.body_state(articulation.link0 + b));
        }
        out.external_wrench = articulation.root_wrench;
        measure::contacts_of(character, self.warm.iter().map(|p| self.contact(p)), &mut out.contacts);
        measure::derive(&articulation.character, self.scene.gravity, out);
    }

    fn prop_body(&self, prop: usize, body: usize) -> BodyState {
        self.body_state(self.articulations[self.scene.characters.len() + prop].link0 + body)
    }

    fn platform_pose(&self, platform: usize) -> (DVec3, DQuat) {
        self.scene.platforms[platform].pose(self.time())
    }

    fn contacts(&self, out: &mut Vec<Contact>) {
        out.clear();
        out.extend(self.warm.iter().map(|p| self.contact(p)));
    }

    fn last_step(&self) -> StepReport {
        self.report
    }

    fn energy(&self) -> f64 {
        self.articulations
            .iter()
            .map(|a| a.dynamics.kinetic_energy() + a.dynamics.potential_energy())
            .sum()
    }

    fn set_character(
        &mut self,
        character: usize,
        root_position: DVec3,
        root_rotation: DQuat,
        joints: &[JointPosition],
        velocities: &[(DVec3, DVec3)],
    ) -> Result<(), StepError> {
        let time = self.time();
        validate::index("character", character, self.scene.characters.len(), time)?;
        let definition = self.articulations[character].character.clone();
        validate::placement(&definition, time, root_position, root_rotation, joints, velocities)?;
        self.place(character, root_position, root_rotation, joints, velocities);
        Ok(())
    }

    fn set_prop(
        &mut self,
        prop: usize,
        position: DVec3,
        rotation: DQuat,
        velocity: DVec3,
        angular_velocity: DVec3,
    ) -> Result<(), StepError> {
        let time = self.time();
        validate::index("prop", prop, self.scene.props.len(), time)?;
        let articulation = self.scene.characters.len() + prop;
        let definition = self.articulations[articulation].character.clone();
        let joints = self.scene.props[prop].joints_at(rotation);
        let mut velocities = vec![(DVec3::ZERO, DVec3::ZERO); joints.len()];
        velocities[0] = (velocity, angular_velocity);
        validate::placement(&definition, time, position, rotation, &joints, &velocities)?;
        self.place(articulation, position, rotation, &joints, &velocities);
        Ok(())
    }

    fn snapshot(&self, out: &mut Snapshot) {
        snapshot::save(self, out);
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        snapshot::load(self, snapshot)
    }

    fn reset(&mut self) {
        let initial = std::mem::take(&mut self.initial);
        snapshot::load(self, &initial).expect("the initial snapshot is this engine's own");
        self.initial = initial;
    }

    fn boxed_clone(&self) -> Box<dyn Engine> {
        Box::new(self.clone())
    }

    fn state_hash(&self) -> u64 {
        snapshot::hash(self)
    }

    fn cast_ray(&self, origin: DVec3, direction: DVec3, max_distance: f64) -> Option<(f64, DVec3)> {
        let mut best: Option<(f64, DVec3)> = None;
        for collider in &self.collision.colliders {
            let pose = match collider.owner {
                BodyRef::Character { .. } => continue,
                BodyRef::Terrain(_) => (DVec3::ZERO, DQuat::IDENTITY),
                BodyRef::Platform(p) => self.platform_pose(p),
                BodyRef::Prop { prop, body } => {
                    let state = self.prop_body(prop, body);
                    (state.position, state.rotation)
                }
            };
            let reach = best.map_or(max_distance, |b| b.0);
            if let Some(hit) = collider
                .cast_ray(pose, origin, direction, reach)
                .filter(|h| h.0 < reach)
            {
                best = Some(hit);
            }
        }
        best
    }

    fn set_timing(&mut self, on: bool) {
        self.timing = on;
        self.times = StepTimes::default();
    }

    fn step_times(&self) -> StepTimes {
        self.times
    }
}

/// Global number of the body that `target` means; `None` for terrain and platforms.
fn link_of(target: BodyRef, articulations: &[Articulation], characters: usize) -> Option<usize> {
    match target {
        BodyRef::Character { character, body } => Some(articulations[character].link0 + body),
        BodyRef::Prop { prop, body } => Some(articulations[characters + prop].link0 + body),
        BodyRef::Terrain(_) | BodyRef::Platform(_) => None,
    }
}
