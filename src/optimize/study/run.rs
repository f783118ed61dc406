//! Generation after generation: ask, evaluate, log, tell, checkpoint.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::checkpoint::{self, State};
use super::error::StudyError;
use super::folder::{CHECKPOINT, Claim, DIARY, HISTORY, LOG, SUMMARY};
use super::log::{Columns, Row, Rows, exact};
use super::parallel::{Job, evaluate_all};
use super::setup::{Seeds, StudySetup};
use super::summary::{Best, Counts, StudySummary};
use crate::files::write_replacing;
use crate::optimize::cma::Search;
use crate::optimize::evaluation::{Evaluation, Evaluator, Outcome};
use crate::optimize::problem::{Problem, ProblemError, nine_digits};

/// Columns of the log that say which evaluation a row is.
const KEYS: [&str; 5] = ["evaluation", "generation", "restart", "kind", "candidate"];

/// Files that only follow from others are renewed at most so often, and at the end.
const PAUSE: Duration = Duration::from_secs(1);

/// Whoever can write an experiment with the parameters that a study finds.
pub trait Texts: Sync {
    /// A complete experiment; see [`Problem::experiment_text`].
    fn experiment_text(&self, parameters: &[f64], seeds: &[u64], comment: &str) -> Result<String, ProblemError>;
}

impl Texts for Problem {
    fn experiment_text(&self, parameters: &[f64], seeds: &[u64], comment: &str) -> Result<String, ProblemError> {
        Problem::experiment_text(self, parameters, seeds, comment)
    }
}

/// How a study is run; nothing of it changes what it finds.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Threads; one per core if absent.
    pub jobs: Option<usize>,
    /// The study is interrupted when it becomes true.
    pub stop: Option<&'a AtomicBool>,
    /// Writes `best.toml` and `mean.toml`; without it only their parameters are written.
    pub texts: Option<&'a dyn Texts>,
}

/// How far a study is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Told so far, and those that this call has made itself.
    pub evaluations: u64,
    pub made: u64,
    pub generation: u64,
    pub restart: u32,
    pub best: Option<f64>,
    /// Median cost of the generation before.
    pub median: Option<f64>,
    pub sigma: f64,
    pub failures: u64,
}

/// A study and its folder, which belongs to this process as long as this lives.
pub struct Study {
    claim: Claim,
    setup: StudySetup,
    fingerprint: u64,
    measures: Vec<String>,
    names: Vec<String>,
    state: State,
    log: Rows,
    history: File,
    last_sync: Option<Instant>,
    last_texts: Option<Instant>,
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StudyError {
    StudyError::io(doing, path)
}

/// What must be the same when a study goes on: everything but the budget, and whatever `function` stands for. Every number is fed by
/// itself, so that it does not depend on how this version of the program keeps them.
fn fingerprint(setup: &StudySetup, measures: &[String], function: &[u8]) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    let mut words: Vec<u64> = Vec::new();
    for coordinate in &setup.coordinates {
        let r = &coordinate.range;
        words.extend([r.initial, r.lower, r.upper, r.scale].map(f64::to_bits));
        words.extend([u64::from(r.log), u64::from(coordinate.integer)]);
    }
    let search = &setup.search;
    let stops = &search.cma.stops;
    words.extend([
        search.cma.seed,
        search.cma.population.map_or(0, |p| p as u64),
        u64::from(search.cma.active),
        search.sigma.to_bits(),
        search.restarts as u64,
        u64::from(search.max_restarts),
        stops.target.map_or(0, f64::to_bits),
        stops.tol_fun.to_bits(),
        stops.tol_x.to_bits(),
        setup.hopeless_quantile.map_or(0, f64::to_bits),
    ]);
    if let Some(noise) = &search.noise {
        words.extend([
            u64::from(noise.max_evaluations),
            noise.threshold.to_bits(),
            noise.growth.to_bits(),
        ]);
    }
    match &setup.seeds {
        Seeds::Own => words.push(0),
        Seeds::List(list) => words.extend([1].iter().chain(list)),
        Seeds::PerGeneration(count) => words.extend([2, *count as u64]),
    }
    if let Some(validation) = &setup.validation {
        words.push(validation.every);
        words.extend(&validation.seeds);
    }
    words.iter().for_each(|w| hash.update(&w.to_le_bytes()));
    for name in setup.coordinates.iter().map(|c| &c.name).chain(measures) {
        hash.update(name.as_bytes());
        hash.update(&[0]);
    }
    hash.update(function);
    hash.digest()
}

