//! A session on a thread of its own, paced by the clock on the wall.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use glam::DVec3;

use super::{Hand, HandSettings, PushRequest, Sample, Saved, Session, StepOutcome};
use crate::control::Parameter;
use crate::experiment::frame::Frame;
use crate::experiment::prepare::Prepared;
use crate::world::BodyRef;

/// Slowest and fastest pace, times real time; infinity is as fast as possible.
pub const SPEEDS: [f64; 2] = [0.05, 16.0];
/// Time from one picture to the next at least.
const PICTURE: Duration = Duration::from_micros(8333);
/// Physics is computed for so long before commands are looked at again.
const BATCH: Duration = Duration::from_millis(8);
/// Being late by more is not caught up with.
const LARGEST_LAG: f64 = 0.1;
/// Wall time over which the achieved speed is taken.
const SPEED_WINDOW: Duration = Duration::from_millis(1000);
/// Samples per simulated second and seconds that are kept.
const HISTORY_HZ: f64 = 60.0;
const HISTORY_S: f64 = 30.0;

/// What can be asked of a [`Live`] session. What cannot be done is told in [`Status::last_error`].
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Pause,
    /// Go on; past the duration of the experiment if that has been reached.
    Resume,
    /// Pause, and advance by one step, past the duration if need be.
    StepOnce,
    /// Times real time, 0.05 to 16; infinity is as fast as possible.
    Speed(f64),
    /// See [`Session::restart`]. Goes on at once if the end had been reached, stays paused if it was paused otherwise.
    Restart {
        repeat: bool,
    },
    Push(PushRequest),
    /// A body and a point in its frame.
    Grab {
        target: BodyRef,
        point: DVec3,
    },
    /// A point of the world.
    DragTo(DVec3),
    Release,
    SetHand(HandSettings),
    SetParameter {
        path: String,
        value: f64,
    },
    /// See [`Session::save_experiment`].
    SaveExperiment {
        path: PathBuf,
        replace: bool,
    },
    /// See [`Session::save_parameters`].
    SaveParameters {
        path: PathBuf,
        replace: bool,
    },
    Quit,
}

/// How a [`Live`] session begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveOptions {
    /// As in [`Command::Speed`].
    pub speed: f64,
    pub paused: bool,
}

impl Default for LiveOptions {
    fn default() -> Self {
        LiveOptions {
            speed: 1.0,
            paused: false,
        }
    }
}

/// The moment at which the duration of the experiment was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    pub steps: u64,
    /// Seconds.
    pub time: f64,
    /// That of [`run`](crate::experiment::run), if nothing was done by hand and no fall has stopped it.
    pub state_hash: u64,
}

/// How a [`Live`] session is doing.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Status {
    pub paused: bool,
    /// Asked for, times real time; infinity is as fast as possible.
    pub speed: f64,
    /// Of about the last second; 0 while paused. Where physics cannot keep up it is smaller than what was asked for.
    pub achieved_speed: f64,
    /// Seconds.
    pub time: f64,
    pub steps: u64,
    /// Once the duration has been reached, until a restart.
    pub end: Option<End>,
    /// What is held.
    pub hand: Option<Hand>,
    /// Disturbances and changes done by hand.
    pub disturbances: usize,
    pub changes: usize,
    /// Whether some of them have not been saved.
    pub unsaved: bool,
    /// What could not be done last, until something else could not or a restart.
    pub last_error: Option<String>,
    /// Counts errors, so that a second one with the same words is noticed.
    pub errors: u64,
    /// The file that was written last.
    pub last_saved: Option<Saved>,
    /// Commands that have been dealt with.
    pub commands: u64,
}

/// Two moments between which pictures are taken, and when on the wall each of them was due.
struct Pictures {
    earlier: (Arc<Frame>, Instant),
    later: (Arc<Frame>, Instant),
}

struct Shared {
    pictures: Mutex<Pictures>,
    status: Mutex<Status>,
    history: Mutex<VecDeque<Arc<Sample>>>,
    parameters: Mutex<Arc<Vec<Parameter>>>,
}

/// The value of a mutex. Nothing is left half written in any of them, so a panic elsewhere has spoilt nothing.
fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A [`Session`] on a thread of its own, at a multiple of real time.
///
/// Pictures can be taken at any rate and from any thread: nothing that is read here makes physics wait for longer than it
/// takes to copy a pointer, and neither pace nor pauses nor readers change what is computed.
pub struct Live {
    commands: Sender<Command>,
    shared: Arc<Shared>,
    prepared: Arc<Prepared>,
    thread: Option<JoinHandle<Session>>,
}

