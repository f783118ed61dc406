//! Text to clip.

use std::collections::BTreeMap;

use glam::{DQuat, DVec3};

use super::{BvhError, ImportOptions, Imported, UpAxis};
use crate::clip::Clip;
use crate::math::euler::{Axes, Axis, EulerOrder};
use crate::skeleton::{Joint, Pose, Skeleton};

/// Joints times frames read at most (56 bytes each): an hour of 60 Hz of 300 joints.
const MAX_JOINT_FRAMES: usize = 1 << 26;

/// Hip heights in metres that pass for a human's.
const HIP_HEIGHT: std::ops::RangeInclusive<f64> = 0.3..=2.5;

/// Typical hip height, metres, that a suggested scale aims at.
const TYPICAL_HIP_HEIGHT: f64 = 0.95;

/// Units that motion files come in, metres: centimetre, inch, millimetre, foot, decimetre, and the CMU library's
/// (inch / 0.45).
const UNITS: [f64; 6] = [0.01, 0.0254, 0.001, 0.3048, 0.1, 0.0254 / 0.45];

#[derive(Clone, Copy, PartialEq)]
enum Channel {
    Position(Axis),
    Rotation(Axis),
}

/// A joint as the file has it, and the channels that move it.
struct Node {
    joint: Joint,
    channels: Vec<Channel>,
}

/// Reads the text of a BVH file. `source_name` is what errors call it, and the clip's name.
pub fn parse(text: &str, source_name: &str, options: &ImportOptions) -> Result<Imported, BvhError> {
    if !(options.scale.is_finite() && options.scale > 0.0) {
        return Err(BvhError::Scale { scale: options.scale });
    }
    let mut reader = Reader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        line: 1,
        file: source_name,
    };
    let mut warnings = Vec::new();
    let nodes = read_hierarchy(&mut reader, &mut warnings)?;
    let (frame_time, frames) = read_motion(&mut reader, &nodes, options, &mut warnings)?;

    let orders = nodes.iter().map(|n| euler_order(&n.channels)).collect();
    let joints = nodes
        .into_iter()
        .map(|Node { mut joint, .. }| {
            joint.offset = convert(joint.offset * options.scale, options.up);
            for end in &mut joint.end_sites {
                *end = convert(*end * options.scale, options.up);
            }
            joint
        })
        .collect();
    let clip = Clip::from_frames(source_name, Skeleton { joints }, frame_time, frames, false).map_err(|source| {
        BvhError::Clip {
            file: source_name.to_owned(),
            source,
        }
    })?;
    warnings.extend(hip_height_warning(&clip, source_name, options));
    Ok(Imported { clip, warnings, orders })
}

/// From the file's axes to Y up.
fn convert(v: DVec3, up: UpAxis) -> DVec3 {
    match up {
        UpAxis::Y => v,
        UpAxis::Z => DVec3::new(v.x, v.z, -v.y),
    }
}

fn convert_rotation(q: DQuat, up: UpAxis) -> DQuat {
    // a change of basis by a rotation turns the vector part
    let v = convert(DVec3::new(q.x, q.y, q.z), up);
    DQuat::from_xyzw(v.x, v.y, v.z, q.w)
}

fn euler_order(channels: &[Channel]) -> Option<EulerOrder> {
    let axes: Vec<Axis> = channels
        .iter()
        .filter_map(|c| match c {
            Channel::Rotation(axis) => Some(*axis),
            Channel::Position(_) => None,
        })
        .collect();
    EulerOrder::new(axes.try_into().ok()?, Axes::Intrinsic)
}

/// The text that is left, and where it is.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
    file: &'a str,
}

impl<'a> Reader<'a> {
    fn error(&self, expected: impl Into<String>, found: &str) -> BvhError {
        BvhError::Syntax {
            file: self.file.to_owned(),
            line: self.line,
            expected: expected.into(),
            found: if found.is_empty() && self.rest.trim().is_empty() {
                "the end of the file".to_owned()
            } else {
                quote(found)
            },
        }
    }

