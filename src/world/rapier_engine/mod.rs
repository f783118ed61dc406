//! The second engine: everything is left to rapier, characters are rapier multibodies.
//!
//! In: a [`Scene`]. Out: an [`Engine`]. It is the cross-check of the articulated engine and shares nothing with it but
//! shapes, checks and derived measures. What it cannot honour it lists in [`Engine::notes`].
//!
//! The PD law enters as implicit joint springs and damping with one solver iteration a step, which rapier solves
//! together with the contacts. A clone of rapier's sets is the snapshot; it continues bit for bit.

mod build;
mod drive;
mod observe;
mod tag;

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use glam::{DQuat, DVec3};
use rapier3d::dynamics::{
    CCDSolver, ImpulseJointSet, IntegrationParameters, IslandManager, MultibodyJointSet, RigidBodySet, SoftBodySet,
};
use rapier3d::geometry::{BroadPhaseBvh, ColliderSet, NarrowPhase, Ray};
use rapier3d::math::Pose;
use rapier3d::pipeline::PhysicsPipeline;

use self::build::{Articulation, Structure};
use self::drive::Drives;
use self::tag::OwnFilter;
use super::state::Opaque;
use super::{
    Actuation, BodyRef, BodyState, BuildError, CharacterState, Contact, Engine, EngineKind, ExternalForce,
    JointPosition, RestoreError, RootActuation, Scene, Snapshot, StepError, StepReport, StepTimes, Wrench, blame,
    measure, validate,
};
use crate::character::Joint;
use crate::math::rotation;

/// m/s or rad/s beyond which the motion counts as diverged: nothing that a character does comes near.
const LARGEST_RATE: f64 = 1e4;

/// All that rapier keeps between steps.
#[derive(Clone, Default)]
struct Sets {
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    impulse_joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft_bodies: SoftBodySet,
    ccd_solver: CCDSolver,
}

/// Everything that changes from step to step; a clone of it is a snapshot.
#[derive(Clone)]
struct State {
    sets: Sets,
    steps: u64,
    contacts: Vec<Contact>,
    /// Per articulation and body.
    bodies: Vec<Vec<BodyState>>,
    /// Per articulation, body and axis.
    torques: Vec<Vec<DVec3>>,
    /// Per articulation.
    wrenches: Vec<Wrench>,
    report: StepReport,
}

/// A world moved by rapier.
pub(crate) struct RapierEngine {
    scene: Arc<Scene>,
    structure: Arc<Structure>,
    parameters: IntegrationParameters,
    pipeline: PhysicsPipeline,
    state: State,
    initial: Arc<State>,
    fingerprint: u64,
    drives: Vec<Drives>,
    timing: bool,
    times: StepTimes,
}

impl RapierEngine {
    /// Builds the world; `dt` is the step in seconds.
    pub fn new(scene: Scene, dt: f64) -> Result<RapierEngine, BuildError> {
        validate::scene(&scene, dt)?;
        let mut sets = Sets::default();
        let structure = build::build(&scene, &mut sets)?;
        let fingerprint = scene.fingerprint(dt);
        let count = structure.articulations.len();
        let mut state = State {
            sets,
            steps: 0,
            contacts: Vec::new(),
            bodies: vec![Vec::new(); count],
            torques: structure
                .articulations
                .iter()
                .map(|a| vec![DVec3::ZERO; a.links.len()])
                .collect(),
            wrenches: vec![Wrench::default(); count],
            report: StepReport::default(),
        };
        observe_bodies(&structure, &mut state);
        Ok(RapierEngine {
            drives: vec![Drives::default(); scene.characters.len()],
            scene: Arc::new(scene),
            structure: Arc::new(structure),
            parameters: parameters(dt),
            pipeline: PhysicsPipeline::new(),
            initial: Arc::new(state.clone()),
            state,
            fingerprint,
            timing: false,
            times: StepTimes::default(),
        })
    }

    fn dt(&self) -> f64 {
        self.parameters.dt
    }

    fn prop_offset(&self) -> usize {
        self.scene.characters.len()
    }

