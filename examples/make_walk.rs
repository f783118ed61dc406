//! Makes `data/clips/walk.bvh`, the walk that `examples/walk.toml` tracks, from published means of normal gait.
//!
//! ```text
//! cargo run --release --example make_walk [OUT.bvh]
//!
//! tables (% of the cycle → degrees) → smooth periodic curves
//!    → pelvis path: what the stance leg's published angles say, fitted with a few harmonics
//!    → feet: in stance rolling without slip over heel, sole, ball and toe tip; in swing where the angles put them,
//!            with what they are off at both footholds faded in and out
//!    → hip, knee and ankle by inverse kinematics: the published angles with the smallest change that keeps the feet
//! ```
//!
//! Means over people and phases do not fit one skeleton: taken literally, the stance foot slides and sinks by
//! centimetres. So the feet are exact here and the joint angles give way; how much is printed at the end and noted in
//! `data/clips/README.md`, which also names the sources.
//!
//! To change the walk, change a number in the tables below and run the program again; `tests/walk_clip.rs` says whether
//! the result still is a walk.
//!
//! Conventions: Y up, facing +Z, left at +X. In the tables the angles have the signs of their sources, named at each
//! one (flexion and dorsiflexion positive); about +X hip flexion is negative, knee flexion and toe down are positive.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::error::Error;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

use ambler::character::Character;
use ambler::clip::Clip;
use ambler::math::euler::Axis;
use ambler::math::rotation::{angle_between, slerp};
use ambler::motion::bvh;
use ambler::skeleton::{Pose, Skeleton};
use glam::{DMat3, DQuat, DVec3};
use nalgebra::{DMatrix, DVector};

// ---- time -----------------------------------------------------------------------------------------------------------

/// 132 frames of 1/120 s: a cycle of 1.1 s, 109 steps a minute. Men walk at 111, women at 117 [P, ch. 1]. Even, so
/// that half a cycle is a whole number of frames, too.
const FRAMES: usize = 132;
const FRAME_TIME: f64 = 1.0 / 120.0;
/// Percent of the cycle at which a foot leaves the ground [P, ch. 1].
const TOE_OFF: f64 = 61.0;
/// Until here the swing leg has left behind what it took along from stance, and from there it prepares for the next
/// one, percent.
const LIFT_OFF: f64 = 78.0;
const LANDING: f64 = 84.0;
/// Frame 0 is this many frames after the left heel strike, at 9 % of the cycle: the left foot has come down flat and
/// the right toes are still on the ground, so that a simulation starts well supported.
const START: usize = 12;

// ---- tables: (percent of the cycle from the leg's own heel strike, degrees) -----------------------------------------
//
// [P] J. Perry and J. Burnfield, "Gait Analysis: Normal and Pathological Function", 2nd ed., SLACK 2010: the angle at
//     the end of each of the eight phases (0, 12, 31, 50, 62, 75, 87, 100 %), chapters 4 (ankle, foot), 5 (knee), 6
//     (hip), 7 (pelvis and trunk), 8 (arm). Where a number here is not the book's, data/clips/README.md says so.
// [W] D. Winter, "Biomechanics and Motor Control of Human Movement", 4th ed., Wiley 2009, normal walking: where
//     between those ends the curves have their extremes.

/// Thigh against the vertical, flexion positive [P]; largest extension just after the other foot's contact, largest
/// flexion at 85 % [W].
const THIGH: &[[f64; 2]] = &[
    [0.0, 21.0],
    [12.0, 18.0],
    [31.0, 0.0],
    [50.0, -19.0],
    [53.0, -20.0],
    [62.0, -11.0],
    [75.0, 15.0],
    [85.0, 25.5],
    [90.0, 25.5],
];

/// Knee flexion [P]: 5 at contact, 15-20 in loading response, 5 at the end of terminal stance, 40 at toe-off, 60 in
/// initial swing; the peaks at 14 and 72 % [W].
const KNEE: &[[f64; 2]] = &[
    [0.0, 5.0],
    [14.0, 17.0],
    [31.0, 8.0],
    [41.0, 5.0],
    [50.0, 10.0],
    [62.0, 40.0],
    [72.0, 63.0],
    [87.0, 26.0],
    [97.0, 3.0],
];

