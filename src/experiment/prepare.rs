//! From a spec to everything a run needs, loaded and checked: characters, controllers, scene, pushes, the world at its start.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use glam::DVec3;

use super::changes::{self, Change};
use super::controls;
use super::error::ExperimentError;
use super::inputs::{self, Inputs};
use super::load::LoadedSpec;
use super::objective;
use super::overrides;
use super::pushes::{self, Push, Pushable};
use super::scenarios;
use super::scene;
use super::spec::*;
use super::validate::Problem;
use crate::character::{Character, Joint};
use crate::clip::Clip;
use crate::control::{
    self, AssistGains, BodyGains, Clock, ControlError, Controller, Gains, Hold, MissingJoints, OffsetCurve,
    OffsetOptions, Offsets, Parameter, ParameterError, Replay, RootTarget, StartState, Track, TrackOptions,
    WithOffsets,
};
use crate::files;
use crate::world::{self, Actuation, CharacterState, Engine, PdMode, Placement, Scene};

/// One of the controllers an experiment can name.
#[derive(Clone, Debug)]
pub enum ActorController {
    Hold(Box<Hold>),
    Track(Box<Track>),
    Replay(Replay),
    /// One of the others with offsets.
    Offset(Box<WithOffsets<ActorController>>),
}

impl ActorController {
    /// The controller without its offsets.
    pub fn base(&self) -> &ActorController {
        match self {
            ActorController::Offset(offset) => offset.base.base(),
            base => base,
        }
    }
}

impl Controller for ActorController {
    fn act(&mut self, state: &CharacterState, clock: Clock, out: &mut Actuation) {
        match self {
            ActorController::Hold(hold) => hold.act(state, clock, out),
            ActorController::Track(track) => track.act(state, clock, out),
            ActorController::Replay(replay) => replay.act(state, clock, out),
            ActorController::Offset(offset) => offset.act(state, clock, out),
        }
    }

    fn root_target(&self, time: f64) -> Option<RootTarget> {
        match self {
            ActorController::Hold(hold) => hold.root_target(time),
            ActorController::Track(track) => track.root_target(time),
            ActorController::Replay(replay) => replay.root_target(time),
            ActorController::Offset(offset) => offset.root_target(time),
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            ActorController::Hold(hold) => hold.parameters(),
            ActorController::Track(track) => track.parameters(),
            ActorController::Replay(replay) => replay.parameters(),
            ActorController::Offset(offset) => offset.parameters(),
        }
    }

    fn set_parameter(&mut self, path: &str, value: f64) -> Result<(), ParameterError> {
        match self {
            ActorController::Hold(hold) => hold.set_parameter(path, value),
            ActorController::Track(track) => track.set_parameter(path, value),
            ActorController::Replay(replay) => replay.set_parameter(path, value),
            ActorController::Offset(offset) => offset.set_parameter(path, value),
        }
    }
}

/// A character with its controller.
#[derive(Clone, Debug)]
pub struct Actor {
    pub name: String,
    pub character: Arc<Character>,
    pub controller: ActorController,
    pub mode: PdMode,
    gains: Gains,
    start: StartState,
}

impl Actor {
    /// Whether it follows a motion.
    pub fn tracks(&self) -> bool {
        matches!(self.controller.base(), ActorController::Track(_))
    }

    /// Where its character starts.
    pub fn start(&self) -> &StartState {
        &self.start
    }

    /// The character with the gains that its controller uses in place of its own.
    pub fn driven_character(&self) -> Character {
        let mut character = (*self.character).clone();
        // the same gains have made a controller already
        if let Ok(actuation) = self.gains.actuation(&self.character) {
            for (body, joint) in character.bodies.iter_mut().zip(&actuation.joints) {
                body.kp = joint.kp.to_array();
                body.kd = joint.kd.to_array();
            }
        }
        character
    }
}