impl Study {
    /// Begins a study in a new or empty folder. `function` stands for what is evaluated: if it is another one when the study is
    /// resumed, that is refused. It may be empty.
    pub fn create(
        folder: &Path,
        setup: &StudySetup,
        evaluator: &dyn Evaluator,
        function: &[u8],
    ) -> Result<Study, StudyError> {
        Study::begin(Claim::new(folder)?, setup, evaluator, function)
    }

    /// Goes on with a study where its last evaluation ended, or begins it if it has none yet.
    pub fn resume(
        folder: &Path,
        setup: &StudySetup,
        evaluator: &dyn Evaluator,
        function: &[u8],
    ) -> Result<Study, StudyError> {
        if !folder.is_dir() {
            return Err(StudyError::NoStudy {
                path: folder.to_path_buf(),
                missing: "folder",
            });
        }
        Study::begin(Claim::lock(folder)?, setup, evaluator, function)
    }

    /// The same in a folder that has been claimed already.
    pub fn begin(
        claim: Claim,
        setup: &StudySetup,
        evaluator: &dyn Evaluator,
        function: &[u8],
    ) -> Result<Study, StudyError> {
        let measures = evaluator.measures().to_vec();
        let names: Vec<String> = setup.coordinates.iter().map(|c| c.name.clone()).collect();
        let fingerprint = fingerprint(setup, &measures, function);
        let search = Search::new(&setup.space(), &setup.search)?;
        let (path, log_path) = (claim.path.join(CHECKPOINT), claim.path.join(LOG));
        let columns = Columns::new(&KEYS, &measures, &names);
        let found = match path.exists() {
            true => Some(checkpoint::read(&path, fingerprint)?),
            false => None,
        };
        let log = match log_path.exists() || found.is_some() {
            true => Rows::open(&log_path, columns, found.as_ref().map(|s| s.log))?,
            false => Rows::create(&log_path, columns)?,
        };
        let (history, length) = open_history(&claim.path.join(HISTORY), found.as_ref().map(|s| s.history), &names)?;
        let state = found.unwrap_or_else(|| State {
            search,
            log: log.mark(),
            history: length,
            best: None,
            counts: Counts::default(),
            last_costs: Vec::new(),
            last_restart: 0,
            validated: 0,
            over: None,
        });
        let study = Study {
            claim,
            setup: setup.clone(),
            fingerprint,
            measures,
            names,
            state,
            log,
            history,
            last_sync: None,
            last_texts: None,
        };
        if !path.exists() {
            checkpoint::write(&path, study.fingerprint, &study.state, true)?;
        }
        Ok(study)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.claim.path
    }

    /// Evaluations of whole generations so far.
    pub fn evaluations(&self) -> u64 {
        self.state.counts.total()
    }

    /// The best so far.
    pub fn best(&self) -> Option<&Best> {
        self.state.best.as_ref()
    }

