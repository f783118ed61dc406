//! `data/clips/walk.bvh` is a walk of the humanoid, whoever made it: measured on the file alone, through the soles of
//! the character's shapes.

use std::path::Path;

use ambler::character::{Character, Joint, Limit, Shape};
use ambler::clip::Clip;
use ambler::math::rotation::{angle_between, difference};
use ambler::math::swing_twist::twist_angle;
use ambler::motion::bvh;
use ambler::skeleton::{ModelPose, Pose};
use glam::{DQuat, DVec3};

/// Points closer to the ground than this count as touching it, metres. The file's decimals alone are worth 1e-7.
const TOUCH: f64 = 2e-4;

fn load() -> (Character, Clip) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let character = Character::load(&root.join("data/characters/humanoid.toml")).unwrap();
    let imported = bvh::import(&root.join("data/clips/walk.bvh"), &Default::default()).unwrap();
    assert_eq!(imported.warnings, Vec::<String>::new());
    let mut clip = imported.clip;
    clip.looped = true;
    (character, clip)
}

fn model(clip: &Clip, pose: &Pose) -> ModelPose {
    let mut out = ModelPose::default();
    clip.skeleton.model_pose(pose, &mut out);
    out
}

/// Corners of the boxes of a side's foot and toes in the world.
fn sole(character: &Character, clip: &Clip, model: &ModelPose, side: &str) -> Vec<DVec3> {
    let mut points = Vec::new();
    for part in ["foot", "toes"] {
        let name = format!("{side}_{part}");
        let body = &character.bodies[character.body(&name).unwrap()];
        let joint = clip.skeleton.joint(&name).unwrap();
        for collider in &body.colliders {
            let Shape::Box { half_extents } = collider.shape else {
                panic!("{name} is not a box");
            };
            for corner in 0..8 {
                let sign = |bit: i32| if corner & bit == 0 { -1.0 } else { 1.0 };
                let local =
                    collider.position + collider.rotation * (half_extents * DVec3::new(sign(1), sign(2), sign(4)));
                points.push(model.end_site(joint, local));
            }
        }
    }
    points
}

fn lowest(points: &[DVec3]) -> f64 {
    points.iter().fold(f64::INFINITY, |low, p| low.min(p.y))
}

/// Soles of left and right foot in every frame.
fn soles(character: &Character, clip: &Clip) -> Vec<[Vec<DVec3>; 2]> {
    clip.frames
        .iter()
        .map(|pose| {
            let model = model(clip, pose);
            ["left", "right"].map(|side| sole(character, clip, &model, side))
        })
        .collect()
}

fn stride(clip: &Clip) -> DVec3 {
    clip.frames[clip.frames.len() - 1].translations[0] - clip.frames[0].translations[0]
}

fn mirrored(q: DQuat) -> DQuat {
    DQuat::from_xyzw(q.x, -q.y, -q.z, q.w)
}

#[test]
fn the_clip_is_of_the_humanoid() {
    // joints, offsets and tree are the character's bodies, so that the clip tracks without retargeting
    let (character, clip) = load();
    assert_eq!(clip.skeleton.joints.len(), character.bodies.len());
    for (b, body) in character.bodies.iter().enumerate() {
        let joint = &clip.skeleton.joints[clip.skeleton.joint(&body.name).unwrap()];
        let parent = joint.parent.map(|p| clip.skeleton.joints[p].name.as_str());
        assert_eq!(parent, body.parent.map(|p| character.bodies[p].name.as_str()));
        if b > 0 {
            // seven decimals in the file
            assert!((joint.offset - body.offset).length() < 2e-7, "{}", body.name);
        }
        assert!(angle_between(joint.rest, body.rest) < 1e-12);
    }
}

#[test]
fn speed_stride_and_cadence_are_those_of_normal_gait() {
    // 1.1-1.25 m/s in strides of 1.2-1.5 m straight ahead, 105-118 steps a minute; half a cycle is a whole number of
    // frames
    let (_, clip) = load();
    let step = stride(&clip);
    assert!((1.2..1.5).contains(&step.z), "{step}");
    // positions carry seven decimals
    assert!(step.x.abs() < 2e-7 && step.y.abs() < 2e-7, "{step}");
    let speed = step.z / clip.duration();
    assert!((1.1..1.25).contains(&speed), "{speed} m/s");
    let cadence = 120.0 / clip.duration();
    assert!((105.0..118.0).contains(&cadence), "{cadence} steps/min");
    assert_eq!((clip.frames.len() - 1) % 2, 0);
    assert!((clip.frame_time - 1.0 / 120.0).abs() < 1e-9);
}