/// An experiment ready to run, as often as one likes.
pub struct Prepared {
    /// As read, with its name.
    pub spec: Spec,
    /// The same with paths into the `inputs` folder of a run folder.
    pub resolved: Spec,
    /// Files to copy there.
    pub inputs: Vec<inputs::InputFile>,
    pub name: String,
    pub actors: Vec<Actor>,
    pub prop_names: Vec<String>,
    pub(crate) pushes: Vec<Push>,
    pub(crate) changes: Vec<Change>,
    /// Folder that the paths of `spec` are relative to, from the root of the file system.
    pub folder: PathBuf,
    /// What looks wrong but can be run.
    pub warnings: Vec<String>,
    /// The world with everything at its start.
    start: Mutex<Box<dyn Engine>>,
    dt: f64,
}

impl Prepared {
    /// Reads every file that the spec names and builds the world.
    pub fn new(loaded: &LoadedSpec) -> Result<Prepared, ExperimentError> {
        let spec = loaded.spec.clone();
        let folder = loaded.folder.as_path();
        let mut warnings = Vec::new();

        let mut scene = Scene {
            gravity: DVec3::from_array(spec.gravity),
            ..Scene::default()
        };
        for (i, terrain) in spec.terrain.iter().enumerate() {
            scene.terrain.push(scene::terrain(terrain, i, folder, spec.seed)?);
        }
        scene.platforms = spec.platforms.iter().map(scene::platform).collect();
        let mut prop_names = Vec::new();
        for (i, prop) in spec.props.iter().enumerate() {
            scene.props.push(scene::prop(prop, i, folder)?);
            let name = scene::prop_name(prop, i);
            if prop_names.contains(&name) {
                return Err(loaded.error(Problem {
                    key: format!("props[{i}].name"),
                    message: format!("two props are called \"{name}\"; give each a `name` of its own"),
                }));
            }
            prop_names.push(name);
        }

        let specs = spec.actors();
        let mut characters = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for (i, actor) in specs.iter().enumerate() {
            let motion = match &actor.motion {
                Some(motion) => {
                    let (clip, more) = inputs::read_run_motion(&folder.join(&motion.file), motion.scale, motion.up)?;
                    warnings.extend(more);
                    Some(clip)
                }
                None => None,
            };
            let character = read_character(actor, motion.as_ref(), folder, &mut warnings)?;
            let name = actor.name.clone().unwrap_or_else(|| character.name.clone());
            if names.contains(&name) {
                return Err(loaded.error(Problem {
                    key: format!("{}.name", spec.actor_key(i)),
                    message: format!("two characters are called \"{name}\"; give each a `name` of its own"),
                }));
            }
            let free = matches!(character.bodies[0].joint, Joint::Free | Joint::Planar);
            if actor.tilt_deg != 0.0 && !matches!(character.bodies[0].joint, Joint::Free) {
                return Err(loaded.error(Problem {
                    key: format!("{}.tilt_deg", spec.actor_key(i)),
                    message: "needs a character with a free root".into(),
                }));
            }
            scene.characters.push(Placement {
                character: character.clone(),
                position: DVec3::from_array(actor.position),
                heading: actor.heading_deg.to_radians(),
            });
            names.push(name);
            characters.push((character, motion, free));
        }
        let (resolved, inputs) = copy_inputs(&spec, folder);
        for file in &inputs {
            inputs::refuse_pipe(&file.original)?;
        }

        let dt = 1.0 / spec.rate_hz;
        let mut engine = world::build(spec.engine.kind(), scene, dt)?;
        warnings.extend(
            engine
                .notes()
                .iter()
                .map(|note| format!("{} engine: {note}", spec.engine.name())),
        );
        let mut actors = Vec::new();
        for (i, ((character, motion, free), actor)) in characters.into_iter().zip(&specs).enumerate() {
            let control_error = |error| ExperimentError::Control {
                character: names[i].clone(),
                error,
            };
            let ground = |x: f64, z: f64, from: f64| ground_below(engine.as_ref(), DVec3::new(x, from, z));
            let replayed = actor.controller.as_ref().and_then(|c| c.file.as_ref());
            let (mut controller, start, gains) = match replayed {
                Some(file) => {
                    let file = folder.join(file);
                    let (replay, recorded) = controls::read_replay(&file, &spec, actor, &character, &mut warnings)?;
                    let gains = Gains {
                        mode: replay.track().mode(),
                        ..Gains::default()
                    };
                    let start = match actor.start {
                        StartSpec::Controller => recorded,
                        StartSpec::Bind => start_at_rest(actor, &character, bind(&character), free, ground),
                    };
                    (ActorController::Replay(replay), start, gains)
                }
                None => {
                    make_controller(&spec, actor, &character, motion.as_ref(), free, ground).map_err(control_error)?
                }
            };
            if let Some(offsets) = actor.controller.as_ref().and_then(|c| c.offsets.as_ref()) {
                let offsets = Offsets::new(&character, offset_options(offsets)).map_err(control_error)?;
                controller = ActorController::Offset(Box::new(WithOffsets::new(controller, offsets)));
            }
            engine.set_character(
                i,
                start.root_position,
                start.root_rotation,
                &start.joints,
                &start.velocities,
            )?;
            actors.push(Actor {
                name: names[i].clone(),
                character,
                controller,
                mode: gains.mode,
                gains,
                start,
            });
        }
        for (i, prop) in spec.props.iter().enumerate() {
            let (v, w) = (
                DVec3::from_array(prop.velocity),
                DVec3::from_array(prop.angular_velocity),
            );
            if v != DVec3::ZERO || w != DVec3::ZERO {
                let root = &engine.scene().props[i].body.bodies[0];
                let (position, rotation, hinged) = (root.offset, root.rest, matches!(root.joint, Joint::Hinge { .. }));
                if hinged {
                    return Err(loaded.error(Problem {
                        key: format!("props[{i}].velocity"),
                        message: "a hinged prop starts at rest".into(),
                    }));
                }
                engine.set_prop(i, position, rotation, v, w)?;
            }
        }
        let pushable = Pushable {
            actors: &actors,
            scene: engine.scene(),
            prop_names: &prop_names,
            rate_hz: spec.rate_hz,
        };
        let pushes = pushes::resolve(&spec, pushable).map_err(|p| loaded.error(p))?;
        let changes = changes::resolve(&spec, &actors).map_err(|p| loaded.error(p))?;
        let prepared = Prepared {
            name: spec.name.clone().unwrap_or_else(|| "experiment".into()),
            spec,
            resolved,
            inputs,
            actors,
            prop_names,
            pushes,
            changes,
            folder: absolute(folder),
            warnings,
            start: Mutex::new(engine),
            dt,
        };
        objective::check(&prepared).map_err(|p| loaded.error(p))?;
        Ok(prepared)
    }