    fn check_input(&self, actuations: &[Actuation], forces: &[ExternalForce]) -> Result<(), StepError> {
        let time = self.time();
        if actuations.len() != self.scene.characters.len() {
            return Err(StepError::BadInput {
                time,
                character: "all".into(),
                body: "all".into(),
                what: "number of actuations".into(),
                value: actuations.len().to_string(),
                expected: format!("{}, one per character", self.scene.characters.len()),
            });
        }
        for (placement, actuation) in self.scene.characters.iter().zip(actuations) {
            let character = &placement.character;
            validate::actuation(character, actuation, time)?;
            let root = &character.bodies[0];
            let hung = !matches!(root.joint, Joint::Free | Joint::Planar | Joint::Fixed);
            if hung && matches!(actuation.root, RootActuation::Spring { .. }) {
                return Err(StepError::BadInput {
                    time,
                    character: character.name.clone(),
                    body: root.name.clone(),
                    what: "root actuation".into(),
                    value: "a spring on a root that hangs on a joint".into(),
                    expected: "a free or planar root; drive the root's joint instead".into(),
                });
            }
        }
        validate::forces(&self.scene, forces, time)
    }

    fn apply(&mut self, actuations: &[Actuation], forces: &[ExternalForce]) {
        let dt = self.dt();
        let structure = &self.structure;
        let State {
            sets, bodies, steps, ..
        } = &mut self.state;
        for articulation in &structure.articulations {
            drive::reset_forces(articulation, sets);
        }
        for (i, actuation) in actuations.iter().enumerate() {
            let articulation = &structure.articulations[i];
            drive::drive(articulation, actuation, &bodies[i], sets, dt, &mut self.drives[i]);
        }
        for force in forces {
            let (index, body) = match force.target {
                BodyRef::Character { character, body } => (character, body),
                BodyRef::Prop { prop, body } => (self.scene.characters.len() + prop, body),
                // refused by the check of the input
                BodyRef::Terrain(_) | BodyRef::Platform(_) => continue,
            };
            drive::push(&structure.articulations[index], body, force, sets);
        }
        let next = (*steps + 1) as f64 * dt;
        for (platform, handle) in self.scene.platforms.iter().zip(&structure.platforms) {
            let (position, rotation) = platform.pose(next);
            sets.bodies[*handle].set_next_kinematic_position(Pose::from_parts(position, rotation));
        }
    }

    fn run_pipeline(&mut self) {
        let sets = &mut self.state.sets;
        self.pipeline.step(
            self.scene.gravity,
            &self.parameters,
            &mut sets.islands,
            &mut sets.broad_phase,
            &mut sets.narrow_phase,
            &mut sets.bodies,
            &mut sets.colliders,
            &mut sets.impulse_joints,
            &mut sets.multibody_joints,
            &mut sets.soft_bodies,
            &mut sets.ccd_solver,
            &OwnFilter(&self.scene),
            &(),
        );
    }

    /// The body that moves absurdly fast or not finitely, as (articulation, body, rate).
    fn diverged(&self) -> Option<(usize, usize, f64)> {
        let mut worst: Option<(usize, usize, f64)> = None;
        for (i, states) in self.state.bodies.iter().enumerate() {
            for (b, s) in states.iter().enumerate() {
                let finite = s.center_of_mass.is_finite() && s.rotation.is_finite();
                let rate = s.velocity.length().max(s.angular_velocity.length());
                // a NaN rate or place counts as infinitely fast
                let rate = if finite && !rate.is_nan() { rate } else { f64::INFINITY };
                if rate > worst.map_or(LARGEST_RATE, |w| w.2) {
                    worst = Some((i, b, rate));
                }
            }
        }
        let frozen = self.pipeline.quarantine();
        if worst.is_none() && !frozen.is_empty() {
            // rapier has frozen what became infinite: name the first frozen body
            let is_frozen = |a: &Articulation| a.links.iter().position(|l| frozen.bodies().contains(&l.body));
            let articulations = self.structure.articulations.iter().enumerate();
            worst = articulations
                .filter_map(|(i, a)| Some((i, is_frozen(a)?, f64::INFINITY)))
                .next();
        }
        worst
    }

    fn divergence(&self, time: f64, found: (usize, usize, f64), actuations: &[Actuation]) -> StepError {
        let (index, body, rate) = found;
        let character = &self.structure.articulations[index].definition;
        let name = &character.bodies[body].name;
        let hint = blame::divergence_hint(character, body, actuations.get(index), self.dt());
        StepError::Diverged {
            time,
            character: character.name.clone(),
            body: name.clone(),
            rate,
            hint,
        }
    }