/// Foot against the floor, toe down positive. Of these only the course counts: the ankle follows by inverse kinematics.
/// Outside of foot flat it is knee flexion − thigh flexion − ankle
/// dorsiflexion with the ankle at 0 at contact, 10 dorsiflexed at 50 %, 15 plantar flexed at toe-off, 5 plantar
/// flexed at 75 % and 0 from 87 % on [P]. Foot flat from forefoot contact to heel rise [P]; the smoothing shortens it
/// on both sides.
const FOOT: &[[f64; 2]] = &[
    [0.0, -14.0],
    [6.0, 0.0],
    [35.0, 0.0],
    [43.0, 2.5],
    [50.0, 13.0],
    [62.0, 68.0],
    [66.0, 73.0],
    [75.0, 46.0],
    [80.0, 19.0],
    [87.0, 2.0],
    [96.0, -19.0],
];

/// Toes against the floor, toe down positive: flat until the last third of pre-swing, when the foot rolls over their
/// tip; extended by 60 against the foot at toe-off, by a few degrees in swing [P]. Before foot flat they go with the
/// foot.
const TOES: &[[f64; 2]] = &[
    [0.0, -15.0],
    [6.0, 0.0],
    [52.0, 0.0],
    [57.0, 3.0],
    [62.0, 18.0],
    [67.0, 35.0],
    [75.0, 31.0],
    [80.0, 7.0],
    [87.0, -6.0],
    [96.0, -23.0],
];

/// Pelvis, from the left heel strike. Turn in the transverse plane, left side forward positive: 5 each way [P], largest
/// at contact. Left side up positive: the unloaded side drops by 4 in loading response [P]. Anterior tilt about its
/// mean: an arc of 4 in all, twice a cycle [P]; the mean is the bind pose's, because hip angles are thigh angles here.
const PELVIS_TURN: f64 = 5.0;
const PELVIS_DROP: &[[f64; 2]] = &[
    [0.0, 0.0],
    [13.0, 4.0],
    [30.0, 1.0],
    [50.0, 0.0],
    [63.0, -4.0],
    [80.0, -1.0],
];
const PELVIS_TILT: f64 = 2.0;

/// Thorax in the world. It turns against the pelvis, 7 in all (M. Murray, A. Drought, R. Kory, "Walking patterns of
/// normal men", J. Bone Joint Surg. 46-A, 1964). It leans forward by a few degrees and nods by about 1 twice a cycle
/// (A. Thorstensson et al., "Trunk movements in human locomotion", Acta Physiol. Scand. 121, 1984). The head stays
/// level and straight (T. Pozzo, A. Berthoz, L. Lefort, "Head stabilization during various locomotor tasks in
/// humans", Exp. Brain Res. 82, 1990).
const THORAX_TURN: f64 = 3.5;
const THORAX_LEAN: f64 = 3.0;
const THORAX_NOD: f64 = 1.0;

/// Shoulder flexion and elbow flexion of the arm, as middle and amplitude of one wave a cycle: shoulder from 24 of
/// extension at the same side's heel strike to 8 of flexion at the other's, elbow between 20 and 44 ([P] after M.
/// Murray, S. Sepic, E. Barnard, "Patterns of sagittal rotation of the upper limbs in walking", Phys. Ther. 47,
/// 1967). The forearm follows the upper arm by some 5 % of the cycle.
const SHOULDER: [f64; 2] = [-8.0, 16.0];
const ELBOW: [f64; 2] = [32.0, 12.0];
const ELBOW_LAG: f64 = 5.0;
/// Arms hang this far away from the side, so that the hands pass the thighs with some room.
const ARM_ABDUCTION: f64 = 8.0;

/// Sway of the pelvis to the left and surge ahead of its even progress: waves of [times a cycle, amplitude in metres,
/// percent of the peak]. Their sizes are those of published walks: 4 to 5 cm from side to side at this speed (M.
/// Orendurff et al., "The effect of walking speed on center of mass displacement", J. Rehabil. Res. Dev. 41, 2004),
/// fastest in double support and slowest in mid stance. Amplitudes and phases, and how far the pelvis is ahead of
/// where the angles have it, were searched for so that the centre of pressure that the motion asks for (whole-body
/// momentum, frame by frame) lies under the feet that stand. The angles alone ask for one up to half a metre off.
const SWAY: [[f64; 3]; 2] = [[1.0, 0.028, 27.5], [3.0, 0.0036, 13.5]];
const SURGE: [[f64; 3]; 1] = [[2.0, 0.0141, 18.75]];
const AHEAD: f64 = 0.010;