    /// Runs until the budget is spent, the search has ended or somebody stops it. The summary is also in the folder.
    pub fn run(
        &mut self,
        evaluator: &dyn Evaluator,
        options: &Options,
        observer: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<StudySummary, StudyError> {
        let began = Instant::now();
        let first = self.log.mark().lines;
        let threads = options.jobs.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| io("start threads for", &self.claim.path)(std::io::Error::other(e)))?;
        self.note(format!(
            "begun at evaluation {} on {} threads, ambler {}",
            first - 1,
            pool.current_num_threads(),
            env!("CARGO_PKG_VERSION")
        ));
        // a summary says that a study has ended; this one goes on
        let ended = self.reason_to_end(began);
        if ended.is_none() {
            let path = self.claim.path.join(SUMMARY);
            if path.exists() {
                std::fs::remove_file(&path).map_err(io("remove", &path))?;
            }
        }
        let mut team = Team {
            evaluator,
            pool: &pool,
            stop: options.stop,
            observer,
            first,
        };
        let mut reason = ended;
        while reason.is_none() {
            let before = self.state.clone();
            match self.generation(&mut team)? {
                true => {
                    self.write_texts(options.texts, false)?;
                    reason = self.reason_to_end(began);
                }
                false => {
                    // what was learnt from half of a generation is learnt again
                    self.state = before;
                    reason = Some("interrupt");
                }
            }
        }
        let reason = reason.unwrap_or("interrupt");
        let mut stopped_by = reason;
        if reason != "interrupt" && self.state.over.is_none() {
            match self.last_validation(&mut team)? {
                true => {
                    self.state.over = Some(reason.to_string());
                    self.save(true)?;
                }
                false => stopped_by = "interrupt",
            }
        }
        self.write_texts(options.texts, true)?;
        let search = &self.state.search;
        let summary = StudySummary {
            generations: search.generation(),
            restarts: search.restart(),
            stopped_by,
            ..StudySummary::new(
                &self.setup.name,
                self.state.best.as_ref(),
                &self.state.counts,
                &self.measures,
                &self.names,
            )
        };
        self.replace(SUMMARY, summary.to_json().as_bytes(), true)?;
        self.note(format!(
            "ended by {stopped_by} after {} evaluations, {:.1} s",
            self.state.counts.total(),
            began.elapsed().as_secs_f64()
        ));
        Ok(summary)
    }