    /// Fills what is read after a step.
    fn observe(&mut self, actuations: &[Actuation]) {
        let dt = self.dt();
        observe::contacts(&self.state.sets, dt, &mut self.state.contacts);
        let structure = &self.structure;
        for (i, drives) in self.drives.iter().enumerate() {
            drive::read_back(&structure.articulations[i], i, drives, &mut self.state, dt);
        }
        let mut violation = 0.0_f64;
        let mut law_met = true;
        for (i, articulation) in structure.articulations.iter().enumerate() {
            for (b, body) in articulation.definition.bodies.iter().enumerate() {
                let position = articulation.joint_position(b, &self.state.sets);
                violation = violation.max(measure::limit_excess(&body.limit, &position));
                law_met &= i >= actuations.len() || !exceeds(&self.state.torques[i][b], &body.torque_limit, 1e-6);
            }
        }
        self.state.report = StepReport {
            iterations: self.parameters.num_solver_iterations,
            torque_passes: 1,
            pd_law_met: law_met,
            contact_points: self.state.contacts.len(),
            max_penetration: self.state.contacts.iter().fold(0.0, |m, c| m.max(c.depth)),
            max_limit_violation: violation,
        };
    }

    fn place(
        &mut self,
        index: usize,
        (position, rotation): (DVec3, DQuat),
        joints: &[JointPosition],
        velocities: &[(DVec3, DVec3)],
    ) {
        let rotation = rotation.normalize();
        let structure = self.structure.clone();
        let articulation = &structure.articulations[index];
        let root = &articulation.definition.bodies[0];
        let center = position + rotation * root.center_of_mass;
        let sets = &mut self.state.sets;
        if root.joint == Joint::Free {
            sets.bodies[articulation.links[0].body].set_position(Pose::from_parts(center, rotation), true);
        }
        if let Some(multibody) = articulation.multibody {
            place_joints(articulation, (center, rotation), joints, velocities, sets);
            if let Some(multibody) = sets.multibody_joints.get_multibody_mut(multibody) {
                multibody.forward_kinematics(&sets.bodies, true);
                multibody.update_rigid_bodies(&mut sets.bodies, true);
            }
        } else if root.joint == Joint::Free {
            let body = &mut sets.bodies[articulation.links[0].body];
            body.set_linvel(velocities[0].0, true);
            body.set_angvel(velocities[0].1, true);
        }
        let offset = self.prop_offset();
        let is_placed = |r: BodyRef| match r {
            BodyRef::Character { character, .. } => character == index,
            BodyRef::Prop { prop, .. } => offset + prop == index,
            BodyRef::Terrain(_) | BodyRef::Platform(_) => false,
        };
        // contacts and torques of the last step say nothing about the new place
        self.state.contacts.retain(|c| !is_placed(c.a) && !is_placed(c.b));
        self.state.torques[index].fill(DVec3::ZERO);
        self.state.wrenches[index] = Wrench::default();
        observe_bodies(&structure, &mut self.state);
    }
}

fn parameters(dt: f64) -> IntegrationParameters {
    let mut parameters = IntegrationParameters {
        dt,
        // each would be a substep with a mass matrix of its own; the implicit law needs none
        num_solver_iterations: 1,
        // continuous detection moves links one by one and pulls joints open
        max_ccd_substeps: 0,
        // recycled contacts report places and depths of earlier steps
        contact_recycling: false,
        ..IntegrationParameters::default()
    };
    // the cap would hide divergence
    parameters.normalized_max_linear_velocity = f64::MAX;
    parameters
}

fn observe_bodies(structure: &Structure, state: &mut State) {
    for (articulation, out) in structure.articulations.iter().zip(&mut state.bodies) {
        observe::body_states(articulation, &state.sets, out);
    }
}

fn exceeds(torque: &DVec3, limit: &[f64; 3], tolerance: f64) -> bool {
    (0..3).any(|k| torque[k].abs() > limit[k] * (1.0 + tolerance))
}

