//! What a window shows: an experiment that is simulated now, or a recorded run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::player::Player;
use crate::control::Parameter;
use crate::experiment::{Command, Frame, Live, LiveOptions, Playback, Prepared, Sample, Session, Status};

/// Where pictures come from.
pub(super) enum Source {
    Live(Live),
    Recorded(Box<Player>),
}

/// How time goes, for the panel.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Pace {
    pub paused: bool,
    pub speed: f64,
    pub time: f64,
    pub duration: f64,
}

impl Source {
    pub fn picture(&mut self, now: Instant) -> Result<Frame, String> {
        match self {
            Source::Live(live) => Ok(live.picture(now)),
            Source::Recorded(player) => player.picture(now).map_err(|e| e.to_string()),
        }
    }

    pub fn history(&self) -> Vec<Arc<Sample>> {
        match self {
            Source::Live(live) => live.history(),
            Source::Recorded(player) => player.history(),
        }
    }

    pub fn parameters(&self) -> Arc<Vec<Parameter>> {
        match self {
            Source::Live(live) => live.parameters(),
            Source::Recorded(_) => Arc::default(),
        }
    }

    /// `None` for a recording.
    pub fn status(&self) -> Option<Status> {
        match self {
            Source::Live(live) => Some(live.status()),
            Source::Recorded(_) => None,
        }
    }

    pub fn pace(&self, prepared: &Prepared) -> Pace {
        match self {
            Source::Live(live) => {
                let status = live.status();
                Pace {
                    paused: status.paused,
                    speed: status.speed,
                    time: status.time,
                    duration: prepared.spec.duration_s,
                }
            }
            Source::Recorded(player) => Pace {
                paused: player.paused,
                speed: player.speed,
                time: player.time(),
                duration: player.duration(),
            },
        }
    }

    /// Tells a live session something; a recording does not listen.
    pub fn command(&self, command: Command) {
        if let Source::Live(live) = self {
            live.send(command);
        }
    }
}

/// Something that can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Experiment(PathBuf),
    Run(PathBuf),
}

impl Item {
    /// What a path is: a run folder, an experiment, or a folder of experiments, of which it is the first.
    pub fn of(path: &Path) -> Option<Item> {
        if path.is_file() {
            return Some(Item::Experiment(path.to_path_buf()));
        }
        if is_run(path) {
            return Some(Item::Run(path.to_path_buf()));
        }
        let experiments = experiments_in(path);
        experiments.first().cloned().map(Item::Experiment)
    }

    pub fn path(&self) -> &Path {
        match self {
            Item::Experiment(path) | Item::Run(path) => path,
        }
    }

    /// The one `by` places further on in its folder, round and round; itself if it is alone.
    pub(super) fn neighbour(&self, by: isize) -> Item {
        let folder = match self.path().parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let others: Vec<PathBuf> = match self {
            Item::Experiment(_) => experiments_in(folder),
            Item::Run(_) => entries(folder).into_iter().filter(|p| is_run(p)).collect(),
        };
        let name = self.path().file_name();
        let Some(here) = others.iter().position(|p| p.file_name() == name) else {
            return others.first().map_or(self.clone(), |p| self.like(p));
        };
        let next = (here as isize + by).rem_euclid(others.len() as isize);
        self.like(&others[next as usize])
    }

    fn like(&self, path: &Path) -> Item {
        match self {
            Item::Experiment(_) => Item::Experiment(path.to_path_buf()),
            Item::Run(_) => Item::Run(path.to_path_buf()),
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = found.map(|e| e.path()).collect();
    paths.sort();
    paths
}

fn is_run(path: &Path) -> bool {
    path.join("experiment.toml").is_file() && path.join("motion.clip").is_file()
}

/// TOML files with a duration, which characters and controllers have not.
fn experiments_in(folder: &Path) -> Vec<PathBuf> {
    let is_experiment = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "toml")
            && std::fs::read_to_string(path)
                .is_ok_and(|text| text.lines().any(|l| l.trim_start().starts_with("duration_s")))
    };
    entries(folder).into_iter().filter(is_experiment).collect()
}

/// Opens something: the experiment, and what makes its pictures.
pub(super) fn open(
    item: &Item,
    load: &dyn Fn(&Path) -> Result<Prepared, String>,
    options: LiveOptions,
) -> Result<(Arc<Prepared>, Source), String> {
    match item {
        Item::Experiment(path) => {
            let prepared = Arc::new(load(path)?);
            let live = Live::start(Session::new(prepared.clone()), options);
            let live = live.map_err(|e| format!("the simulation cannot be started: {e}"))?;
            Ok((prepared, Source::Live(live)))
        }
        Item::Run(path) => {
            let playback = Playback::open(path).map_err(|e| e.to_string())?;
            let prepared = playback.prepared().clone();
            let player = Player::new(playback, options.speed, options.paused);
            Ok((prepared, Source::Recorded(Box::new(player))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_gone_through_in_order_and_round() {
        // experiments and nothing else, forwards and backwards, from the last to the first
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["b.toml", "a.toml", "c.toml"] {
            std::fs::write(at(name), "format = 1\nduration_s = 1\n").unwrap();
        }
        std::fs::write(at("character.toml"), "format = 1\n").unwrap();
        std::fs::write(at("notes.txt"), "duration_s = 1\n").unwrap();
        assert_eq!(Item::of(folder.path()), Some(Item::Experiment(at("a.toml"))));
        let a = Item::of(&at("a.toml")).unwrap();
        assert_eq!(a.neighbour(1), Item::Experiment(at("b.toml")));
        assert_eq!(a.neighbour(-1), Item::Experiment(at("c.toml")));
        assert_eq!(a.neighbour(1).neighbour(2), a);
        assert_eq!(Item::of(&at("nothing")), None);
    }
}