    /// Reads, changes and prepares an experiment file.
    pub fn read(path: &Path, sets: &[String]) -> Result<Prepared, ExperimentError> {
        Prepared::new(&LoadedSpec::read(path, sets)?)
    }

    /// The same experiment with other values of parameters of its controllers (character, path, value), as if its file had had them:
    /// nothing is read and built again. `None` if a controller refuses one.
    pub fn with_parameters<'a>(&self, parameters: impl IntoIterator<Item = (usize, &'a str, f64)>) -> Option<Prepared> {
        let mut actors = self.actors.clone();
        for (actor, path, value) in parameters {
            actors.get_mut(actor)?.controller.set_parameter(path, value).ok()?;
        }
        Some(Prepared {
            spec: self.spec.clone(),
            resolved: self.resolved.clone(),
            inputs: self.inputs.clone(),
            name: self.name.clone(),
            actors,
            prop_names: self.prop_names.clone(),
            pushes: self.pushes.clone(),
            changes: self.changes.clone(),
            folder: self.folder.clone(),
            warnings: self.warnings.clone(),
            start: Mutex::new(self.world()),
            dt: self.dt,
        })
    }

    /// A world in which everything is at its start.
    pub fn world(&self) -> Box<dyn Engine> {
        // a world is only read here, so a panic elsewhere cannot have spoilt it
        self.start.lock().unwrap_or_else(PoisonError::into_inner).boxed_clone()
    }

    /// Seconds per physics step.
    pub fn dt(&self) -> f64 {
        self.dt
    }
}

/// The experiment with paths to copies of its files in a folder `inputs`, and the files to copy there.
pub fn copy_inputs(spec: &Spec, folder: &Path) -> (Spec, Vec<inputs::InputFile>) {
    let mut resolved = spec.clone();
    let mut inputs = Inputs::default();
    for path in resolved.input_paths_mut() {
        inputs.take_path(folder, path);
    }
    for scenario in &mut resolved.scenarios {
        scenarios::take_paths(&mut scenario.set, folder, &mut inputs);
    }
    (resolved, inputs.files)
}