impl Live {
    /// Starts the thread. A speed out of range is brought into it.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(mut session: Session, options: LiveOptions) -> std::io::Result<Live> {
        let now = Instant::now();
        let frame = Arc::new(session.frame());
        let shared = Arc::new(Shared {
            pictures: Mutex::new(Pictures {
                earlier: (frame.clone(), now),
                later: (frame, now),
            }),
            status: Mutex::default(),
            history: Mutex::default(),
            parameters: Mutex::new(Arc::new(session.parameters())),
        });
        let (commands, received) = channel();
        let prepared = session.prepared().clone();
        let mut pacer = Pacer::new(session, shared.clone(), options, now);
        pacer.tell();
        let thread = std::thread::Builder::new()
            .name("simulation".into())
            .spawn(move || pacer.run(&received))?;
        Ok(Live {
            commands,
            shared,
            prepared,
            thread: Some(thread),
        })
    }

    /// What it is the session of: characters, scene, names.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// Asks for something; false if the session has ended.
    pub fn send(&self, command: Command) -> bool {
        self.commands.send(command).is_ok()
    }

    /// What it looks like at a moment on the wall: the two last moments simulated, interpolated, one behind. Poses move
    /// smoothly at any rate of pictures and any speed.
    pub fn picture(&self, now: Instant) -> Frame {
        let (earlier, later) = {
            let pictures = open(&self.shared.pictures);
            (pictures.earlier.clone(), pictures.later.clone())
        };
        let span = later.1.saturating_duration_since(earlier.1).as_secs_f64();
        let passed = now.saturating_duration_since(later.1).as_secs_f64();
        if passed >= span {
            return (*later.0).clone();
        }
        let time = earlier.0.time + (later.0.time - earlier.0.time) * (passed / span);
        earlier.0.between(&later.0, time)
    }

    pub fn status(&self) -> Status {
        open(&self.shared.status).clone()
    }

    /// The last 30 simulated seconds at about 60 Hz, oldest first.
    pub fn history(&self) -> Vec<Arc<Sample>> {
        open(&self.shared.history).iter().cloned().collect()
    }

    /// See [`Session::parameters`].
    pub fn parameters(&self) -> Arc<Vec<Parameter>> {
        open(&self.shared.parameters).clone()
    }

    /// Ends the thread and gives the session back; `None` if it has panicked.
    pub fn stop(mut self) -> Option<Session> {
        self.join()
    }

    fn join(&mut self) -> Option<Session> {
        // a thread that has ended already hears nothing
        let _ = self.commands.send(Command::Quit);
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.join();
    }
}

/// The thread's side.
struct Pacer {
    session: Session,
    shared: Arc<Shared>,
    status: Status,
    /// Whether it is paused because the duration was reached.
    paused_by_end: bool,
    /// The clock: at this moment this step was due.
    start: (Instant, u64),
    last_picture: Instant,
    /// Whether time on the wall has passed since that did not pass in the simulation.
    rested: bool,
    /// Moments and steps of about the last second.
    marks: VecDeque<(Instant, u64)>,
    sample_stride: u64,
    parameters_shown: (u64, usize),
}

impl Pacer {
    fn new(session: Session, shared: Arc<Shared>, options: LiveOptions, now: Instant) -> Pacer {
        let rate = session.prepared().spec.rate_hz;
        let speed = match options.speed {
            s if s.is_nan() => 1.0,
            s if s == f64::INFINITY => s,
            s => s.clamp(SPEEDS[0], SPEEDS[1]),
        };
        Pacer {
            start: (now, session.steps()),
            status: Status {
                paused: options.paused,
                speed,
                ..Status::default()
            },
            session,
            shared,
            paused_by_end: false,
            last_picture: now,
            rested: true,
            marks: VecDeque::new(),
            sample_stride: (rate / HISTORY_HZ).round().max(1.0) as u64,
            parameters_shown: (0, 0),
        }
    }

    fn run(mut self, commands: &Receiver<Command>) -> Session {
        self.set_clock();
        loop {
            let mut first = match self.wait(commands) {
                Ok(first) => first,
                Err(()) => return self.session,
            };
            while let Some(command) = first.take().or_else(|| commands.try_recv().ok()) {
                if command == Command::Quit {
                    return self.session;
                }
                self.obey(command);
                self.status.commands += 1;
            }
            if !self.status.paused {
                self.advance();
            }
            self.tell();
        }
    }