/// Half the distance between the ankles' tracks, metres. Published strides are 8 to 10 cm wide; the character's feet
/// are boxes 9 cm wide that need 3 cm to pass each other.
const HALF_WIDTH: f64 = 0.065;
/// Toes point outward by 7 degrees in Murray 1964; less here, where the foot has no outer and inner border to roll on.
const TOE_OUT: f64 = 5.0;
/// The knee's plane lies between the line of progression and the foot's.
const KNEE_OUT: f64 = 2.5;
/// Lowest point of the foot in mid swing, metres; 1 to 2 cm in Winter's "Foot trajectory in human gait", Phys. Ther.
/// 72, 1992.
const CLEARANCE: f64 = 0.015;
/// Least knee flexion; a straight leg has no inverse.
const LEAST_KNEE: f64 = 4.0;

/// A pelvis that has to be lowered or a swing foot that has to be lifted by more than this is an error in the tables,
/// metres.
const MOST_CHANGE: f64 = 0.1;

/// Width of the box that is run over each curve three times, percent of the cycle: makes them twice differentiable and
/// leaves what is straight for longer than its threefold as it was.
const SMOOTHING: f64 = 2.0;

// ---- curves ---------------------------------------------------------------------------------------------------------

/// A periodic function of the cycle, sampled.
struct Curve(Vec<f64>);

/// Samples of a curve per cycle; a multiple of the frames, so that frames fall on samples.
const SAMPLES: usize = 20 * FRAMES;

impl Curve {
    /// Through the rows of a table without overshoot (F. Fritsch and J. Butland's monotone cubics, SIAM J. Sci.
    /// Stat. Comput. 5, 1984), then smoothed.
    fn new(table: &[[f64; 2]]) -> Curve {
        let n = table.len();
        // rows go round: row n is row 0 a cycle later
        let row = |i: isize| {
            let turn = i.div_euclid(n as isize);
            let [p, y] = table[i.rem_euclid(n as isize) as usize];
            [p + 100.0 * turn as f64, y]
        };
        let secant = |i: isize| (row(i + 1)[1] - row(i)[1]) / (row(i + 1)[0] - row(i)[0]);
        let slope = |i: isize| {
            let (a, b) = (secant(i - 1), secant(i));
            if a * b <= 0.0 { 0.0 } else { 2.0 * a * b / (a + b) }
        };
        let at = |p: f64| {
            let i = (-1..n as isize).rev().find(|&i| row(i)[0] <= p).unwrap_or(-1);
            let ([p0, y0], [p1, y1]) = (row(i), row(i + 1));
            let (h, t) = (p1 - p0, (p - p0) / (p1 - p0));
            let (t2, t3) = (t * t, t * t * t);
            y0 * (2.0 * t3 - 3.0 * t2 + 1.0)
                + y1 * (3.0 * t2 - 2.0 * t3)
                + slope(i) * h * (t3 - 2.0 * t2 + t)
                + slope(i + 1) * h * (t3 - t2)
        };
        let mut samples: Vec<f64> = (0..SAMPLES).map(|i| at(100.0 * i as f64 / SAMPLES as f64)).collect();
        let half = (SMOOTHING / 200.0 * SAMPLES as f64) as usize;
        for _ in 0..3 {
            samples = (0..SAMPLES)
                .map(|i| {
                    let window = (0..=2 * half).map(|k| samples[(i + SAMPLES + k - half) % SAMPLES]);
                    window.sum::<f64>() / (2 * half + 1) as f64
                })
                .collect();
        }
        Curve(samples)
    }

    /// Value at `percent` of the cycle, any number of cycles away.
    fn at(&self, percent: f64) -> f64 {
        let x = percent.rem_euclid(100.0) / 100.0 * SAMPLES as f64;
        let i = x.floor();
        let (a, b) = (self.0[i as usize % SAMPLES], self.0[(i as usize + 1) % SAMPLES]);
        a + (b - a) * (x - i)
    }
}

/// `cos` of a number of percents of the cycle, `harmonic` times a cycle.
fn wave(percent: f64, harmonic: f64) -> f64 {
    libm::cos(TAU * harmonic * percent / 100.0)
}