#[test]
fn halves_of_the_cycle_are_mirror_images() {
    // half a cycle later everything is reflected in the plane x = 0 and half a stride further
    let (_, clip) = load();
    let half = (clip.frames.len() - 1) / 2;
    let skeleton = &clip.skeleton;
    let other = |name: &str| match name.split_once('_') {
        Some(("left", part)) => format!("right_{part}"),
        Some(("right", part)) => format!("left_{part}"),
        _ => name.to_owned(),
    };
    for f in 0..=half {
        let (now, later) = (&clip.frames[f], &clip.frames[f + half]);
        let moved = later.translations[0] - now.translations[0] * DVec3::new(-1.0, 1.0, 1.0);
        assert!((moved - stride(&clip) * 0.5).length() < 1e-6, "frame {f}");
        for (j, joint) in skeleton.joints.iter().enumerate() {
            let k = skeleton.joint(&other(&joint.name)).unwrap();
            // seven decimals of degrees in three angles
            let off = angle_between(mirrored(now.rotations[j]), later.rotations[k]);
            assert!(off < 1e-8, "frame {f}, {}: {off:e} rad", joint.name);
        }
    }
}

#[test]
fn the_loop_closes_in_position_and_velocity() {
    // the last frame is the first one a stride later, and the rates on both sides of the seam differ no more than
    // between neighbouring frames elsewhere
    let (_, clip) = load();
    let last = clip.frames.len() - 1;
    let rates = |f: usize| -> Vec<DVec3> {
        let (a, b) = (&clip.frames[f], &clip.frames[f + 1]);
        let turns = a.rotations.iter().zip(&b.rotations).map(|(a, b)| difference(*b, *a));
        let shift = b.translations[0] - a.translations[0];
        turns.chain([shift]).map(|d| d / clip.frame_time).collect()
    };
    let jump = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((*a - *b).length()));
    for j in 0..clip.skeleton.joints.len() {
        let off = angle_between(clip.frames[0].rotations[j], clip.frames[last].rotations[j]);
        assert!(off < 1e-8, "{off:e}");
    }
    let all: Vec<_> = (0..last).map(rates).collect();
    let inside = all.windows(2).fold(0.0f64, |m, w| m.max(jump(&w[0], &w[1])));
    println!("largest change of a rate within a frame: {inside:.2} rad/s");
    let seam = jump(&all[last - 1], &all[0]);
    assert!(seam <= inside, "{seam} rad/s at the seam, at most {inside} elsewhere");
    // no joint changes its rate by more than 3 rad/s within a frame: there are no jerks
    assert!(inside < 3.0, "{inside} rad/s");
}

#[test]
fn a_hundred_cycles_stay_at_the_same_height() {
    // the looped clip walks on level and straight
    let (_, clip) = load();
    for f in [0, 17, 66, 101] {
        let time = f as f64 * clip.frame_time;
        let (a, b) = (clip.sample(time), clip.sample(time + 100.0 * clip.duration()));
        let moved = b.translations[0] - a.translations[0] - stride(&clip) * 100.0;
        // seven decimals a hundred times
        assert!(moved.y.abs() < 1e-6 && moved.length() < 1e-4, "{moved}");
    }
}

#[test]
fn the_lower_foot_is_on_the_ground_and_none_below_it() {
    // in every frame, and half way between frames, the lowest point of both soles is at height 0; between frames the
    // clip is interpolated, which costs some tenths of a millimetre
    let (character, clip) = load();
    for f in 0..2 * (clip.frames.len() - 1) {
        let pose = clip.sample(0.5 * f as f64 * clip.frame_time);
        let model = model(&clip, &pose);
        let low = ["left", "right"]
            .map(|side| lowest(&sole(&character, &clip, &model, side)))
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        let tolerance = if f % 2 == 0 { 1e-5 } else { 5e-4 };
        assert!(low.abs() < tolerance, "frame {}: lowest at {low} m", 0.5 * f as f64);
    }
}

#[test]
fn standing_feet_do_not_slide() {
    // what touches the ground in two frames running has not moved: the least displacement among the touching points,
    // summed over a stance
    let (character, clip) = load();
    let soles = soles(&character, &clip);
    for side in 0..2 {
        let mut slip = 0.0;
        for pair in soles.windows(2) {
            let [before, after] = [&pair[0][side], &pair[1][side]];
            let touching = before.iter().zip(after).filter(|(a, b)| a.y < TOUCH && b.y < TOUCH);
            let moved = touching.map(|(a, b)| (*b - *a).length()).fold(f64::INFINITY, f64::min);
            slip += if moved.is_finite() { moved } else { 0.0 };
        }
        println!("side {side}: slips by {:.3} mm", slip * 1e3);
        assert!(slip < 1e-3, "side {side}: {slip} m");
    }
}

