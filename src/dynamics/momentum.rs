//! Linear and angular momentum.

use glam::DVec3;

use super::algorithms::Dynamics;

/// Momentum of an articulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Momentum {
    /// kg m/s.
    pub linear: DVec3,
    /// About the centre of mass, kg m²/s.
    pub angular: DVec3,
    pub center_of_mass: DVec3,
}

impl Dynamics {
    /// Centroidal momentum at the current positions and velocities.
    pub fn momentum(&self) -> Momentum {
        let center_of_mass = self.center_of_mass();
        let mut momentum = Momentum {
            center_of_mass,
            ..Momentum::default()
        };
        for (body, k) in self.tree.bodies.iter().zip(&self.bodies) {
            let p = body.mass * k.v_WC;
            momentum.linear += p;
            momentum.angular += k.I_W * k.w_WB + (k.x_WC - center_of_mass).cross(p);
        }
        momentum
    }
}