/// Sum of a table of waves: [times a cycle, amplitude, percent of the peak].
fn waves(table: &[[f64; 3]], percent: f64) -> f64 {
    let one = |&[harmonic, amplitude, peak]: &[f64; 3]| amplitude * wave(percent - peak, harmonic);
    table.iter().map(one).sum()
}

fn about(axis: Axis, degrees: f64) -> DQuat {
    axis.rotation(degrees.to_radians())
}

// ---- the skeleton's measures ----------------------------------------------------------------------------------------

/// Where the left leg's joints and the edges of its sole are, metres.
struct Leg {
    /// Hip in the pelvis's frame, knee in the thigh's, ankle in the shin's, ball of the foot in the foot's.
    hip: DVec3,
    knee: DVec3,
    ankle: DVec3,
    ball: DVec3,
    /// Back edge of the heel in the foot's frame, front edge of the toes in theirs.
    heel: DVec3,
    tip: DVec3,
}

impl Leg {
    fn new(character: &Character) -> Result<Leg, Box<dyn Error>> {
        let body = |name: &str| {
            let found = character.bodies.iter().find(|b| b.name == name);
            found.ok_or_else(|| format!("the character has no body `{name}`"))
        };
        let (foot, toes) = (body("left_foot")?, body("left_toes")?);
        let corner = |body: &ambler::character::Body, z: f64| match body.colliders[0].shape {
            ambler::character::Shape::Box { half_extents: h } => {
                Ok(body.colliders[0].position + DVec3::new(0.0, -h.y, z * h.z))
            }
            _ => Err(format!("`{}` is not a box", body.name)),
        };
        Ok(Leg {
            hip: body("left_thigh")?.offset,
            knee: body("left_shin")?.offset,
            ankle: foot.offset,
            ball: toes.offset,
            heel: corner(foot, -1.0)?,
            tip: corner(toes, 1.0)?,
        })
    }
}

/// A foot in its own vertical plane: y up, z along the foot.
#[derive(Clone, Copy)]
struct Foot {
    ankle: DVec3,
    pitch: f64,
    toe_pitch: f64,
}

impl Foot {
    fn lowest(&self, leg: &Leg) -> f64 {
        let (foot, toes) = (about(Axis::X, self.pitch), about(Axis::X, self.toe_pitch));
        let ball = self.ankle + foot * leg.ball;
        let front = DVec3::new(0.0, leg.heel.y, leg.ball.z);
        let back = DVec3::new(0.0, leg.tip.y, 0.0);
        [
            self.ankle + foot * leg.heel,
            self.ankle + foot * front,
            ball + toes * back,
            ball + toes * leg.tip,
        ]
        .iter()
        .fold(f64::INFINITY, |low, p| low.min(p.y))
    }
}

// ---- the walk -------------------------------------------------------------------------------------------------------

struct Walk {
    leg: Leg,
    thigh: Curve,
    knee: Curve,
    foot: Curve,
    toes: Curve,
    drop: Curve,
    /// Coefficients of the pelvis's height in [`harmonics`].
    height: DVector<f64>,
    /// Where the pelvis is at percent 0, and the length of a cycle on the ground, metres.
    start: f64,
    stride: f64,
    /// How far the pelvis is lowered from there, metres.
    lowered: f64,
    /// How much the swing foot is lifted to clear the ground, metres.
    lift: f64,
}

/// 1 and the waves that are the same for the left and the right step.
fn harmonics(percent: f64) -> [f64; 5] {
    let sine = |harmonic| wave(percent - 25.0 / harmonic, harmonic);
    [1.0, wave(percent, 2.0), sine(2.0), wave(percent, 4.0), sine(4.0)]
}

impl Walk {
    fn new(leg: Leg) -> Result<Walk, Box<dyn Error>> {
        let mut walk = Walk {
            leg,
            thigh: Curve::new(THIGH),
            knee: Curve::new(KNEE),
            foot: Curve::new(FOOT),
            toes: Curve::new(TOES),
            drop: Curve::new(PELVIS_DROP),
            height: DVector::zeros(5),
            start: 0.0,
            stride: 0.0,
            lowered: 0.0,
            lift: 0.0,
        };
        walk.fit_pelvis()?;
        walk.lower_until_knees_bend()?;
        walk.lift_swing()?;
        Ok(walk)
    }

