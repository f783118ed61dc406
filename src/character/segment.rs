//! Which part of the body a joint's name means: `LeftUpLeg`, `lHip`, `mixamorig:RightToeBase`, `rfemur`.

use crate::skeleton::Skeleton;

/// Side of the body; left is +X.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// Part of the body that moves with a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Pelvis,
    Trunk,
    Neck,
    Head,
    Clavicle,
    UpperArm,
    Forearm,
    Hand,
    Finger,
    Thigh,
    Shank,
    Foot,
    Toes,
    /// The tip of a chain that was given a joint: `HeadTop_End`.
    End,
    Unknown,
}

/// Side and segment of every joint.
pub(crate) fn recognise(skeleton: &Skeleton) -> Vec<(Option<Side>, Segment)> {
    let mut found: Vec<(Option<Side>, Segment)> = skeleton.joints.iter().map(|j| by_name(&j.name)).collect();
    let leaf = |j: usize| !skeleton.joints.iter().any(|k| k.parent == Some(j));
    for j in 0..found.len() {
        if j == 0 {
            found[0] = (None, Segment::Pelvis);
        } else if found[j].1 == Segment::End && !leaf(j) {
            found[j].1 = Segment::Unknown;
        }
    }
    // of two in a row that could be the upper arm (or the thigh) the first belongs to the trunk: LeftShoulder, LeftArm
    for j in (1..found.len()).rev() {
        let Some(p) = skeleton.joints[j].parent.filter(|p| *p > 0) else {
            continue;
        };
        if found[p] == found[j] && found[j].0.is_some() {
            match found[j].1 {
                Segment::UpperArm => found[p].1 = Segment::Clavicle,
                Segment::Thigh => found[p].1 = Segment::Unknown,
                _ => {}
            }
        }
    }
    found
}

/// Words of a name in lower case: split at capitals, digits and punctuation.
fn words(name: &str) -> Vec<String> {
    let name = name.rsplit(':').next().unwrap_or(name);
    let chars: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    for (i, c) in chars.iter().enumerate() {
        if !c.is_alphabetic() {
            open = false;
            continue;
        }
        let after_lower = i > 0 && chars[i - 1].is_lowercase();
        let before_lower = chars.get(i + 1).is_some_and(|n| n.is_lowercase());
        if c.is_uppercase() && (after_lower || before_lower) {
            open = false;
        }
        if !open {
            words.push(String::new());
            open = true;
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// The same joint's name on the other side, if the name says a side.
pub(crate) fn side_of(name: &str) -> Option<Side> {
    let words = words(name);
    for word in &words {
        match word.as_str() {
            "left" | "l" | "lft" => return Some(Side::Left),
            "right" | "r" | "rgt" => return Some(Side::Right),
            _ => {}
        }
    }
    // lfemur, rhumerus
    let first = words.first()?;
    let (side, rest) = match (first.strip_prefix('l'), first.strip_prefix('r')) {
        (Some(rest), _) => (Side::Left, rest),
        (_, Some(rest)) => (Side::Right, rest),
        _ => return None,
    };
    const PARTS: [&str; 17] = [
        "femur", "tibia", "foot", "toe", "hip", "thigh", "knee", "ankle", "shoulder", "clavicle", "collar", "humerus",
        "radius", "elbow", "wrist", "hand", "thumb",
    ];
    PARTS.iter().any(|part| rest.starts_with(part)).then_some(side)
}

/// What is left of a name without its side, to find the partner on the other one.
pub(crate) fn without_side(name: &str) -> String {
    let mut words = words(name);
    words.retain(|w| !matches!(w.as_str(), "left" | "l" | "lft" | "right" | "r" | "rgt"));
    let mut joined = words.join("_");
    joined.extend(name.chars().filter(char::is_ascii_digit));
    joined
}

fn by_name(name: &str) -> (Option<Side>, Segment) {
    let words = words(name);
    let all = words.concat();
    let has = |parts: &[&str]| parts.iter().any(|p| all.contains(p));
    let side = side_of(name);
    let sided = side.is_some();
    let segment = if words
        .last()
        .is_some_and(|w| matches!(w.as_str(), "end" | "nub" | "site" | "tip"))
    {
        Segment::End
    } else if sided && has(&["thumb", "index", "middle", "ring", "pinky", "pinkie", "finger"]) {
        Segment::Finger
    } else if sided && has(&["toe"]) {
        Segment::Toes
    } else if sided && has(&["ankle", "foot"]) {
        Segment::Foot
    } else if sided && has(&["upleg", "upperleg", "thigh", "hip", "femur"]) {
        Segment::Thigh
    } else if sided && has(&["knee", "shin", "calf", "leg", "tibia"]) {
        Segment::Shank
    } else if sided && has(&["clavicle", "collar"]) {
        Segment::Clavicle
    } else if sided && has(&["forearm", "lowerarm", "lowarm", "elbow", "radius"]) {
        Segment::Forearm
    } else if sided && has(&["wrist", "hand"]) {
        Segment::Hand
    } else if sided && has(&["arm", "humerus", "shoulder"]) {
        Segment::UpperArm
    } else if !sided && has(&["head"]) {
        Segment::Head
    } else if !sided && has(&["neck"]) {
        Segment::Neck
    } else if !sided && has(&["spine", "back", "torso", "chest", "abdomen", "thorax", "trunk", "belly"]) {
        Segment::Trunk
    } else if !sided && has(&["pelvis", "hips"]) {
        Segment::Pelvis
    } else {
        Segment::Unknown
    };
    (side, segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_common_skeletons_are_understood() {
        // mixamo, the GAMES-105 course, CMU, LaFAN: one meaning whatever the spelling
        use Segment::*;
        use Side::*;
        for (name, side, segment) in [
            ("mixamorig:LeftUpLeg", Some(Left), Thigh),
            ("lHip", Some(Left), Thigh),
            ("rfemur", Some(Right), Thigh),
            ("RightLeg", Some(Right), Shank),
            ("rKnee", Some(Right), Shank),
            ("mixamorig:RightToeBase", Some(Right), Toes),
            ("lToeJoint", Some(Left), Toes),
            ("mixamorig:LeftToe_End", Some(Left), End),
            ("lTorso_Clavicle", Some(Left), Clavicle),
            ("LeftForeArm", Some(Left), Forearm),
            ("L_Wrist", Some(Left), Hand),
            ("mixamorig:RightHandThumb2", Some(Right), Finger),
            ("pelvis_lowerback", None, Trunk),
            ("torso_head", None, Head),
            ("Spine2", None, Trunk),
            ("RootJoint", None, Unknown),
            ("LowerBack", None, Trunk),
        ] {
            assert_eq!(by_name(name), (side, segment), "{name}");
        }
        assert_eq!(without_side("LeftUpLeg"), without_side("RightUpLeg"));
        assert_ne!(without_side("LeftHandThumb1"), without_side("RightHandThumb2"));
    }
}