    /// Until there is a command or something to compute; an error if nobody can send commands any more.
    fn wait(&self, commands: &Receiver<Command>) -> Result<Option<Command>, ()> {
        if self.status.paused {
            return commands.recv().map(Some).map_err(|_| ());
        }
        let due = self.due(self.session.steps() + 1).max(self.last_picture + PICTURE);
        let left = due.saturating_duration_since(Instant::now());
        if self.status.speed.is_infinite() || left.is_zero() {
            return match commands.try_recv() {
                Ok(command) => Ok(Some(command)),
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => Err(()),
            };
        }
        match commands.recv_timeout(left) {
            Ok(command) => Ok(Some(command)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(()),
        }
    }

    fn rate(&self) -> f64 {
        self.session.prepared().spec.rate_hz
    }

    /// When a step should be done.
    fn due(&self, step: u64) -> Instant {
        let seconds = step.saturating_sub(self.start.1) as f64 / (self.rate() * self.status.speed);
        self.start.0 + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
    }

    /// From now on, from this step on.
    fn set_clock(&mut self) {
        self.start = (Instant::now(), self.session.steps());
        self.marks.clear();
        self.marks.push_back(self.start);
        self.rested = true;
        self.status.achieved_speed = 0.0;
    }

    /// Another pace from now on. What has been waited for the next step counts, or somebody who pulls at a slider would keep
    /// it from ever being due.
    fn change_speed(&mut self, speed: f64) {
        let waited = Instant::now().saturating_duration_since(self.due(self.session.steps()));
        let share = (waited.as_secs_f64() * self.rate() * self.status.speed).clamp(0.0, 1.0);
        self.status.speed = speed;
        self.set_clock();
        let waited = Duration::try_from_secs_f64(share / (self.rate() * speed)).unwrap_or_default();
        self.start.0 = self.start.0.checked_sub(waited).unwrap_or(self.start.0);
    }

    /// As many steps as are due, or as fit into a batch.
    fn advance(&mut self) {
        let begin = Instant::now();
        let fast = self.status.speed.is_infinite();
        while fast || self.due(self.session.steps() + 1) <= Instant::now() {
            if !self.step() || begin.elapsed() >= BATCH {
                break;
            }
        }
        let now = Instant::now();
        if now.duration_since(self.last_picture) >= PICTURE || self.status.paused {
            let due = if fast {
                now
            } else {
                self.due(self.session.steps()).min(now)
            };
            self.show(due);
        }
        self.measure_speed(now);
        let late = now
            .saturating_duration_since(self.due(self.session.steps() + 1))
            .as_secs_f64();
        if !fast && late > LARGEST_LAG {
            // what is lost is lost: the speed that is reached tells of it
            self.start = (now, self.session.steps());
        }
    }

    fn measure_speed(&mut self, now: Instant) {
        let steps = self.session.steps();
        if let Some(&(since, from)) = self.marks.front() {
            let wall = now.duration_since(since).as_secs_f64();
            if wall > 0.05 {
                self.status.achieved_speed = (steps - from) as f64 / self.rate() / wall;
            }
        }
        if self
            .marks
            .back()
            .is_none_or(|(at, _)| now.duration_since(*at) > SPEED_WINDOW / 20)
        {
            self.marks.push_back((now, steps));
        }
        while self.marks.len() > 2 && now.duration_since(self.marks[1].0) > SPEED_WINDOW {
            self.marks.pop_front();
        }
    }

    /// One step; false if it has paused.
    fn step(&mut self) -> bool {
        self.sample();
        match self.session.step() {
            Ok(StepOutcome::Stepped) => {}
            Ok(StepOutcome::Finished) => {
                self.end();
                return false;
            }
            Err(error) => {
                self.error(error.to_string());
                self.status.paused = true;
                return false;
            }
        }
        if self.session.finished() && self.status.end.is_none() {
            self.sample();
            self.end();
            return false;
        }
        true
    }

    fn end(&mut self) {
        self.status.paused = true;
        self.paused_by_end = true;
        self.status.end.get_or_insert(End {
            steps: self.session.steps(),
            time: self.session.time(),
            state_hash: self.session.state_hash(),
        });
    }

    fn sample(&mut self) {
        if !self.session.steps().is_multiple_of(self.sample_stride) {
            return;
        }
        let sample = Arc::new(self.session.sample());
        let mut history = open(&self.shared.history);
        // a step that failed is tried again at the same time
        if history.back().is_some_and(|last| last.time == sample.time) {
            return;
        }
        history.push_back(sample);
        let most = (HISTORY_S * self.session.prepared().spec.rate_hz / self.sample_stride as f64).ceil() as usize;
        while history.len() > most.max(2) {
            history.pop_front();
        }
    }

    /// Publishes the moment of now, which was due at `due`.
    fn show(&mut self, due: Instant) {
        let frame = Arc::new(self.session.frame());
        let mut pictures = open(&self.shared.pictures);
        let before = pictures.later.clone();
        // the same moment again would cut the way to it short
        if frame.time != before.0.time {
            let later = (frame, due.max(before.1));
            let passed = later.0.time - before.0.time;
            pictures.earlier = match passed {
                back if back < 0.0 => later.clone(),
                // the way from one moment to the next does not take the time of the pause before it
                _ if self.rested => {
                    let nominal =
                        Duration::try_from_secs_f64((passed / self.status.speed).min(1.0)).unwrap_or_default();
                    (before.0, later.1.checked_sub(nominal).unwrap_or(later.1))
                }
                _ => before,
            };
            pictures.later = later;
            self.rested = false;
        }
        drop(pictures);
        self.last_picture = Instant::now();
    }

    fn error(&mut self, words: String) {
        self.status.last_error = Some(words);
        self.status.errors += 1;
    }

    /// Keeps the words of a failure.
    fn note<T, E: std::fmt::Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|e| self.error(e.to_string())).ok()
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Pause => {
                self.status.paused = true;
                self.show(Instant::now());
            }
            Command::Resume => {
                if self.session.finished() {
                    self.session.set_past_the_end(true);
                }
                self.paused_by_end = false;
                self.status.paused = false;
                self.set_clock();
            }
            Command::StepOnce => {
                if self.session.finished() {
                    self.session.set_past_the_end(true);
                }
                self.status.paused = true;
                self.rested = true;
                self.step();
                self.show(Instant::now());
            }
            Command::Speed(speed) => {
                if speed == f64::INFINITY || (SPEEDS[0]..=SPEEDS[1]).contains(&speed) {
                    self.change_speed(speed);
                } else {
                    let [slowest, fastest] = SPEEDS;
                    self.error(format!(
                        "the speed cannot be {speed:?}; expected {slowest} to {fastest}, or infinity"
                    ));
                }
            }
            Command::Restart { repeat } => {
                self.session.restart(repeat);
                self.session.set_past_the_end(false);
                if std::mem::take(&mut self.paused_by_end) {
                    self.status.paused = false;
                }
                self.status.end = None;
                self.status.last_error = None;
                open(&self.shared.history).clear();
                self.set_clock();
                self.show(Instant::now());
            }
            Command::Push(request) => {
                let pushed = self.session.push(request);
                self.note(pushed);
            }
            Command::Grab { target, point } => {
                let held = self.session.grab(target, point);
                self.note(held);
            }
            Command::DragTo(goal) => {
                let dragged = self.session.drag_to(goal);
                self.note(dragged);
            }
            Command::Release => {
                self.session.release();
            }
            Command::SetHand(settings) => {
                let set = self.session.set_hand(settings);
                self.note(set);
            }
            Command::SetParameter { path, value } => {
                let set = self.session.set_parameter(&path, value);
                self.note(set);
            }
            Command::SaveExperiment { path, replace } => {
                let saved = self.session.save_experiment(&path, replace);
                self.saved(saved);
            }
            Command::SaveParameters { path, replace } => {
                let saved = self.session.save_parameters(&path, replace);
                self.saved(saved);
            }
            Command::Quit => {}
        }
    }

    fn saved(&mut self, saved: Result<Saved, super::SaveError>) {
        if let Some(saved) = self.note(saved) {
            self.status.last_saved = Some(saved);
            // writing took a while on the wall
            self.set_clock();
        }
    }

    /// Publishes how it is doing.
    fn tell(&mut self) {
        let session = &self.session;
        let status = &mut self.status;
        status.time = session.time();
        status.steps = session.steps();
        status.hand = session.hand();
        status.disturbances = session.deeds().disturbances.len();
        status.changes = session.deeds().changes.len();
        status.unsaved = session.has_unsaved_deeds();
        if status.paused {
            status.achieved_speed = 0.0;
        }
        open(&self.shared.status).clone_from(status);
        let shown = session.parameters_revision();
        if shown != self.parameters_shown {
            self.parameters_shown = shown;
            *open(&self.shared.parameters) = Arc::new(session.parameters());
        }
    }
}
