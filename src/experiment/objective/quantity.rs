//! What can be measured: quantities of one moment, and how a run makes one number of them.

#![allow(non_snake_case)]

use glam::{DQuat, DVec3};

use crate::character::Role;
use crate::experiment::measure::{ActorMeasure, driven};
use crate::experiment::run::Simulation;
use crate::experiment::summary::{CharacterSummary, Summary};
use crate::math::euler::nearest_turn;
use crate::math::rotation::heading;
use crate::names::nearest;
use crate::world::{CharacterState, SMALLEST_LOAD};

/// A number of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    ForwardSpeed,
    LeftSpeed,
    ComSpeed,
    ComHeight,
    ComRise,
    ComAdvance,
    ComDrift,
    FeetTravel,
    FeetDistance,
    Turn,
    Lean,
    Airborne,
    GroundForce,
    TorqueSquare,
    TorqueRateSquare,
    AccelerationSquare,
    Power,
    PropSpeed,
    PropAdvance,
    PropRise,
}

impl Quantity {
    fn of_prop(self) -> bool {
        matches!(self, Quantity::PropSpeed | Quantity::PropAdvance | Quantity::PropRise)
    }

    /// Whether it is never below 0.
    fn is_positive(self) -> bool {
        !matches!(
            self,
            Quantity::ForwardSpeed
                | Quantity::LeftSpeed
                | Quantity::ComHeight
                | Quantity::ComRise
                | Quantity::ComAdvance
                | Quantity::Turn
                | Quantity::PropAdvance
                | Quantity::PropRise
        )
    }
}

/// One number of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    /// Over time.
    Mean,
    /// Root of the mean; of quantities that are squares already.
    RootMean,
    Max,
    Min,
    /// The last one.
    End,
    /// Time integral.
    Total,
}

/// Where a measure comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Steps(Quantity, Aggregate),
    /// Energy spent per weight and distance.
    CostOfTransport,
    /// Share of the planned time until the fall.
    UprightShare,
    Fell,
    SurvivedPushes,
    /// From the summary of a run; never below 0.
    Character(fn(&CharacterSummary) -> f64),
    World(fn(&Summary) -> f64),
}

/// A measure that an objective can name.
pub struct MeasureKind {
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    pub(super) source: Source,
}

const fn steps(name: &'static str, quantity: Quantity, aggregate: Aggregate, meaning: &'static str) -> MeasureKind {
    MeasureKind {
        name,
        meaning,
        source: Source::Steps(quantity, aggregate),
    }
}

const fn of(name: &'static str, source: Source, meaning: &'static str) -> MeasureKind {
    MeasureKind { name, meaning, source }
}

