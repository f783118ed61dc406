//! The table of `metrics.csv`: one row per sample, one column per quantity, units in the names.

use glam::DVec3;

use super::measure::driven;
use super::prepare::Actor;
use crate::character::Character;
use crate::world::{CharacterState, Engine};

/// Numbers over time.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Metrics {
    pub header: Vec<String>,
    /// Row after row.
    pub values: Vec<f64>,
}

/// What a row says about one character.
pub struct ActorSample<'a> {
    pub character: &'a Character,
    pub state: &'a CharacterState,
    /// Radians per body.
    pub errors: &'a [f64],
    /// Metres.
    pub root_error: f64,
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl Metrics {
    /// An empty table for these characters; their columns carry their names if there are several.
    pub fn new(actors: &[Actor]) -> Metrics {
        let mut header: Vec<String> = Vec::new();
        header.extend(["time_s", "energy_j", "contact_points", "max_penetration_m"].map(String::from));
        for actor in actors {
            let prefix = if actors.len() > 1 {
                format!("{}.", actor.name)
            } else {
                String::new()
            };
            let mut add = |name: String| header.push(format!("{prefix}{name}"));
            let mut vector = |name: &str, unit: &str| {
                AXES.iter().for_each(|axis| add(format!("{name}_{axis}_{unit}")));
            };
            vector("com", "m");
            vector("com_velocity", "m_per_s");
            vector("linear_momentum", "kg_m_per_s");
            vector("angular_momentum", "kg_m2_per_s");
            vector("left_foot_force", "n");
            vector("right_foot_force", "n");
            vector("center_of_pressure", "m");
            vector("assist_force", "n");
            vector("assist_torque", "nm");
            vector("root_position", "m");
            for name in [
                "kinetic_energy_j",
                "potential_energy_j",
                "ground_force_y_n",
                "root_error_m",
            ] {
                add(name.to_string());
            }
            for body in driven(&actor.character) {
                let body = &actor.character.bodies[body];
                add(format!("error_{}_deg", body.name));
            }
            for body in driven(&actor.character) {
                let body = &actor.character.bodies[body];
                match body.joint.dofs() {
                    1 => add(format!("torque_{}_nm", body.name)),
                    dofs => (0..dofs).for_each(|i| {
                        // a universal joint's torques are about its own two axes
                        let axis = if dofs == 2 { ["1", "2", ""][i] } else { AXES[i] };
                        add(format!("torque_{}_{axis}_nm", body.name));
                    }),
                }
            }
        }
        Metrics {
            header,
            values: Vec::new(),
        }
    }

    /// Makes room for `rows` rows, or for many of them.
    pub fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows.min(1 << 14) * self.header.len());
    }

    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.header.len().max(1))
    }

    /// Adds a row. Without load the centre of pressure is written as 0: see the ground force.
    pub fn sample<'a>(&mut self, engine: &dyn Engine, actors: impl Iterator<Item = ActorSample<'a>>) {
        let report = engine.last_step();
        self.values.extend([
            engine.time(),
            engine.energy(),
            report.contact_points as f64,
            report.max_penetration,
        ]);
        for actor in actors {
            let s = actor.state;
            let ground_force: f64 = s
                .contacts
                .iter()
                .filter(|c| std::mem::discriminant(&c.a) != std::mem::discriminant(&c.b))
                .map(|c| c.force.y)
                .fold(0.0, |sum, y| sum + y);
            for v in [
                s.center_of_mass,
                s.com_velocity,
                s.linear_momentum,
                s.angular_momentum,
                s.feet[0].force,
                s.feet[1].force,
                s.center_of_pressure.unwrap_or(DVec3::ZERO),
                s.external_wrench.force,
                s.external_wrench.torque,
                s.bodies[0].position,
            ] {
                self.values.extend(v.to_array());
            }
            self.values
                .extend([s.kinetic_energy, s.potential_energy, ground_force, actor.root_error]);
            for body in driven(actor.character) {
                self.values.push(actor.errors[body].to_degrees());
            }
            for body in driven(actor.character) {
                let dofs = actor.character.bodies[body].joint.dofs();
                self.values.extend(&s.torques[body].to_array()[..dofs]);
            }
        }
    }

    /// The table as CSV. Every number reads back to the same bits.
    pub fn to_csv(&self) -> Vec<u8> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // writing to memory does not fail
        let _ = writer.write_record(&self.header);
        for row in self.rows() {
            let _ = writer.write_record(row.iter().map(f64::to_string));
        }
        writer.into_inner().unwrap_or_default()
    }
}