    // -- pelvis and trunk, percents from the left heel strike

    fn pelvis_rotation(&self, percent: f64) -> DQuat {
        // left side forward is a negative turn about +Y, left side up a positive one about +Z
        about(Axis::Y, -PELVIS_TURN * wave(percent, 1.0))
            * about(Axis::X, PELVIS_TILT * wave(percent, 2.0))
            * about(Axis::Z, self.drop.at(percent))
    }

    fn pelvis_position(&self, percent: f64) -> DVec3 {
        let h = harmonics(percent);
        let height: f64 = (0..5).map(|k| self.height[k] * h[k]).sum();
        DVec3::new(
            waves(&SWAY, percent),
            height - self.lowered,
            self.start + waves(&SURGE, percent) + self.stride * percent / 100.0,
        )
    }

    /// Left hip in the world.
    fn hip(&self, percent: f64) -> DVec3 {
        self.pelvis_position(percent) + self.pelvis_rotation(percent) * self.leg.hip
    }

    /// From the hip to the ankle in the sagittal plane, as the published angles have it.
    fn published_leg(&self, percent: f64) -> DVec3 {
        let thigh = -self.thigh.at(percent);
        about(Axis::X, thigh) * self.leg.knee + about(Axis::X, thigh + self.knee.at(percent)) * self.leg.ankle
    }

    /// The pelvis goes where the published angles of the left leg, standing on a foot that rolls without slip, put
    /// it: height and progress by least squares over the stance, single support counting most. The right leg says the
    /// same half a cycle later, because only waves that are the same for both are fitted.
    fn fit_pelvis(&mut self) -> Result<(), Box<dyn Error>> {
        const BEFORE: usize = 5;
        let count = BEFORE + TOE_OFF as usize;
        let mut basis = DMatrix::zeros(count, 6);
        let mut loads = vec![0.0; count];
        let (mut heights, mut places) = (DVector::zeros(count), DVector::zeros(count));
        for i in 0..count {
            let percent = i as f64 - BEFORE as f64;
            // the trailing leg gives up its load from the other foot's contact on; its knee and ankle can follow
            let load = ((TOE_OFF - percent) / (TOE_OFF - 50.0)).min(1.0);
            loads[i] = load;
            let place = self.standing(percent).ankle
                - self.published_leg(percent)
                - self.pelvis_rotation(percent) * self.leg.hip;
            for (k, h) in harmonics(percent).into_iter().enumerate() {
                basis[(i, k)] = h * load;
            }
            basis[(i, 5)] = percent / 100.0 * load;
            places[i] = (place.z - waves(&SURGE, percent)) * load;
        }
        let line = basis.select_columns(&[0, 5]).svd(true, true).solve(&places, 1e-9)?;
        (self.start, self.stride) = (line[0] + AHEAD, line[1]);
        // the height at which the leg, as long as published, reaches its foot from there
        for i in 0..count {
            let percent = i as f64 - BEFORE as f64;
            let ankle = self.standing(percent).ankle;
            let hip = self.pelvis_rotation(percent) * self.leg.hip;
            let ahead = ankle.z - (self.pelvis_position(percent).z + hip.z);
            let length = self.published_leg(percent).length();
            heights[i] = (ankle.y + libm::sqrt(length * length - ahead * ahead) - hip.y) * loads[i];
        }
        self.height = basis.columns(0, 5).into_owned().svd(true, true).solve(&heights, 1e-9)?;
        Ok(())
    }

    /// Lowers the pelvis until no leg has to be straighter than [`LEAST_KNEE`] to reach its foot.
    fn lower_until_knees_bend(&mut self) -> Result<(), Box<dyn Error>> {
        let (a, b) = (self.leg.knee.length(), self.leg.ankle.length());
        let reach = libm::sqrt(a * a + b * b + 2.0 * a * b * libm::cos(LEAST_KNEE.to_radians()));
        let too_far = |walk: &Walk| {
            (0..SAMPLES).any(|i| {
                let percent = 100.0 * i as f64 / SAMPLES as f64;
                (walk.ankle(percent) - walk.hip(percent)).length() > reach
            })
        };
        while too_far(self) {
            self.lowered += 1e-4;
            if self.lowered > MOST_CHANGE {
                return Err(
                    "a leg does not reach its foot: the tables of thigh, knee and foot contradict each other".into(),
                );
            }
        }
        Ok(())
    }