/// All measures. Forward and left are those of the character at the start; units are in the names.
#[rustfmt::skip]
pub static MEASURES: [MeasureKind; 42] = {
    use Aggregate::*;
    use Quantity::*;
    [
        of("upright_share", Source::UprightShare, "share of the planned time until the fall; 1 without one"),
        of("fell", Source::Fell, "1 if the character fell, 0 if not"),
        of("survived_pushes", Source::SurvivedPushes, "share of the disturbances that were followed by no fall before the next one or the end"),
        of("tracking_error_mean_deg", Source::Character(|c| c.tracking_error_mean_deg), "mean angle between joints and their targets"),
        of("root_error_mean_m", Source::Character(|c| c.root_error_mean_m), "mean distance of the root from where the controller wants it"),
        of("foot_slip_m", Source::Character(|c| c.foot_slip_m), "largest slide of a loaded foot within one stance"),
        of("assist_impulse_ns", Source::Character(|c| c.assist_impulse_ns), "time integral of the force from outside at the root"),
        of("saturated_share", Source::Character(|c| c.saturated_share), "share of the steps with a joint at its torque limit"),
        of("max_penetration_m", Source::World(|s| s.max_penetration_m), "deepest penetration"),
        of("max_joint_limit_violation_deg", Source::World(|s| s.max_joint_limit_violation_deg), "largest excess over a joint's limit"),
        steps("speed_m_per_s", ForwardSpeed, Mean, "mean forward speed of the centre of mass"),
        steps("side_speed_m_per_s", LeftSpeed, Mean, "mean speed of the centre of mass to the left"),
        steps("com_speed_mean_m_per_s", ComSpeed, Mean, "mean of the speed of the centre of mass, in any direction"),
        steps("com_speed_max_m_per_s", ComSpeed, Max, "largest speed of the centre of mass, in any direction"),
        steps("com_height_mean_m", ComHeight, Mean, "mean height (y) of the centre of mass"),
        steps("com_height_max_m", ComHeight, Max, "largest height of the centre of mass"),
        steps("com_height_min_m", ComHeight, Min, "smallest height of the centre of mass"),
        steps("com_rise_max_m", ComRise, Max, "largest height of the centre of mass above that at the start of the run"),
        steps("com_rise_min_m", ComRise, Min, "smallest height of the centre of mass above that at the start; negative below"),
        steps("com_rise_end_m", ComRise, End, "height of the centre of mass above that at the start, at the end"),
        steps("com_advance_end_m", ComAdvance, End, "how far forward the centre of mass has come at the end"),
        steps("com_drift_end_m", ComDrift, End, "horizontal distance of the centre of mass from its start, at the end"),
        steps("com_drift_max_m", ComDrift, Max, "largest horizontal distance of the centre of mass from its start"),
        steps("feet_travel_end_m", FeetTravel, End, "horizontal distance of the middle of the feet from its start, at the end"),
        steps("feet_distance_min_m", FeetDistance, Min, "smallest distance of the centres of the feet"),
        steps("turn_end_deg", Turn, End, "turn of the root about the vertical since the start, at the end; to the left positive, whole turns counted"),
        steps("turn_max_deg", Turn, Max, "largest turn to the left since the start"),
        steps("turn_min_deg", Turn, Min, "the most negative turn since the start: the largest to the right"),
        steps("lean_mean_deg", Lean, Mean, "mean angle between the trunk and the vertical"),
        steps("lean_max_deg", Lean, Max, "largest angle between the trunk and the vertical"),
        steps("airborne_s", Airborne, Total, "time without any contact but with itself"),
        steps("ground_force_max_bw", GroundForce, Max, "largest vertical contact force, in body weights"),
        steps("torque_rms_nm", TorqueSquare, RootMean, "root mean square over time of the torques of all joints, as one vector"),
        steps("torque_rate_rms_nm_per_s", TorqueRateSquare, RootMean, "the same of their change from step to step"),
        steps("joint_acceleration_rms_rad_per_s2", AccelerationSquare, RootMean, "the same of the accelerations of all joints"),
        steps("power_mean_w", Power, Mean, "mean over time of the sum of |torque times rate| of all joints"),
        steps("work_j", Power, Total, "its time integral"),
        of("cost_of_transport", Source::CostOfTransport, "work per weight and horizontal distance from start to end (at least 1 cm)"),
        steps("prop_speed_max_m_per_s", PropSpeed, Max, "largest speed of a prop"),
        steps("prop_speed_end_m_per_s", PropSpeed, End, "speed of a prop at the end"),
        steps("prop_advance_end_m", PropAdvance, End, "how far forward (the character's) a prop has come at the end"),
        steps("prop_rise_max_m", PropRise, Max, "largest height of a prop above its start"),
    ]
};

impl MeasureKind {
    /// Whether it can be taken over a part of a run.
    pub(super) fn windowed(&self) -> bool {
        matches!(self.source, Source::Steps(..) | Source::CostOfTransport)
    }

    /// Whether it is about a prop.
    pub(super) fn of_prop(&self) -> bool {
        matches!(self.source, Source::Steps(quantity, _) if quantity.of_prop())
    }