/// Moves the joints of a multibody, and a planar root so that its centre of mass and rotation are those of `root`.
fn place_joints(
    articulation: &Articulation,
    root: (DVec3, DQuat),
    joints: &[JointPosition],
    velocities: &[(DVec3, DVec3)],
    sets: &mut Sets,
) {
    let now: Vec<JointPosition> = (0..joints.len())
        .map(|i| articulation.joint_position(i, sets))
        .collect();
    let Some(multibody) = articulation
        .multibody
        .and_then(|m| sets.multibody_joints.get_multibody_mut(m))
    else {
        return;
    };
    let mut displacement = vec![0.0; multibody.generalized_velocity().len()];
    for (i, link) in articulation.links.iter().enumerate() {
        let (linear, angular) = velocities[i];
        let body = &articulation.definition.bodies[i];
        let coordinate = |k: usize| {
            let axis = &link.axes[k];
            multibody
                .link(axis.link)
                .map_or(0.0, |l| l.joint.coords()[axis.spatial])
        };
        let change = match (&joints[i], &now[i]) {
            _ if body.joint == Joint::Planar => {
                let turn = rotation::log(root.1 * body.rest.conjugate());
                DVec3::new(root.0.y, root.0.z, turn.x) - DVec3::new(coordinate(0), coordinate(1), coordinate(2))
            }
            (JointPosition::Angle(new), JointPosition::Angle(old)) => DVec3::new(new - old, 0.0, 0.0),
            (JointPosition::Angles(new), JointPosition::Angles(old)) => {
                DVec3::new(new[0] - old[0], new[1] - old[1], 0.0)
            }
            (JointPosition::Rotation(new), JointPosition::Rotation(old)) => rotation::difference(new.normalize(), *old),
            _ => DVec3::ZERO,
        };
        let free = matches!(body.joint, Joint::Free | Joint::Planar);
        let spatial = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z];
        for (k, axis) in link.axes.iter().enumerate() {
            // the place of a free root is the pose of its body
            displacement[axis.dof] = if k < 3 { change[k] } else { 0.0 };
            multibody.generalized_velocity_mut()[axis.dof] = if free { spatial[axis.spatial] } else { angular[k] };
        }
    }
    multibody.apply_displacements(&displacement);
}