    // -- the left foot, percents from its heel strike, at z = 0 where the ankle is in foot flat

    /// The foot standing: it turns about the back edge of the heel, lies flat, turns about the ball with the toes
    /// flat, and then about the toes' front edge. Continued before and after the stance, where swing takes over.
    fn standing(&self, percent: f64) -> Foot {
        let (pitch, toe_pitch) = (self.foot.at(percent), self.toes.at(percent));
        let leg = &self.leg;
        let foot = about(Axis::X, pitch);
        let on_heel = percent.rem_euclid(100.0) < 20.0 || percent.rem_euclid(100.0) > 85.0;
        let ankle = if on_heel {
            DVec3::new(0.0, 0.0, leg.heel.z) - foot * leg.heel
        } else {
            let tip = DVec3::new(0.0, 0.0, leg.ball.z + leg.tip.z);
            tip - about(Axis::X, toe_pitch) * leg.tip - foot * leg.ball
        };
        Foot {
            ankle,
            pitch,
            toe_pitch,
        }
    }

    /// Where the ankle of the standing foot is in the world, for the stance that begins at percent 0.
    fn standing_ankle(&self, percent: f64) -> DVec3 {
        DVec3::new(HALF_WIDTH, 0.0, 0.0) + about(Axis::Y, TOE_OUT) * self.standing(percent).ankle
    }

    /// Of the leg whose ankle is here: knee flexion, lean of the line from hip to ankle (foot in front positive),
    /// radians, and the ankle's place across, metres.
    fn flexion_lean_track(&self, percent: f64, ankle: DVec3) -> DVec3 {
        let down = ankle - self.hip(percent);
        let (a, b) = (self.leg.knee.length(), self.leg.ankle.length());
        let cos = (down.y * down.y + down.z * down.z - a * a - b * b) / (2.0 * a * b);
        DVec3::new(libm::acos(cos.clamp(-1.0, 1.0)), libm::atan2(down.z, -down.y), ankle.x)
    }

    /// The other way round.
    fn ankle_of(&self, percent: f64, flexion_lean_track: DVec3) -> DVec3 {
        let (a, b) = (self.leg.knee.length(), self.leg.ankle.length());
        let [flexion, lean, track] = flexion_lean_track.to_array();
        let length = libm::sqrt(a * a + b * b + 2.0 * a * b * libm::cos(flexion));
        let ankle = self.hip(percent) + DVec3::new(0.0, -libm::cos(lean), libm::sin(lean)) * length;
        DVec3::new(track, ankle.y, ankle.z)
    }

    /// The left ankle in the world, 0 to 100 percent.
    ///
    /// In swing the leg goes from the standing one's knee angle and lean to the published ones and on to those of the
    /// next stance. Differences and their rates are carried over at both ends, so that the leg does not jerk when the
    /// ground takes over; doing this with places instead of angles would jerk the nearly straight knee at heel
    /// strike.
    fn ankle(&self, percent: f64) -> DVec3 {
        if percent <= TOE_OFF {
            return self.standing_ankle(percent);
        }
        let published = |p: f64| {
            let ankle = self.hip(p) + self.published_leg(p);
            let ankle = DVec3::new(HALF_WIDTH, ankle.y, ankle.z);
            self.flexion_lean_track(p, ankle)
        };
        let before = |p: f64| self.flexion_lean_track(p, self.standing_ankle(p)) - published(p);
        let step = DVec3::new(0.0, 0.0, self.stride);
        let after = |p: f64| self.flexion_lean_track(p, self.standing_ankle(p - 100.0) + step) - published(p);
        let leg = published(percent) + fade(before, TOE_OFF, LIFT_OFF, percent) + fade(after, 100.0, LANDING, percent);
        let t = (percent - TOE_OFF) / (100.0 - TOE_OFF);
        let arch = 4.0 * t * (1.0 - t);
        let bump = arch * arch * arch;
        self.ankle_of(percent, leg) + DVec3::new(0.0, self.lift * bump, 0.0)
    }

    fn foot_at(&self, percent: f64) -> Foot {
        Foot {
            ankle: self.ankle(percent),
            pitch: self.foot.at(percent),
            toe_pitch: self.toes.at(percent),
        }
    }