    /// Whether it is never below 0.
    pub(super) fn is_positive(&self) -> bool {
        match self.source {
            Source::Steps(quantity, _) => quantity.is_positive(),
            _ => true,
        }
    }
}

/// The measure of this name; the error lists what there is.
pub(super) fn find_measure(name: &str) -> Result<&'static MeasureKind, String> {
    if let Some(kind) = MEASURES.iter().find(|m| m.name == name) {
        return Ok(kind);
    }
    let known = MEASURES.iter().map(|m| m.name);
    Err(match nearest(name, known.clone()) {
        Some(meant) => format!("is \"{name}\"; did you mean `{meant}`?"),
        None => format!(
            "is \"{name}\"; expected one of {}",
            known.collect::<Vec<_>>().join(", ")
        ),
    })
}

/// What the quantities of a character are counted from, and what they need of the step before.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub character: usize,
    pub prop: Option<usize>,
    weight: f64,
    driven: Vec<usize>,
    feet: [Option<usize>; 2],
    /// Unit, horizontal.
    forward: DVec3,
    start_com: DVec3,
    start_feet: DVec3,
    start_heading: f64,
    /// Of the root.
    R_bind: DQuat,
    start_prop: DVec3,
    /// Radians since the start, whole turns counted.
    turn: f64,
    torques: Vec<DVec3>,
    rates: Vec<DVec3>,
    torque_rate_square: f64,
    acceleration_square: f64,
}

impl Watched {
    /// At the start of a run.
    pub fn new(simulation: &Simulation, character: usize, prop: Option<usize>) -> Watched {
        let actor = &simulation.prepared.actors[character];
        let state = &simulation.states[character];
        let gravity = DVec3::from_array(simulation.prepared.spec.gravity).length();
        let role = |role: Role| actor.character.bodies.iter().position(|b| b.role == role);
        let feet = [role(Role::LeftFoot), role(Role::RightFoot)];
        let R_bind = actor.character.bind_frames()[0].1;
        let start_heading = heading(state.bodies[0].rotation * R_bind.conjugate());
        Watched {
            character,
            prop,
            weight: actor.character.mass() * gravity,
            driven: driven(&actor.character).collect(),
            feet,
            forward: DVec3::new(libm::sin(start_heading), 0.0, libm::cos(start_heading)),
            start_com: state.center_of_mass,
            start_feet: feet_middle(&feet, state),
            start_heading,
            R_bind,
            start_prop: prop.map_or(DVec3::ZERO, |p| simulation.engine.prop_body(p, 0).center_of_mass),
            turn: 0.0,
            torques: vec![DVec3::ZERO; actor.character.bodies.len()],
            rates: state.joint_velocities.clone(),
            torque_rate_square: 0.0,
            acceleration_square: 0.0,
        }
    }

    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Looks at the state after a step of `dt` seconds; `first` is whether it was the first one.
    pub fn advance(&mut self, simulation: &Simulation, dt: f64, first: bool) {
        let state = &simulation.states[self.character];
        let turned = heading(state.bodies[0].rotation * self.R_bind.conjugate()) - self.start_heading;
        self.turn = nearest_turn(turned, self.turn);
        (self.torque_rate_square, self.acceleration_square) = (0.0, 0.0);
        for b in self.driven.iter().copied() {
            // before the first step there was no torque to change
            if !first {
                self.torque_rate_square += (state.torques[b] - self.torques[b]).length_squared();
            }
            self.acceleration_square += (state.joint_velocities[b] - self.rates[b]).length_squared();
            self.torques[b] = state.torques[b];
            self.rates[b] = state.joint_velocities[b];
        }
        self.torque_rate_square /= dt * dt;
        self.acceleration_square /= dt * dt;
    }

    /// Horizontal way of the centre of mass since the start of the run.
    pub fn way(&self, simulation: &Simulation) -> DVec3 {
        let way = simulation.states[self.character].center_of_mass - self.start_com;
        DVec3::new(way.x, 0.0, way.z)
    }