    /// Takes `bytes` off the front and counts the lines in them.
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += count_line_ends(taken);
        // a CR LF that was cut in two is one line end: count it with its LF
        if taken.ends_with('\r') && rest.starts_with('\n') {
            self.line -= 1;
        }
        self.rest = rest;
        taken
    }

    fn skip_whitespace(&mut self) {
        let bytes = self.rest.len() - self.rest.trim_start().len();
        self.advance(bytes);
    }

    /// The next word; a brace is a word of its own. Empty at the end of the file.
    fn word(&mut self) -> &'a str {
        self.skip_whitespace();
        let end = match self.rest.chars().next() {
            Some('{' | '}') => 1,
            _ => self
                .rest
                .find(|c: char| c.is_whitespace() || c == '{' || c == '}')
                .unwrap_or(self.rest.len()),
        };
        self.advance(end)
    }

    /// What stands between here and the end of the line or an opening brace, trimmed.
    fn name(&mut self) -> &'a str {
        let end = self.rest.find(['\n', '\r', '{']).unwrap_or(self.rest.len());
        self.advance(end).trim()
    }

    /// The next line that is not blank, trimmed; `None` at the end of the file. The reader stays on it until the next
    /// call, so that errors name it.
    fn next_line(&mut self) -> Option<&'a str> {
        self.skip_whitespace();
        let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
        let line = self.advance(end).trim();
        (!line.is_empty()).then_some(line)
    }

    fn brace(&mut self, brace: &str, after: &str) -> Result<(), BvhError> {
        let word = self.word();
        if word == brace {
            Ok(())
        } else {
            Err(self.error(format!("`{brace}` after {after}"), word))
        }
    }

    fn number(&self, text: &str, expected: &str) -> Result<f64, BvhError> {
        let value: f64 = text.parse().map_err(|_| self.error(expected, text))?;
        if !value.is_finite() {
            return Err(BvhError::NotFinite {
                file: self.file.to_owned(),
                line: self.line,
                text: text.to_owned(),
                expected: expected.to_owned(),
            });
        }
        Ok(value)
    }

    fn offset(&mut self, of: &str) -> Result<DVec3, BvhError> {
        let mut v = [0.0; 3];
        for x in &mut v {
            let word = self.word();
            *x = self.number(word, &format!("three numbers after OFFSET of {of}"))?;
        }
        Ok(DVec3::from_array(v))
    }
}