#[test]
fn feet_support_and_swing_as_in_walking() {
    // each foot is on the ground for 58-65 % of the cycle, in one piece, both together for 16-30 %; in swing, away
    // from its footholds, no point comes closer to the ground than 5 mm
    let (character, clip) = load();
    let soles = soles(&character, &clip);
    let frames = clip.frames.len() - 1;
    let stands = |side: usize, f: usize| lowest(&soles[f % frames][side]) < TOUCH;
    let share = |count: usize| count as f64 / frames as f64;
    for side in [0, 1] {
        let stance = share((0..frames).filter(|&f| stands(side, f)).count());
        assert!((0.58..0.65).contains(&stance), "side {side}: {stance}");
        let lifts: Vec<usize> = (0..frames)
            .filter(|&f| stands(side, f) && !stands(side, f + 1))
            .collect();
        assert_eq!(lifts.len(), 1, "side {side} lifts off in frames {lifts:?}");
        let lift = lifts[0];
        let swing = (1..frames).take_while(|&k| !stands(side, lift + k)).count();
        // the first fifth rises from the toes, the last one sinks to the heel
        for k in swing / 5..=swing - swing / 5 {
            let low = lowest(&soles[(lift + k) % frames][side]);
            assert!(low > 5e-3, "side {side}, {k} of {swing} frames into swing: {low} m");
        }
    }
    let both = share((0..frames).filter(|&f| stands(0, f) && stands(1, f)).count());
    assert!((0.16..0.30).contains(&both), "{both}");
    // the clip begins in double support, the left foot flat in front
    assert!(stands(0, 0) && stands(1, 0));
    let flat = soles[0][0].iter().filter(|p| p.y < TOUCH).count();
    assert_eq!(flat, 8, "corners of the left sole that touch");
    let front = |side: usize| soles[0][side].iter().fold(f64::NEG_INFINITY, |m, p| m.max(p.z));
    assert!(front(0) > front(1) + 0.3);
}

#[test]
fn feet_and_legs_keep_apart() {
    // the soles pass each other without touching, seen from above: a gap of at least 1 cm in x while they overlap in z
    let (character, clip) = load();
    let range = |points: &[DVec3], axis: usize| {
        points.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, u], p| {
            [l.min(p[axis]), u.max(p[axis])]
        })
    };
    for [left, right] in soles(&character, &clip) {
        let ([l0, l1], [r0, r1]) = (range(&left, 2), range(&right, 2));
        if l0 < r1 && r0 < l1 {
            assert!(range(&left, 0)[0] - range(&right, 0)[1] > 0.01);
        }
    }
}

#[test]
fn joints_stay_within_the_characters_limits() {
    // every joint in every frame is at least 2 degrees away from its limits
    let (character, clip) = load();
    let mut nearest = (f64::INFINITY, String::new());
    for pose in &clip.frames {
        for body in &character.bodies {
            let q = pose.rotations[clip.skeleton.joint(&body.name).unwrap()];
            let room = match (&body.limit, body.joint) {
                (Limit::Range([[low, high], _]), Joint::Hinge { axis }) => {
                    let angle = twist_angle(q, axis);
                    // a hinge turns about its axis only
                    assert!(
                        angle_between(q, DQuat::from_axis_angle(axis, angle)) < 1e-8,
                        "{}",
                        body.name
                    );
                    (angle - low).min(high - angle)
                }
                (
                    Limit::SwingTwist {
                        axis,
                        center,
                        swing,
                        twist,
                    },
                    Joint::Ball,
                ) => {
                    let q = center.conjugate() * q;
                    let angle = twist_angle(q, *axis);
                    let cone = swing - (q * *axis).angle_between(*axis);
                    cone.min(angle - twist[0]).min(twist[1] - angle)
                }
                _ => f64::INFINITY,
            };
            if room < nearest.0 {
                nearest = (room, body.name.clone());
            }
        }
    }
    let (room, body) = nearest;
    println!("closest to a limit: {body}, {:.1} degrees", room.to_degrees());
    assert!(room.to_degrees() > 2.0, "{body}: {:.2} degrees left", room.to_degrees());
}