    /// Lifts the swing foot until it clears the ground.
    fn lift_swing(&mut self) -> Result<(), Box<dyn Error>> {
        let low = |walk: &Walk| {
            (0..SAMPLES)
                .map(|i| 100.0 * i as f64 / SAMPLES as f64)
                // close to its footholds the foot has to be low
                .filter(|p| (TOE_OFF + 9.0..91.0).contains(p))
                .any(|p| walk.foot_at(p).lowest(&walk.leg) < CLEARANCE)
        };
        while low(self) {
            self.lift += 1e-4;
            if self.lift > MOST_CHANGE {
                return Err("the swing foot drags: bend the knee more or lift the toes in the tables".into());
            }
        }
        Ok(())
    }

    // -- poses

    /// Rotations of hip, knee and ankle of the left leg and of its toes, parents' frames.
    ///
    /// The knee bends in the plane through hip and ankle that is closest to the one turned outward by [`KNEE_OUT`].
    fn leg_rotations(&self, percent: f64) -> [DQuat; 4] {
        let pelvis = self.pelvis_rotation(percent);
        let foot = self.foot_at(percent);
        let down = foot.ankle - self.hip(percent);
        let (a, b, c) = (self.leg.knee.length(), self.leg.ankle.length(), down.length());
        let angle = |opposite: f64, x: f64, y: f64| {
            libm::acos(((x * x + y * y - opposite * opposite) / (2.0 * x * y)).clamp(-1.0, 1.0))
        };
        let axis = about(Axis::Y, KNEE_OUT) * DVec3::X;
        let right = axis.reject_from(down).normalize();
        let up = -down.normalize();
        let straight = DQuat::from_mat3(&DMat3::from_cols(right, up, right.cross(up)));
        let bend = std::f64::consts::PI - angle(c, a, b);
        // the thigh leans forward of the line to the ankle, by the triangle's angle at the hip
        let thigh = straight * Axis::X.rotation(-angle(b, a, c));
        let shin = thigh * Axis::X.rotation(bend);
        let foot_rotation = about(Axis::Y, TOE_OUT) * about(Axis::X, foot.pitch);
        [
            pelvis.conjugate() * thigh,
            Axis::X.rotation(bend),
            shin.conjugate() * foot_rotation,
            about(Axis::X, foot.toe_pitch - foot.pitch),
        ]
    }

    /// The pose at `percent` after the left heel strike.
    fn pose(&self, skeleton: &Skeleton, percent: f64) -> Pose {
        let mut pose = skeleton.bind_pose();
        let mut set = |name: &str, q: DQuat| {
            if let Some(j) = skeleton.joint(name) {
                pose.rotations[j] = q.normalize();
            }
        };
        let pelvis = self.pelvis_rotation(percent);
        set("pelvis", pelvis);

        // the spine's two joints share what takes the pelvis to the thorax
        let thorax = about(Axis::Y, THORAX_TURN * wave(percent, 1.0))
            * about(Axis::X, THORAX_LEAN + THORAX_NOD * wave(percent, 2.0));
        let spine = pelvis.conjugate() * thorax;
        let half = slerp(DQuat::IDENTITY, spine, 0.5);
        set("abdomen", half);
        set("thorax", half.conjugate() * spine);
        set("head", thorax.conjugate());

        for (side, leg_percent) in [("left", percent), ("right", percent + 50.0)] {
            let mirrored = |q: DQuat| if side == "left" { q } else { mirror(q) };
            let p = leg_percent.rem_euclid(100.0);
            // the right leg is the left one of half a cycle later, in a pelvis that is mirrored, too
            let [hip, knee, ankle, toes] = self.leg_rotations(p);
            set(&format!("{side}_thigh"), mirrored(hip));
            set(&format!("{side}_shin"), mirrored(knee));
            set(&format!("{side}_foot"), mirrored(ankle));
            set(&format!("{side}_toes"), mirrored(toes));
            // flexion is negative about +X; the arm is back when the leg is in front
            let flexion = SHOULDER[0] - SHOULDER[1] * wave(p, 1.0);
            let elbow = ELBOW[0] - ELBOW[1] * wave(p - ELBOW_LAG, 1.0);
            let hang = about(Axis::X, -flexion) * about(Axis::Z, ARM_ABDUCTION - 90.0);
            set(&format!("{side}_upper_arm"), mirrored(hang));
            set(&format!("{side}_forearm"), mirrored(about(Axis::Y, -elbow)));
        }
        pose.translations[0] = self.pelvis_position(percent);
        pose
    }
}