fn count_line_ends(text: &str) -> usize {
    let bytes = text.as_bytes();
    (0..bytes.len())
        .filter(|&i| bytes[i] == b'\n' || (bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n')))
        .count()
}

/// `text` for an error message, shortened.
fn quote(text: &str) -> String {
    if text.is_empty() {
        return "nothing".to_owned();
    }
    // control characters of a binary file must not reach a terminal
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut short: String = text.chars().take(40).map(shown).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

fn read_hierarchy(reader: &mut Reader, warnings: &mut Vec<String>) -> Result<Vec<Node>, BvhError> {
    let word = reader.word();
    if !word.eq_ignore_ascii_case("HIERARCHY") {
        return Err(reader.error("HIERARCHY at the beginning of a BVH file", word));
    }
    let mut nodes: Vec<Node> = Vec::new();
    let mut names = BTreeMap::new();
    loop {
        let word = reader.word();
        match word.to_ascii_uppercase().as_str() {
            "ROOT" => {
                let line = reader.line;
                let name = reader.name();
                if let Some(first) = nodes.first() {
                    return Err(BvhError::SeveralRoots {
                        file: reader.file.to_owned(),
                        line,
                        first: first.joint.name.clone(),
                        second: name.to_owned(),
                    });
                }
                read_tree(reader, name, &mut nodes, &mut names, warnings)?;
            }
            "MOTION" if !nodes.is_empty() => return Ok(nodes),
            _ => {
                let expected = if nodes.is_empty() { "ROOT" } else { "MOTION" };
                return Err(reader.error(expected, word));
            }
        }
    }
}

/// Reads the root's block and all below it, without recursion: files may nest as deep as they like.
fn read_tree(
    reader: &mut Reader,
    root: &str,
    nodes: &mut Vec<Node>,
    names: &mut BTreeMap<String, usize>,
    warnings: &mut Vec<String>,
) -> Result<(), BvhError> {
    struct Open {
        index: usize,
        line: usize,
        has_offset: bool,
        has_channels: bool,
    }
    let mut open: Vec<Open> = Vec::new();
    open_joint(reader, root, None, nodes, names, warnings)?;
    open.push(Open {
        index: 0,
        line: reader.line,
        has_offset: false,
        has_channels: false,
    });
    while let Some(top) = open.last_mut() {
        let index = top.index;
        let joint = format!("joint `{}`", nodes[index].joint.name);
        let word = reader.word();
        match word.to_ascii_uppercase().as_str() {
            "OFFSET" if !top.has_offset => {
                nodes[index].joint.offset = reader.offset(&joint)?;
                top.has_offset = true;
            }
            "CHANNELS" if !top.has_channels => {
                nodes[index].channels = read_channels(reader, &joint)?;
                top.has_channels = true;
            }
            "JOINT" => {
                let name = reader.name();
                let child = open_joint(reader, name, Some(index), nodes, names, warnings)?;
                open.push(Open {
                    index: child,
                    line: reader.line,
                    has_offset: false,
                    has_channels: false,
                });
            }
            "END" | "ENDSITE" | "END_SITE" => {
                let name = reader.name();
                if word.len() == 3 && !name.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("SITE")) {
                    let found = if name.is_empty() { reader.word() } else { name };
                    return Err(reader.error("`Site` after `End`", found));
                }
                if let Some(end) = read_end_site(reader, &joint)? {
                    nodes[index].joint.end_sites.push(end);
                }
            }
            "}" => {
                if !top.has_offset {
                    return Err(reader.error(format!("OFFSET in {joint}"), word));
                }
                if !top.has_channels {
                    warnings.push(format!(
                        "{}:{}: {joint} has no CHANNELS line; it is taken as fixed to its parent",
                        reader.file, top.line
                    ));
                }
                open.pop();
            }
            _ => {
                let expected = format!("OFFSET, CHANNELS (each once), JOINT, End Site or `}}` in {joint}");
                return Err(reader.error(expected, word));
            }
        }
    }
    Ok(())
}

fn open_joint(
    reader: &mut Reader,
    name: &str,
    parent: Option<usize>,
    nodes: &mut Vec<Node>,
    names: &mut BTreeMap<String, usize>,
    warnings: &mut Vec<String>,
) -> Result<usize, BvhError> {
    let keyword = if parent.is_some() { "JOINT" } else { "ROOT" };
    if name.is_empty() {
        let word = reader.word();
        return Err(reader.error(format!("a name after {keyword}, on the same line"), word));
    }
    let line = reader.line;
    reader.brace("{", &format!("`{keyword} {name}`"))?;
    let mut unique = name.to_owned();
    // the number of the last one of this name: counting from 2 again would take quadratic time
    let mut number = names.get(name).copied().unwrap_or(1);
    while names.contains_key(&unique) {
        number += 1;
        unique = format!("{name}_{number}");
    }
    names.insert(unique.clone(), 1);
    names.insert(name.to_owned(), number);
    if unique != name {
        warnings.push(format!(
            "{}:{line}: a second joint is called `{name}`; it is renamed `{unique}`",
            reader.file
        ));
    }
    nodes.push(Node {
        joint: Joint {
            name: unique,
            parent,
            offset: DVec3::ZERO,
            rest: DQuat::IDENTITY,
            end_sites: Vec::new(),
        },
        channels: Vec::new(),
    });
    Ok(nodes.len() - 1)
}

/// `None` if the End Site is at the joint itself: then it says nothing.
fn read_end_site(reader: &mut Reader, joint: &str) -> Result<Option<DVec3>, BvhError> {
    reader.brace("{", "`End Site`")?;
    let mut end = None;
    loop {
        let word = reader.word();
        match word.to_ascii_uppercase().as_str() {
            "OFFSET" if end.is_none() => end = Some(reader.offset(&format!("the End Site of {joint}"))?),
            "CHANNELS" => {
                let channels = read_channels(reader, &format!("the End Site of {joint}"))?;
                if !channels.is_empty() {
                    return Err(reader.error("no channels in an End Site", "channels; make it a JOINT"));
                }
            }
            "}" => match end {
                Some(end) => return Ok((end != DVec3::ZERO).then_some(end)),
                None => return Err(reader.error(format!("OFFSET in the End Site of {joint}"), word)),
            },
            _ => return Err(reader.error(format!("OFFSET or `}}` in the End Site of {joint}"), word)),
        }
    }
}

fn read_channels(reader: &mut Reader, of: &str) -> Result<Vec<Channel>, BvhError> {
    let word = reader.word();
    let count = word
        .parse::<usize>()
        .ok()
        .filter(|&n| n <= 6)
        .ok_or_else(|| reader.error(format!("the number of channels (0 to 6) of {of}"), word))?;
    let mut channels = Vec::with_capacity(count);
    for i in 0..count {
        let word = reader.word();
        let expected = || {
            format!(
                "channel {} of {count} of {of}: Xposition, Yposition, Zposition, Xrotation, Yrotation or Zrotation",
                i + 1
            )
        };
        let channel = match word.to_ascii_lowercase().as_str() {
            "xposition" => Channel::Position(Axis::X),
            "yposition" => Channel::Position(Axis::Y),
            "zposition" => Channel::Position(Axis::Z),
            "xrotation" => Channel::Rotation(Axis::X),
            "yrotation" => Channel::Rotation(Axis::Y),
            "zrotation" => Channel::Rotation(Axis::Z),
            _ => return Err(reader.error(expected(), word)),
        };
        // a second position would silently win over the first; a second rotation is a proper Euler sequence
        if matches!(channel, Channel::Position(_)) && channels.contains(&channel) {
            return Err(reader.error(format!("each position channel of {of} once"), word));
        }
        channels.push(channel);
    }
    Ok(channels)
}

/// The value of a line `key: value`, the colon and spaces about it being optional.
fn header_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut words = key.split(' ');
    let mut rest = line;
    for word in words.by_ref() {
        let head = rest.get(..word.len())?;
        if !head.eq_ignore_ascii_case(word) {
            return None;
        }
        rest = rest[word.len()..].trim_start();
    }
    Some(rest.strip_prefix(':').unwrap_or(rest).trim())
}

fn read_motion(
    reader: &mut Reader,
    nodes: &[Node],
    options: &ImportOptions,
    warnings: &mut Vec<String>,
) -> Result<(f64, Vec<Pose>), BvhError> {
    let width: usize = nodes.iter().map(|n| n.channels.len()).sum();
    if width == 0 {
        return Err(reader.error("at least one channel in the hierarchy", "none: nothing could move"));
    }
    let (mut promised, mut frame_time) = (None, None);
    while promised.is_none() || frame_time.is_none() {
        let line = reader.next_line().unwrap_or("");
        // `Frame Time` first: `Frames` does not begin it, but a reader of prefixes should not depend on that
        if let Some(value) = header_value(line, "Frame Time").filter(|_| frame_time.is_none()) {
            let expected = "the seconds of a frame after `Frame Time:`, above 0";
            let seconds = reader.number(value, expected)?;
            if seconds <= 0.0 {
                return Err(reader.error(expected, value));
            }
            if !(1e-4..=1.0).contains(&seconds) {
                warnings.push(format!(
                    "{}:{}: a frame time of {seconds} s is unusual; `Frame Time:` is in seconds per frame (0.0333333 for 30 Hz)",
                    reader.file, reader.line
                ));
            }
            frame_time = Some(seconds);
        } else if let Some(value) = header_value(line, "Frames").filter(|_| promised.is_none()) {
            let count = value
                .parse::<u64>()
                .map_err(|_| reader.error("the number of frames after `Frames:`", value))?;
            promised = Some((count, reader.line));
        } else {
            return Err(reader.error("`Frames: N` and `Frame Time: SECONDS` after MOTION", line));
        }
    }
    // both are set: the loop above ends only then
    let (frame_time, (promised, promised_line)) = (frame_time.unwrap_or(1.0), promised.unwrap_or((0, 0)));

    let mut frames: Vec<Pose> = Vec::new();
    let mut values = Vec::with_capacity(width);
    let mut last_line = reader.line;
    while let Some(line) = reader.next_line() {
        last_line = reader.line;
        values.clear();
        let mut found = 0;
        for word in line.split_whitespace() {
            found += 1;
            if found <= width {
                values.push(reader.number(word, &format!("a number in frame {}", frames.len() + 1))?);
            }
        }
        if found != width {
            return Err(BvhError::FrameWidth {
                file: reader.file.to_owned(),
                line: reader.line,
                frame: frames.len() + 1,
                found,
                expected: width,
            });
        }
        if (frames.len() + 1) * nodes.len() > MAX_JOINT_FRAMES {
            return Err(BvhError::TooLarge {
                file: reader.file.to_owned(),
                line: reader.line,
                joints: nodes.len(),
                frames: frames.len() + 1,
                limit: MAX_JOINT_FRAMES,
            });
        }
        frames.push(pose(nodes, &values, options));
    }
    if frames.is_empty() && promised == 0 {
        return Err(reader.error("at least one frame of numbers after `Frame Time:`", ""));
    }
    if (frames.len() as u64) < promised {
        return Err(BvhError::MissingFrames {
            file: reader.file.to_owned(),
            line: last_line,
            found: frames.len(),
            expected: promised,
        });
    }
    if frames.len() as u64 > promised {
        warnings.push(format!(
            "{}:{promised_line}: `Frames: {promised}`, but the file has {} frames; all are used",
            reader.file,
            frames.len()
        ));
    }
    Ok((frame_time, frames))
}

fn pose(nodes: &[Node], values: &[f64], options: &ImportOptions) -> Pose {
    let mut values = values.iter();
    let mut pose = Pose {
        translations: Vec::with_capacity(nodes.len()),
        rotations: Vec::with_capacity(nodes.len()),
    };
    for node in nodes {
        let mut x = node.joint.offset;
        let mut q = DQuat::IDENTITY;
        for (channel, &value) in node.channels.iter().zip(&mut values) {
            match channel {
                Channel::Position(axis) => x[*axis as usize] = value,
                Channel::Rotation(axis) => q *= axis.rotation(value.to_radians()),
            }
        }
        pose.translations.push(convert(x * options.scale, options.up));
        pose.rotations.push(convert_rotation(q.normalize(), options.up));
    }
    pose
}

fn hip_height_warning(clip: &Clip, file: &str, options: &ImportOptions) -> Option<String> {
    let root = clip.frames[0].translations[0];
    let height = root.y;
    if HIP_HEIGHT.contains(&height) {
        return None;
    }
    let name = &clip.skeleton.joints[0].name;
    let problem = format!(
        "{file}: the root `{name}` is {height:.4} m high in the first frame; hips are expected 0.3 to 2.5 m high"
    );
    // the other axis, as the file would have it
    let other_height = match options.up {
        UpAxis::Y => root.z,
        UpAxis::Z => -root.z,
    };
    let other_axis = match options.up {
        UpAxis::Y => "Z",
        UpAxis::Z => "Y",
    };
    if height < 0.3 && HIP_HEIGHT.contains(&other_height) {
        return Some(format!(
            "{problem}; `--up {other_axis}` would make it {other_height:.2} m"
        ));
    }
    if height > 0.0 {
        let scale = suggested_scale(height) * options.scale;
        return Some(format!(
            "{problem}; `--scale {}` would make it {:.2} m",
            short(scale),
            height / options.scale * short(scale).parse::<f64>().unwrap_or(scale)
        ));
    }
    Some(format!(
        "{problem}; if another axis is up use `--up {other_axis}`, otherwise raise the motion"
    ))
}

/// The factor that makes a hip height human: the common unit that comes nearest, or else a free one.
fn suggested_scale(height: f64) -> f64 {
    let off = |unit: f64| libm::log(height * unit / TYPICAL_HIP_HEIGHT).abs();
    let best = UNITS
        .into_iter()
        .fold(UNITS[0], |best, unit| if off(unit) < off(best) { unit } else { best });
    if off(best) < libm::log(1.35) {
        best
    } else {
        TYPICAL_HIP_HEIGHT / height
    }
}

/// Three significant digits, without an exponent.
fn short(value: f64) -> String {
    let digits = 2 - libm::floor(libm::log10(value)) as i64;
    let text = format!("{value:.*}", digits.clamp(0, 30) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