/// `folder` from the root of the file system; as it is where the present folder is not known.
fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_path_buf())
}

/// Height of what is below (or a little above) a point: terrain, platforms and props.
fn ground_below(engine: &dyn Engine, point: DVec3) -> Option<f64> {
    [2.0, 1000.0].iter().find_map(|up| {
        let origin = point + DVec3::Y * *up;
        engine
            .cast_ray(origin, DVec3::NEG_Y, 2000.0)
            .map(|(distance, _)| origin.y - distance)
    })
}

/// A character file with changes.
fn load_changed(path: &Path, set: &toml::Table) -> Result<Character, ExperimentError> {
    if set.is_empty() {
        return Ok(Character::load(path)?);
    }
    let name = path.display().to_string();
    let input = |message: String| ExperimentError::Input {
        what: format!("`set` on {name}"),
        message,
    };
    let mut table: toml::Table = files::parse_toml(&files::read_text(path)?, &name)?;
    overrides::merge(&mut table, set).map_err(input)?;
    let text = toml::to_string(&table).map_err(|e| input(e.to_string()))?;
    // lines of the changed text would mislead
    Character::parse(&text, &name).map_err(|e| {
        let key = e.key.map(|k| format!("`{k}`: ")).unwrap_or_default();
        let meant = e
            .suggestion
            .map(|s| format!("; did you mean `{s}`?"))
            .unwrap_or_default();
        input(format!("{key}{}{meant}", e.message))
    })
}

fn read_character(
    actor: &CharacterSpec,
    motion: Option<&Clip>,
    folder: &Path,
    warnings: &mut Vec<String>,
) -> Result<Arc<Character>, ExperimentError> {
    if let Some(file) = &actor.file {
        return Ok(Arc::new(load_changed(&folder.join(file), &actor.set)?));
    }
    let fit = actor.fit.clone().unwrap_or_default();
    let read;
    let clip = match (&fit.file, motion) {
        (Some(file), _) => {
            let (clip, more) = inputs::read_run_motion(&folder.join(file), fit.scale, fit.up)?;
            warnings.extend(more);
            read = clip;
            &read
        }
        (None, Some(motion)) => motion,
        (None, None) => {
            return Err(ExperimentError::Input {
                what: "fit".into(),
                message: "there is neither a file nor a motion whose skeleton could be fitted".into(),
            });
        }
    };
    Ok(Arc::new(inputs::fit_character(clip, fit.mass_kg)?.0))
}