    /// Why no further generation shall begin.
    fn reason_to_end(&self, began: Instant) -> Option<&'static str> {
        if let Some(stop) = self.state.search.stopped() {
            return Some(stop.name());
        }
        let budget = &self.setup.budget;
        if budget.evaluations.is_some_and(|most| self.state.counts.total() >= most) {
            return Some("budget");
        }
        if budget.time_s.is_some_and(|most| began.elapsed().as_secs_f64() >= most) {
            return Some("time");
        }
        None
    }

    /// One generation; false if it was interrupted.
    fn generation(&mut self, team: &mut Team) -> Result<bool, StudyError> {
        self.state.over = None;
        let search = &self.state.search;
        let generation = search.generation() + 1;
        let (restart, population) = (search.restart(), search.run().population());
        let times = search.evaluations_per_point();
        let seeds = self.setup.seeds(generation, times, false);
        let hopeless_above = self.hopeless_above();
        let jobs: Vec<Job> = (search.ask().iter())
            .map(|point| Job {
                parameters: self.setup.values(point),
                seeds: seeds.clone(),
                hopeless_above,
            })
            .collect();
        let Some(evaluations) = self.evaluate(&jobs, "sample", team)? else {
            return Ok(false);
        };
        let numbered = self.log.mark().lines - jobs.len() as u64;
        let costs: Vec<f64> = evaluations.iter().map(|e| e.cost).collect();
        self.state.search.tell(&costs)?;
        let mut all = evaluations.clone();
        let again = self.state.search.reevaluations();
        if !again.is_empty() {
            let seeds = self.setup.seeds(generation, times, true);
            let jobs: Vec<Job> = (jobs[again].iter())
                .map(|job| Job {
                    seeds: seeds.clone(),
                    hopeless_above: None,
                    ..job.clone()
                })
                .collect();
            let Some(second) = self.evaluate(&jobs, "reevaluation", team)? else {
                return Ok(false);
            };
            let costs: Vec<f64> = second.iter().map(|e| e.cost).collect();
            self.state.search.tell_again(&costs)?;
            all.extend(second);
        }
        for (i, (job, evaluation)) in jobs.iter().zip(&evaluations).enumerate() {
            // means that were validated are better known than single samples
            if !self.state.best.as_ref().is_some_and(|b| b.validated) {
                self.take_best(job, evaluation, numbered + i as u64, generation, false);
            }
        }
        if let Some(validation) = &self.setup.validation
            && generation.is_multiple_of(validation.every)
        {
            match self.validate(team)? {
                Some(evaluation) => all.push(evaluation),
                None => return Ok(false),
            }
        }
        all.iter().for_each(|e| self.state.counts.add(e));
        let mut known: Vec<f64> = (evaluations.iter())
            .filter(|e| !e.outcome.is_failure())
            .map(|e| e.cost)
            .collect();
        known.sort_by(f64::total_cmp);
        self.write_history(generation, restart, population, &known, evaluations.len())?;
        self.state.last_costs = known;
        self.state.last_restart = restart;
        self.save(false)?;
        Ok(true)
    }

    /// The cost that nothing of the coming generation needs to be proven above.
    fn hopeless_above(&self) -> Option<f64> {
        let quantile = self.setup.hopeless_quantile?;
        let costs = &self.state.last_costs;
        // a restart begins elsewhere, where everything may be worse
        if costs.is_empty() || self.state.last_restart != self.state.search.restart() {
            return None;
        }
        let at = (quantile * costs.len() as f64).ceil() as usize;
        costs.get(at.max(1) - 1).copied()
    }

    /// Evaluates the mean of the distribution on the seeds of the validation; `None` if interrupted.
    fn validate(&mut self, team: &mut Team) -> Result<Option<Evaluation>, StudyError> {
        let Some(validation) = &self.setup.validation else {
            return Ok(None);
        };
        let job = Job {
            parameters: self.setup.values(&self.state.search.run().mean()),
            seeds: validation.seeds.clone(),
            hopeless_above: None,
        };
        let generation = self.state.search.generation();
        let Some(found) = self.evaluate(std::slice::from_ref(&job), "validation", team)? else {
            return Ok(None);
        };
        let Some(evaluation) = found.into_iter().next() else {
            return Ok(None);
        };
        self.state.validated = generation;
        let number = self.log.mark().lines - 1;
        self.take_best(&job, &evaluation, number, generation, true);
        Ok(Some(evaluation))
    }

    /// The validation of the last generation, if it has not been made; false if interrupted.
    fn last_validation(&mut self, team: &mut Team) -> Result<bool, StudyError> {
        let generation = self.state.search.generation();
        if self.setup.validation.is_none() || self.state.validated == generation {
            return Ok(true);
        }
        match self.validate(team)? {
            Some(evaluation) => {
                self.state.counts.add(&evaluation);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn take_best(&mut self, job: &Job, evaluation: &Evaluation, number: u64, generation: u64, validated: bool) {
        if evaluation.outcome.is_failure() || evaluation.outcome == Outcome::Hopeless {
            return;
        }
        // of validated and other costs the validated ones count, whatever they are
        let better = (self.state.best.as_ref()).is_none_or(|b| (validated && !b.validated) || evaluation.cost < b.cost);
        if better {
            self.state.best = Some(Best {
                cost: evaluation.cost,
                evaluation: number,
                generation,
                parameters: job.parameters.clone(),
                seeds: job.seeds.clone(),
                measures: evaluation.measures.clone(),
                validated,
            });
        }
    }

    /// Rows that are in the log already, then new ones; `None` if interrupted.
    fn evaluate(&mut self, jobs: &[Job], kind: &str, team: &mut Team) -> Result<Option<Vec<Evaluation>>, StudyError> {
        let search = &self.state.search;
        // between the costs of a generation and their second ones the search still stands at its beginning
        let generation = match kind {
            "validation" => search.generation(),
            _ => search.generation() + u64::from(kind == "sample" || !search.reevaluations().is_empty()),
        };
        let restart = search.restart();
        let mut progress = Progress {
            evaluations: 0,
            made: 0,
            generation,
            restart,
            best: self.state.best.as_ref().map(|b| b.cost),
            median: self.state.last_costs.get(self.state.last_costs.len() / 2).copied(),
            sigma: search.run().sigma(),
            failures: self.state.counts.failures(),
        };
        let keys = |log: &Rows, i: usize| -> Vec<String> {
            let number = log.mark().lines;
            vec![
                number.to_string(),
                generation.to_string(),
                restart.to_string(),
                kind.to_string(),
                i.to_string(),
            ]
        };
        let mut found = Vec::with_capacity(jobs.len());
        while found.len() < jobs.len() {
            let keys = keys(&self.log, found.len());
            match self.log.take(&keys, &jobs[found.len()].parameters)? {
                Some(evaluation) => found.push(evaluation),
                None => break,
            }
        }
        let first = found.len();
        let mut error = None;
        let log = &mut self.log;
        let whole = evaluate_all(
            &jobs[first..],
            team.evaluator,
            team.pool,
            team.stop,
            &mut |i, evaluation| {
                let row = Row::new(keys(log, first + i), evaluation, jobs[first + i].parameters.clone());
                if let Err(e) = log.push(&row) {
                    error = Some(e);
                    return false;
                }
                progress.evaluations = log.mark().lines - 1;
                progress.made = log.mark().lines - team.first;
                progress.failures += u64::from(row.evaluation.outcome.is_failure());
                if !row.evaluation.outcome.is_failure() && kind == "sample" {
                    progress.best = Some(
                        progress
                            .best
                            .map_or(row.evaluation.cost, |b| b.min(row.evaluation.cost)),
                    );
                }
                (team.observer)(&progress);
                found.push(row.evaluation);
                true
            },
        );
        match (error, whole) {
            (Some(error), _) => Err(error),
            (None, true) => Ok(Some(found)),
            (None, false) => Ok(None),
        }
    }

    /// A row of `history.csv`; `known` holds the costs of the generation that are no failures, sorted.
    fn write_history(
        &mut self,
        generation: u64,
        restart: u32,
        population: usize,
        known: &[f64],
        evaluated: usize,
    ) -> Result<(), StudyError> {
        let run = self.state.search.run();
        let number = |v: Option<f64>| v.map_or(String::new(), exact);
        let mut fields = vec![
            generation.to_string(),
            restart.to_string(),
            self.state.counts.total().to_string(),
            number(self.state.best.as_ref().map(|b| b.cost)),
            number(known.first().copied()),
            number(known.get(known.len() / 2).copied()),
            number(known.last().copied()),
            exact(nine_digits(run.sigma())),
            exact(nine_digits(run.axis_ratio())),
            population.to_string(),
            (evaluated - known.len()).to_string(),
        ];
        let means = self.setup.values(&run.mean());
        fields.extend(means.iter().map(|v| exact(*v)));
        fields.extend(run.std().iter().map(|v| exact(nine_digits(*v))));
        let mut line = csv::Writer::from_writer(Vec::new());
        // writing to memory does not fail
        let _ = line.write_record(&fields);
        let line = line.into_inner().unwrap_or_default();
        let path = self.claim.path.join(HISTORY);
        self.history.write_all(&line).map_err(io("write to", &path))?;
        self.state.history += line.len() as u64;
        Ok(())
    }

    /// Writes the checkpoint.
    fn save(&mut self, sync: bool) -> Result<(), StudyError> {
        self.state.log = self.log.mark();
        let due = sync || self.last_sync.is_none_or(|t| t.elapsed() > PAUSE);
        if due {
            // the checkpoint must never know of more than the log has
            self.log.sync()?;
            self.last_sync = Some(Instant::now());
        }
        checkpoint::write(&self.claim.path.join(CHECKPOINT), self.fingerprint, &self.state, due)
    }

    /// `best.toml`, `mean.toml` and their parameters.
    fn write_texts(&mut self, texts: Option<&dyn Texts>, always: bool) -> Result<(), StudyError> {
        if !always && self.last_texts.is_some_and(|t| t.elapsed() < PAUSE) {
            return Ok(());
        }
        self.last_texts = Some(Instant::now());
        let generation = self.state.search.generation();
        let mean = self.setup.values(&self.state.search.run().mean());
        let mean_seeds = match (&self.setup.seeds, &self.setup.validation) {
            (_, Some(validation)) => validation.seeds.clone(),
            (Seeds::PerGeneration(_), None) => self.setup.seeds(generation.max(1), 1, false),
            (_, None) => self.setup.seeds(generation, 1, false),
        };
        let name = &self.setup.name;
        let mut files: Vec<(&str, &[f64], &[u64], String)> = Vec::new();
        if let Some(best) = &self.state.best {
            let what = match best.validated {
                true => "mean of the distribution with the best validation",
                false => "best evaluation",
            };
            let comment = format!(
                "Study {name}: {what}, number {} in generation {}.\nScore: {}",
                best.evaluation, best.generation, best.cost
            );
            files.push(("best", &best.parameters, &best.seeds, comment));
        }
        let comment = format!(
            "Study {name}: mean of the distribution after generation {generation}.\nIts score is not known; `ambler run` tells it."
        );
        files.push(("mean", &mean, &mean_seeds, comment));
        for (name, parameters, seeds, comment) in files {
            let by: BTreeMap<&str, f64> = self
                .names
                .iter()
                .map(String::as_str)
                .zip(parameters.iter().copied())
                .collect();
            let table = toml::to_string(&by).map_err(ProblemError::from)?;
            let head: String = comment.lines().map(|l| format!("# {l}\n")).collect();
            self.replace(
                &format!("{name}_parameters.toml"),
                format!("{head}\n{table}").as_bytes(),
                always,
            )?;
            if let Some(texts) = texts {
                let comment = format!(
                    "{comment}\nWritten by ambler {}; `ambler run` on this file runs every scenario and prints the score.",
                    env!("CARGO_PKG_VERSION")
                );
                let text = texts.experiment_text(parameters, seeds, &comment)?;
                self.replace(&format!("{name}.toml"), text.as_bytes(), always)?;
            }
        }
        Ok(())
    }

    fn replace(&self, name: &str, bytes: &[u8], sync: bool) -> Result<(), StudyError> {
        let path = self.claim.path.join(name);
        write_replacing(&path, bytes, sync).map_err(io("write", &path))
    }

    /// A line of `study.log`, the only file with times in it. Nothing depends on it, so it may fail.
    fn note(&self, line: String) {
        let path = self.claim.path.join(DIARY);
        let time = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        if let Ok(mut file) = File::options().create(true).append(true).open(path) {
            let _ = writeln!(file, "{time} s since 1970: {line}");
        }
    }
}

/// What evaluations are made with.
struct Team<'a> {
    evaluator: &'a dyn Evaluator,
    pool: &'a rayon::ThreadPool,
    stop: Option<&'a AtomicBool>,
    observer: &'a mut (dyn FnMut(&Progress) + Send),
    /// Lines of the log when this call began.
    first: u64,
}

/// Opens `history.csv` for appending behind what the checkpoint knows of, and tells its length.
fn open_history(path: &Path, length: Option<u64>, names: &[String]) -> Result<(File, u64), StudyError> {
    let mut header: Vec<String> = [
        "generation",
        "restart",
        "evaluations",
        "best",
        "generation_best",
        "generation_median",
        "generation_worst",
        "sigma",
        "axis_ratio",
        "population",
        "failures",
    ]
    .map(String::from)
    .to_vec();
    header.extend(names.iter().map(|n| format!("mean_{n}")));
    header.extend(names.iter().map(|n| format!("std_{n}")));
    let mut line = csv::Writer::from_writer(Vec::new());
    // writing to memory does not fail
    let _ = line.write_record(&header);
    let line = line.into_inner().unwrap_or_default();
    let mut file = File::options()
        .create(length.is_none())
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(io("write to", path))?;
    let Some(length) = length else {
        file.set_len(0).map_err(io("write to", path))?;
        file.write_all(&line).map_err(io("write to", path))?;
        return Ok((file, line.len() as u64));
    };
    let found = file.metadata().map_err(io("read", path))?.len();
    if found < length {
        return Err(StudyError::Log {
            path: path.to_path_buf(),
            line: 1,
            problem: format!("the file has {found} bytes; the checkpoint knows of {length}"),
        });
    }
    // rows of generations that were not finished are written again
    file.set_len(length).map_err(io("write to", path))?;
    file.seek(SeekFrom::Start(length)).map_err(io("read", path))?;
    Ok((file, length))
}