/// Reflection of a rotation in the plane x = 0.
fn mirror(q: DQuat) -> DQuat {
    DQuat::from_xyzw(q.x, -q.y, -q.z, q.w)
}

/// A cubic with the value and slope of `f` at `from`, and none of either at `to` and beyond.
fn fade(f: impl Fn(f64) -> DVec3, from: f64, to: f64, percent: f64) -> DVec3 {
    const H: f64 = 0.1;
    let t = (percent - from) / (to - from);
    if t >= 1.0 {
        return DVec3::ZERO;
    }
    let slope = (f(from + H) - f(from - H)) / (2.0 * H) * (to - from);
    (f(from) * (1.0 + 2.0 * t) + slope * t) * (1.0 - t) * (1.0 - t)
}

/// Prints what came of the tables.
fn report(walk: &Walk) {
    let seconds = FRAMES as f64 * FRAME_TIME;
    let stride = walk.stride;
    println!(
        "cycle {seconds:.3} s, {:.1} steps/min, stride {stride:.3} m, speed {:.3} m/s,\n\
         pelvis lowered by {:.1} mm, swing lifted by {:.1} mm",
        120.0 / seconds,
        stride / seconds,
        walk.lowered * 1e3,
        walk.lift * 1e3
    );
    println!("    %   thigh  published   knee  published  ankle  published  (flexion, dorsiflexion)");
    let [mut thigh_sum, mut knee_sum, mut ankle_sum] = [0.0; 3];
    for i in 0..100 {
        let p = i as f64;
        let [hip, knee, _, _] = walk.leg_rotations(p);
        let thigh = walk.pelvis_rotation(p) * hip * DVec3::NEG_Y;
        let thigh = libm::atan2(thigh.z, -thigh.y).to_degrees();
        let bend = angle_between(knee, DQuat::IDENTITY).to_degrees();
        let pitch = walk.foot.at(p);
        let ankle = bend - thigh - pitch;
        let (thigh_0, knee_0) = (walk.thigh.at(p), walk.knee.at(p));
        let ankle_0 = knee_0 - thigh_0 - pitch;
        thigh_sum += (thigh - thigh_0).powi(2) / 100.0;
        knee_sum += (bend - knee_0).powi(2) / 100.0;
        ankle_sum += (ankle - ankle_0).powi(2) / 100.0;
        if i % 5 == 0 {
            println!(
                "{i:5} {thigh:7.1} {thigh_0:10.1} {bend:6.1} {knee_0:10.1} {ankle:6.1} {ankle_0:10.1}   \
                 foot {pitch:6.1}, lowest point {:.4} m",
                walk.foot_at(p).lowest(&walk.leg)
            );
        }
    }
    println!(
        "rms change of the published angles: thigh {:.1}, knee {:.1}, ankle {:.1} degrees",
        thigh_sum.sqrt(),
        knee_sum.sqrt(),
        ankle_sum.sqrt()
    );
    let h = |p| walk.pelvis_position(p);
    let (low, high) = (0..100).fold((f64::INFINITY, 0.0f64), |(l, u), i| {
        (l.min(h(i as f64).y), u.max(h(i as f64).y))
    });
    println!("pelvis height {low:.4} to {high:.4} m");
}

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let character = Character::load(&root.join("data/characters/humanoid.toml"))?;
    let walk = Walk::new(Leg::new(&character)?)?;
    let skeleton = character.skeleton();

    // one frame more than a cycle has: a looped clip ends where it begins, a cycle later
    let percent = |frame: usize| 100.0 * (frame + START) as f64 / FRAMES as f64;
    let start = walk.pelvis_position(percent(0));
    let frames = (0..=FRAMES)
        .map(|frame| {
            let mut pose = walk.pose(&skeleton, percent(frame));
            pose.translations[0].z -= start.z;
            pose
        })
        .collect();
    let clip = Clip::from_frames("walk", skeleton, FRAME_TIME, frames, true)?;
    let out = std::env::args_os()
        .nth(1)
        .map_or(root.join("data/clips/walk.bvh"), PathBuf::from);
    bvh::write(&clip, &out)?;
    report(&walk);
    println!("{}", out.display());
    Ok(())
}