/// The controller, the start of its character and the gains it uses. `ground(x, z, from)` is the height below or near
/// a point.
fn make_controller(
    spec: &Spec,
    actor: &CharacterSpec,
    character: &Character,
    motion: Option<&Clip>,
    free: bool,
    mut ground: impl FnMut(f64, f64, f64) -> Option<f64>,
) -> Result<(ActorController, StartState, Gains), ControlError> {
    let default = ControllerSpec::hold_bind_pose();
    let controller = actor.controller.as_ref().unwrap_or(&default);
    let position = DVec3::from_array(actor.position);
    let heading = actor.heading_deg.to_radians();
    let gains = Gains {
        kp_scale: controller.kp_scale,
        kd_scale: controller.kd_scale,
        bodies: controller
            .gains
            .iter()
            .map(|(body, g)| BodyGains {
                body: body.clone(),
                kp: g.kp,
                kd: g.kd,
            })
            .collect(),
        mode: match controller.mode {
            ModeSpec::Stable => PdMode::Stable,
            ModeSpec::Explicit => PdMode::Explicit,
        },
    };
    let tracker = |motion: &Clip| {
        let settings = actor.motion.as_ref();
        let mut options = TrackOptions {
            gains: gains.clone(),
            assist: controller.assist.as_ref().map(|a| {
                let default = AssistGains::for_mass(character.mass());
                AssistGains {
                    kp_linear: a.kp_linear.unwrap_or(default.kp_linear),
                    kd_linear: a.kd_linear.unwrap_or(default.kd_linear),
                    kp_angular: a.kp_angular.unwrap_or(default.kp_angular),
                    kd_angular: a.kd_angular.unwrap_or(default.kd_angular),
                }
            }),
            missing: match controller.missing {
                MissingSpec::Error => MissingJoints::Refuse,
                MissingSpec::Hold => MissingJoints::HoldBindPose,
            },
            joint_map: controller.joints.clone().into_iter().collect(),
            looped: motion.looped,
            start: 0.0,
            speed: 1.0,
            align_heading: controller.align_heading,
        };
        if let Some(settings) = settings {
            options.looped = settings.looped.unwrap_or(motion.looped);
            options.start = settings.start_s;
            options.speed = settings.speed;
        }
        Track::new(character, motion, position, heading, &options)
    };
    match (controller.kind, motion) {
        (ControllerKind::Track, Some(motion)) => {
            let mut track = tracker(motion)?;
            if controller.align_ground && free {
                let x = track.start_state(0.0).root_position;
                if let Some(height) = ground(x.x, x.z, x.y.max(position.y)) {
                    track.stand_on(height, controller.sink_share);
                }
            }
            let start = match actor.start {
                StartSpec::Controller => track.start_state(0.0),
                StartSpec::Bind => start_at_rest(actor, character, bind(character), free, ground),
            };
            Ok((ActorController::Track(Box::new(track)), start, gains))
        }
        _ => {
            let pose = match (&controller.pose, &controller.pose_deg, controller.frame_s, motion) {
                (_, Some(angles), _, _) => pose_from(character, angles, "pose_deg")?,
                (Some(name), _, _, _) if name != "bind" => match spec.poses.get(name) {
                    Some(angles) => pose_from(character, angles, &format!("poses.{name}"))?,
                    None => bind(character),
                },
                (_, _, Some(frame), Some(motion)) => tracker(motion)?.pose_in_clip(frame),
                _ => bind(character),
            };
            let start = match actor.start {
                StartSpec::Controller => start_at_rest(actor, character, pose.clone(), free, ground),
                StartSpec::Bind => start_at_rest(actor, character, bind(character), free, ground),
            };
            Ok((
                ActorController::Hold(Box::new(Hold::new(character, &pose, &gains)?)),
                start,
                gains,
            ))
        }
    }
}

fn bind(character: &Character) -> Vec<world::JointPosition> {
    let joints = character.bodies.iter().map(|b| &b.joint);
    joints.map(world::JointPosition::bind).collect()
}

/// In `pose`, where the experiment places the character. `ground` as in [`make_controller`].
fn start_at_rest(
    actor: &CharacterSpec,
    character: &Character,
    pose: Vec<world::JointPosition>,
    free: bool,
    mut ground: impl FnMut(f64, f64, f64) -> Option<f64>,
) -> StartState {
    let position = DVec3::from_array(actor.position);
    let (heading, tilt) = (actor.heading_deg.to_radians(), actor.tilt_deg.to_radians());
    let mut start = StartState::at_rest(character, pose, position, heading, tilt);
    if actor.stand_on_ground && free {
        let mut poses = Vec::new();
        control::body_poses(
            character,
            start.root_position,
            start.root_rotation,
            &start.joints,
            &mut poses,
        );
        let from = start.root_position.y;
        let gap = control::lowest_gap(character, &poses, false, |x, z| ground(x, z, from));
        if let Some(gap) = gap {
            start.root_position.y += position.y - gap;
        }
    }
    start
}

fn offset_options(spec: &OffsetsSpec) -> OffsetOptions {
    let curve = |joint: &str, axis: usize, values: &[f64]| OffsetCurve {
        joint: joint.to_string(),
        axis,
        values: values.to_vec(),
    };
    OffsetOptions {
        knots: spec.knots_s.clone(),
        time_scale: spec.time_scale,
        mirror: spec.mirror,
        curves: (spec.joints.iter())
            .flat_map(|(joint, axes)| axes.written().map(move |(axis, values)| curve(joint, axis, values)))
            .collect(),
    }
}

fn pose_from(
    character: &Character,
    angles: &std::collections::BTreeMap<String, Angles>,
    what: &str,
) -> Result<Vec<world::JointPosition>, ControlError> {
    let angles = angles.iter().map(|(body, a)| (body.as_str(), a.0.as_slice()));
    control::pose_from_angles(character, angles, what)
}