    /// The quantity now. `measure` is the run's own of the same character.
    pub fn quantity(&self, quantity: Quantity, simulation: &Simulation, measure: &ActorMeasure) -> f64 {
        let state = &simulation.states[self.character];
        let left = DVec3::Y.cross(self.forward);
        let prop = || self.prop.map(|p| simulation.engine.prop_body(p, 0)).unwrap_or_default();
        match quantity {
            Quantity::ForwardSpeed => state.com_velocity.dot(self.forward),
            Quantity::LeftSpeed => state.com_velocity.dot(left),
            Quantity::ComSpeed => state.com_velocity.length(),
            Quantity::ComHeight => state.center_of_mass.y,
            Quantity::ComRise => state.center_of_mass.y - self.start_com.y,
            Quantity::ComAdvance => self.way(simulation).dot(self.forward),
            Quantity::ComDrift => self.way(simulation).length(),
            Quantity::FeetTravel => {
                let way = feet_middle(&self.feet, state) - self.start_feet;
                DVec3::new(way.x, 0.0, way.z).length()
            }
            Quantity::FeetDistance => match self.feet {
                [Some(a), Some(b)] => (state.bodies[a].center_of_mass - state.bodies[b].center_of_mass).length(),
                _ => 0.0,
            },
            Quantity::Turn => self.turn.to_degrees(),
            Quantity::Lean => measure.lean(state).to_degrees(),
            Quantity::Airborne => f64::from(u8::from(
                !(state.contacts.iter()).any(|c| !c.is_own() && c.force.length() > SMALLEST_LOAD),
            )),
            Quantity::GroundForce => {
                let force: f64 = state.contacts.iter().filter(|c| !c.is_own()).map(|c| c.force.y).sum();
                if self.weight > 0.0 {
                    force.max(0.0) / self.weight
                } else {
                    0.0
                }
            }
            Quantity::TorqueSquare => self.driven.iter().map(|b| state.torques[*b].length_squared()).sum(),
            Quantity::TorqueRateSquare => self.torque_rate_square,
            Quantity::AccelerationSquare => self.acceleration_square,
            Quantity::Power => {
                let power = |b: &usize| (state.torques[*b] * state.joint_velocities[*b]).abs().element_sum();
                self.driven.iter().map(power).sum()
            }
            Quantity::PropSpeed => prop().velocity.length(),
            Quantity::PropAdvance => (prop().center_of_mass - self.start_prop).dot(self.forward),
            Quantity::PropRise => prop().center_of_mass.y - self.start_prop.y,
        }
    }
}

/// Middle of the feet's centres of mass; of a character without feet its own centre of mass.
fn feet_middle(feet: &[Option<usize>; 2], state: &CharacterState) -> DVec3 {
    let centers = || feet.iter().flatten().map(|b| state.bodies[*b].center_of_mass);
    match centers().count() {
        0 => state.center_of_mass,
        count => centers().sum::<DVec3>() / count as f64,
    }
}

/// The prop of this name among those of an experiment.
pub(super) fn find_prop(names: &[String], wanted: Option<&str>) -> Result<usize, String> {
    match wanted {
        None if !names.is_empty() => Ok(0),
        None => Err("there is no prop".into()),
        Some(name) => find_name("prop", names.iter().map(String::as_str), name),
    }
}

pub(super) fn find_name<'a>(
    what: &str,
    names: impl Iterator<Item = &'a str> + Clone,
    wanted: &str,
) -> Result<usize, String> {
    names.clone().position(|n| n == wanted).ok_or_else(|| {
        let known: Vec<&str> = names.clone().collect();
        match nearest(wanted, names) {
            Some(meant) => format!("there is no {what} \"{wanted}\"; did you mean \"{meant}\"?"),
            None => format!("there is no {what} \"{wanted}\"; there are {}", known.join(", ")),
        }
    })
}