impl Engine for RapierEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Rapier
    }

    fn scene(&self) -> &Scene {
        &self.scene
    }

    fn dt(&self) -> f64 {
        self.parameters.dt
    }

    fn time(&self) -> f64 {
        self.state.steps as f64 * self.dt()
    }

    fn steps(&self) -> u64 {
        self.state.steps
    }

    fn notes(&self) -> &[String] {
        &self.structure.notes
    }

    fn step(&mut self, actuations: &[Actuation], forces: &[ExternalForce]) -> Result<(), StepError> {
        let start = self.timing.then(Instant::now);
        self.check_input(actuations, forces)?;
        // one huge torque is enough to diverge within a step, so the way back is kept in every one: 17 µs of several hundred
        let before = self.state.clone();
        self.apply(actuations, forces);
        let solve = self.timing.then(Instant::now);
        self.run_pipeline();
        let solved = solve.map(|s| s.elapsed());
        self.state.steps += 1;
        observe_bodies(&self.structure, &mut self.state);
        if let Some(found) = self.diverged() {
            let error = self.divergence(self.time(), found, actuations);
            self.state = before;
            self.pipeline = PhysicsPipeline::new();
            return Err(error);
        }
        self.observe(actuations);
        if let (Some(start), Some(solved)) = (start, solved) {
            let whole = start.elapsed().as_nanos() as u64;
            let inside = solved.as_nanos() as u64;
            self.times.steps += 1;
            // rapier's step is not taken apart: detection, dynamics and contacts count as dynamics
            self.times.dynamics_ns += inside;
            self.times.other_ns += whole - inside;
        }
        Ok(())
    }

    fn read_state(&self, character: usize, out: &mut CharacterState) {
        let articulation = &self.structure.articulations[character];
        let sets = &self.state.sets;
        out.time = self.time();
        out.joints.clear();
        out.joint_velocities.clear();
        out.saturated.clear();
        for (b, body) in articulation.definition.bodies.iter().enumerate() {
            out.joints.push(articulation.joint_position(b, sets));
            let rates = match body.joint {
                Joint::Free | Joint::Planar => DVec3::ZERO,
                _ => observe::joint_rates(articulation, b, sets),
            };
            out.joint_velocities.push(rates);
            let torque = &self.state.torques[character][b];
            out.saturated.push(exceeds(torque, &body.torque_limit, 0.0));
        }
        out.bodies.clone_from(&self.state.bodies[character]);
        out.torques.clone_from(&self.state.torques[character]);
        out.external_wrench = self.state.wrenches[character];
        measure::contacts_of(character, self.state.contacts.iter().copied(), &mut out.contacts);
        measure::derive(&articulation.definition, self.scene.gravity, out);
    }

    fn prop_body(&self, prop: usize, body: usize) -> BodyState {
        self.state.bodies[self.prop_offset() + prop][body]
    }

    fn platform_pose(&self, platform: usize) -> (DVec3, DQuat) {
        self.scene.platforms[platform].pose(self.time())
    }

    fn contacts(&self, out: &mut Vec<Contact>) {
        out.clone_from(&self.state.contacts);
    }

    fn last_step(&self) -> StepReport {
        self.state.report
    }

    fn energy(&self) -> f64 {
        let gravity = self.scene.gravity;
        let articulations = self.structure.articulations.iter().zip(&self.state.bodies);
        articulations
            .map(|(a, states)| {
                let bodies = a.definition.bodies.iter().zip(states);
                let potential: f64 = bodies.map(|(b, s)| -b.mass * gravity.dot(s.center_of_mass)).sum();
                potential + measure::kinetic_energy(&a.definition, states)
            })
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
        let definition = &self.scene.characters[character].character;
        validate::placement(definition, time, root_position, root_rotation, joints, velocities)?;
        self.place(character, (root_position, root_rotation), joints, velocities);
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
        let definition = self.scene.props[prop].body.clone();
        let joints = self.scene.props[prop].joints_at(rotation);
        let mut velocities = vec![(DVec3::ZERO, DVec3::ZERO); joints.len()];
        velocities[0] = (velocity, angular_velocity);
        validate::placement(&definition, time, position, rotation, &joints, &velocities)?;
        let index = self.prop_offset() + prop;
        self.place(index, (position, rotation), &joints, &velocities);
        Ok(())
    }

    fn snapshot(&self, out: &mut Snapshot) {
        out.engine = Some(EngineKind::Rapier);
        out.scene = self.fingerprint;
        out.numbers.clear();
        out.bytes.clear();
        out.bytes.extend_from_slice(&self.state_hash().to_le_bytes());
        out.opaque = Some(Opaque(Arc::new(self.state.clone())));
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        if snapshot.engine != Some(EngineKind::Rapier) {
            return Err(RestoreError(format!(
                "it is of {:?}, not of the rapier engine",
                snapshot.engine
            )));
        }
        let state = snapshot.opaque.as_ref().map(|o| o.0.as_ref());
        let state = state.and_then(|any: &(dyn Any + Send + Sync)| any.downcast_ref::<State>());
        match state {
            Some(state) if snapshot.scene == self.fingerprint => {
                self.state = state.clone();
                self.pipeline = PhysicsPipeline::new();
                Ok(())
            }
            _ => Err(RestoreError("scene or step size differ".into())),
        }
    }

    fn reset(&mut self) {
        self.state = (*self.initial).clone();
        self.pipeline = PhysicsPipeline::new();
    }

    fn boxed_clone(&self) -> Box<dyn Engine> {
        Box::new(RapierEngine {
            scene: self.scene.clone(),
            structure: self.structure.clone(),
            parameters: self.parameters,
            pipeline: PhysicsPipeline::new(),
            state: self.state.clone(),
            initial: self.initial.clone(),
            fingerprint: self.fingerprint,
            drives: self.drives.clone(),
            timing: self.timing,
            times: self.times,
        })
    }

    fn state_hash(&self) -> u64 {
        observe::state_hash(&self.state, &self.structure)
    }

    fn cast_ray(&self, origin: DVec3, direction: DVec3, max_distance: f64) -> Option<(f64, DVec3)> {
        // rapier's own query structure knows nothing before the first step; there are few obstacles, each with a tree of its own
        if !(origin.is_finite() && direction.is_finite()) || max_distance.is_nan() {
            return None;
        }
        let sets = &self.state.sets;
        let ray = Ray::new(origin, direction);
        let mut nearest: Option<(f64, DVec3)> = None;
        for handle in &self.structure.obstacles {
            let collider = &sets.colliders[*handle];
            let pose = match collider.parent() {
                Some(parent) => {
                    let local = collider.position_wrt_parent().copied().unwrap_or(Pose::IDENTITY);
                    *sets.bodies[parent].position() * local
                }
                None => *collider.position(),
            };
            let limit = nearest.map_or(max_distance, |n| n.0);
            if let Some(hit) = collider.shape().cast_ray_and_get_normal(&pose, &ray, limit, true)
                && nearest.is_none_or(|n| hit.time_of_impact < n.0)
            {
                nearest = Some((hit.time_of_impact, hit.normal));
            }
        }
        nearest
    }

    fn set_timing(&mut self, on: bool) {
        self.timing = on;
        self.times = StepTimes::default();
    }

    fn step_times(&self) -> StepTimes {
        self.times
    }
}
