//! Generation after generation: ask, evaluate, log, tell, checkpoint.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::checkpoint::{self, Fingerprint, State};
use super::error::StudyError;
use super::folder::{CHECKPOINT, Claim, DIARY, HISTORY, LOG, SUMMARY};
use super::log::{Columns, Mark, Row, Rows, exact, open_file, skip_known};
use super::parallel::{Job, evaluate_beside};
use super::setup::{Seeds, StudySetup, Validation};
use super::summary::{Best, Counts, StudySummary};
use crate::files::write_replacing;
use crate::optimize::cma::{Cma, Search};
use crate::optimize::evaluation::{Evaluation, Evaluator, Outcome};
use crate::optimize::problem::{Problem, ProblemError, nine_digits};

/// Columns of the log that say which evaluation a row is.
const KEYS: [&str; 5] = ["evaluation", "generation", "restart", "kind", "candidate"];

/// Checkpoints and what goes with them are written at most so often, and at the end: the log is enough to go on.
const PAUSE: Duration = Duration::from_secs(1);

/// Waiting for the disk takes no more than one part of the time in so many.
const PAUSE_SHARE: u32 = 50;

/// Time between two lines of `study.log`.
const NOTE: Duration = Duration::from_secs(10);

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
    /// Time between two checkpoints, which are written after generations; a second, and more where the disk is slow, if absent.
    pub save_every: Option<Duration>,
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
    fingerprint: Fingerprint,
    measures: Vec<String>,
    names: Vec<String>,
    state: State,
    log: Rows,
    history: File,
    /// Whether the state of the last generation is in the folder.
    saved: bool,
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StudyError {
    StudyError::io(doing, path)
}

/// What must be the same when a study goes on: everything but the budget, and whatever `function` stands for. Every number is fed by
/// itself, so that it does not depend on how this version of the program keeps them.
fn fingerprint(setup: &StudySetup, measures: &[String], function: &[u8]) -> Fingerprint {
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
    Fingerprint {
        setup: hash.digest(),
        function: xxhash_rust::xxh3::xxh3_64(function),
    }
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
        setup.check().map_err(StudyError::Setup)?;
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
        // the last one to be opened is the first one to be changed
        let history_mark = found.as_ref().map(|s| s.history);
        let (history, history_mark) = open_history(&claim.path.join(HISTORY), history_mark, &names)?;
        claim.tidy();
        let state = found.unwrap_or_else(|| State {
            search,
            log: log.mark(),
            history: history_mark,
            best: None,
            counts: Counts::default(),
            last_costs: Vec::new(),
            last_restart: 0,
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
            saved: true,
        };
        if !path.exists() {
            checkpoint::write(&path, study.fingerprint, &study.state)?;
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

    /// Runs until the budget is spent, the search has ended or somebody stops it. The summary is also in the folder. What was
    /// interrupted goes on when it is run again.
    pub fn run(
        &mut self,
        evaluator: &dyn Evaluator,
        options: &Options,
        observer: &mut dyn FnMut(&Progress),
    ) -> Result<StudySummary, StudyError> {
        let began = Instant::now();
        let result = self.run_to_end(evaluator, options, observer, began);
        let seconds = began.elapsed().as_secs_f64();
        self.note(match &result {
            Ok(summary) => format!(
                "ended by {} after {} evaluations, {seconds:.1} s",
                summary.stopped_by, summary.evaluations
            ),
            Err(error) => format!("ended by an error after {seconds:.1} s: {error}"),
        });
        result
    }

    fn run_to_end(
        &mut self,
        evaluator: &dyn Evaluator,
        options: &Options,
        observer: &mut dyn FnMut(&Progress),
        began: Instant,
    ) -> Result<StudySummary, StudyError> {
        let threads = options.jobs.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| io("start threads for", &self.claim.path)(std::io::Error::other(e)))?;
        self.note(format!(
            "goes on after {} evaluations on {} threads, ambler {}",
            self.state.counts.total(),
            pool.current_num_threads(),
            env!("CARGO_PKG_VERSION")
        ));
        self.log.rewind(self.state.log)?;
        let mut reason = self.reason_to_end(began)?;
        if reason.is_none() {
            // a summary says that a study has ended; this one goes on
            let path = self.claim.path.join(SUMMARY);
            if path.exists() {
                std::fs::remove_file(&path).map_err(io("remove", &path))?;
            }
            // so does the validation at its end
            if self.last_validation_waits()? {
                self.log.cut()?;
            }
        }
        let mut team = Team {
            evaluator,
            pool: &pool,
            options,
            observer,
            made: 0,
            best: None,
            failures: 0,
            next_save: began + options.save_every.unwrap_or(PAUSE),
            next_note: began + NOTE,
        };
        while reason.is_none() {
            let before = self.state.clone();
            match self.generation(&mut team)? {
                true => {
                    self.end_generation(&mut team, began)?;
                    reason = self.reason_to_end(began)?;
                }
                false => {
                    // what was learnt from half of a generation is learnt again
                    self.state = before;
                    reason = Some("interrupt");
                }
            }
        }
        let mut stopped_by = reason.unwrap_or("interrupt");
        if !self.saved {
            self.save()?;
        }
        // a study that is given a larger budget goes on as if it had not been validated at its end
        let whole = self.state.clone();
        if stopped_by != "interrupt" && !self.last_validation(&mut team)? {
            stopped_by = "interrupt";
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
        self.state = whole;
        self.replace(SUMMARY, summary.to_json().as_bytes(), true)?;
        Ok(summary)
    }

    /// Why no further generation shall begin.
    fn reason_to_end(&mut self, began: Instant) -> Result<Option<&'static str>, StudyError> {
        let budget = &self.setup.budget;
        if let (Some(target), Some(best)) = (budget.target, &self.state.best)
            && best.cost <= target
        {
            return Ok(Some("target"));
        }
        if let Some(stop) = self.state.search.stopped() {
            return Ok(Some(stop.name()));
        }
        let spent = budget.evaluations.is_some_and(|most| self.state.counts.total() >= most);
        let late = budget.time_s.is_some_and(|most| began.elapsed().as_secs_f64() >= most);
        // what was evaluated already belongs to the study, whatever the budget is now
        if (!spent && !late) || (self.log.peek()?.is_some() && !self.last_validation_waits()?) {
            return Ok(None);
        }
        Ok(Some(if spent { "budget" } else { "time" }))
    }

    /// One generation; false if it was interrupted.
    fn generation(&mut self, team: &mut Team) -> Result<bool, StudyError> {
        let search = &self.state.search;
        let place = Place {
            generation: search.generation() + 1,
            restart: search.restart(),
        };
        // of the distribution that the candidates are drawn from
        let drawn_from = search.run().clone();
        let times = search.evaluations_per_point();
        let seeds = self.setup.seeds(place.generation, times, false);
        let hopeless_above = self.hopeless_above();
        (team.best, team.failures) = (None, 0);
        let jobs: Vec<Job> = (search.ask().iter())
            .map(|point| Job {
                parameters: self.setup.values(point),
                seeds: seeds.clone(),
                hopeless_above,
            })
            .collect();
        let due = |v: &&Validation| (place.generation - 1).is_multiple_of(v.every);
        let validation = (self.setup.validation.as_ref().filter(due)).map(|v| Job {
            parameters: self.setup.values(&drawn_from.mean()),
            seeds: v.seeds.clone(),
            hopeless_above: None,
        });
        let first = self.log.mark().lines;
        let Some(samples) = self.evaluate(&jobs, validation.as_ref(), "sample", place, team)? else {
            return Ok(false);
        };
        let evaluations = samples.results;
        let costs: Vec<f64> = evaluations.iter().map(|e| e.cost).collect();
        self.state.search.tell(&costs)?;
        let mut all = evaluations.clone();
        let again = self.state.search.reevaluations();
        if !again.is_empty() {
            let seeds = self.setup.seeds(place.generation, times, true);
            let jobs: Vec<Job> = (jobs[again].iter())
                .map(|job| Job {
                    seeds: seeds.clone(),
                    hopeless_above: None,
                    ..job.clone()
                })
                .collect();
            let Some(second) = self.evaluate(&jobs, None, "reevaluation", place, team)? else {
                return Ok(false);
            };
            let costs: Vec<f64> = second.results.iter().map(|e| e.cost).collect();
            self.state.search.tell_again(&costs)?;
            all.extend(second.results);
        }
        for (i, (job, evaluation)) in jobs.iter().zip(&evaluations).enumerate() {
            // means that were validated are better known than single samples
            if !self.state.best.as_ref().is_some_and(|b| b.validated) {
                self.take_best(job, evaluation, first + i as u64, place.generation, false);
            }
        }
        if let Some(job) = validation {
            let evaluation = match samples.beside {
                Some(evaluation) => self.record("validation", 0, place, &job, evaluation, team)?,
                None => match self.evaluate(std::slice::from_ref(&job), None, "validation", place, team)? {
                    Some(mut found) => found.results.remove(0),
                    None => return Ok(false),
                },
            };
            let number = self.log.mark().lines - 1;
            self.take_best(&job, &evaluation, number, place.generation, true);
            all.push(evaluation);
        }
        all.iter().for_each(|e| self.state.counts.add(e));
        let mut known: Vec<f64> = (evaluations.iter())
            .filter(|e| !e.outcome.is_failure())
            .map(|e| e.cost)
            .collect();
        known.sort_by(f64::total_cmp);
        self.write_history(place, &drawn_from, &known, evaluations.len())?;
        self.state.last_costs = known;
        self.state.last_restart = place.restart;
        self.state.log = self.log.mark();
        Ok(true)
    }

    /// Saves what a generation has come to, if it is time.
    fn end_generation(&mut self, team: &mut Team, began: Instant) -> Result<(), StudyError> {
        self.saved = false;
        let generation = self.state.search.generation();
        let now = Instant::now();
        if generation == 1
            && let Some(message) = self.state.counts.all_failed()
        {
            self.note(message);
        }
        if now >= team.next_note {
            team.next_note = now + NOTE;
            self.note(format!(
                "generation {generation}: {} evaluations, best {}, sigma {:.3e}, {:.1} evaluations per second",
                self.state.counts.total(),
                self.state.best.as_ref().map_or("none".into(), |b| exact(b.cost)),
                self.state.search.run().sigma(),
                team.made as f64 / (now - began).as_secs_f64().max(1e-9)
            ));
        }
        if now >= team.next_save {
            self.save()?;
            self.write_texts(team.options.texts, false)?;
            let done = Instant::now();
            let pause = PAUSE.max((done - now) * PAUSE_SHARE);
            team.next_save = done + team.options.save_every.unwrap_or(pause);
        }
        Ok(())
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

    /// Evaluates the mean of the distribution at the end of the study; false if interrupted. The row is behind what the checkpoint
    /// knows of.
    fn last_validation(&mut self, team: &mut Team) -> Result<bool, StudyError> {
        let Some(validation) = &self.setup.validation else {
            return Ok(true);
        };
        let job = Job {
            parameters: self.setup.values(&self.state.search.run().mean()),
            seeds: validation.seeds.clone(),
            hopeless_above: None,
        };
        let place = self.last_place();
        let Some(found) = self.evaluate(std::slice::from_ref(&job), None, "validation", place, team)? else {
            return Ok(false);
        };
        for evaluation in &found.results {
            let number = self.log.mark().lines - 1;
            self.take_best(&job, evaluation, number, place.generation, true);
            self.state.counts.add(evaluation);
        }
        Ok(true)
    }

    /// The last whole generation.
    fn last_place(&self) -> Place {
        Place {
            generation: self.state.search.generation(),
            restart: self.state.search.restart(),
        }
    }

    /// Whether the next row is that of [`Study::last_validation`]: no other one behind a generation is of that generation.
    fn last_validation_waits(&mut self) -> Result<bool, StudyError> {
        let generation = self.last_place().generation.to_string();
        Ok((self.log.peek()?).is_some_and(|keys| keys[1] == generation && keys[3] == "validation"))
    }

    fn take_best(&mut self, job: &Job, evaluation: &Evaluation, number: u64, generation: u64, validated: bool) {
        if !is_judged(evaluation) {
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

    /// Rows that are in the log already, then new ones; `None` if interrupted. The result of the job `beside` is not recorded, and not
    /// there if the log goes on behind the jobs.
    fn evaluate(
        &mut self,
        jobs: &[Job],
        beside: Option<&Job>,
        kind: &'static str,
        place: Place,
        team: &mut Team,
    ) -> Result<Option<Evaluated>, StudyError> {
        let mut results = Vec::with_capacity(jobs.len());
        while let Some(job) = jobs.get(results.len()) {
            let keys = place.keys(self.log.mark().lines, kind, results.len());
            match self.log.take(&keys, &job.parameters)? {
                Some(evaluation) => results.push(evaluation),
                None => break,
            }
        }
        let first = results.len();
        let beside = match self.log.has_waiting()? {
            true => None,
            false => beside,
        };
        let (evaluator, pool, stop) = (team.evaluator, team.pool, team.options.stop);
        let mut error = None;
        let (whole, beside) =
            evaluate_beside(
                &jobs[first..],
                beside,
                evaluator,
                pool,
                stop,
                &mut |i, evaluation| match self.record(kind, first + i, place, &jobs[first + i], evaluation, team) {
                    Ok(evaluation) => {
                        results.push(evaluation);
                        true
                    }
                    Err(e) => {
                        error = Some(e);
                        false
                    }
                },
            );
        match (error, whole) {
            (Some(error), _) => Err(error),
            (None, true) => Ok(Some(Evaluated { results, beside })),
            (None, false) => Ok(None),
        }
    }

    /// Writes the row of an evaluation that has just been made, and gives back what it says.
    fn record(
        &mut self,
        kind: &'static str,
        candidate: usize,
        place: Place,
        job: &Job,
        evaluation: Evaluation,
        team: &mut Team,
    ) -> Result<Evaluation, StudyError> {
        let number = self.log.mark().lines;
        let keys = place.keys(number, kind, candidate);
        let row = Row::new(keys, evaluation, job.parameters.clone(), self.measures.len());
        self.log.push(&row)?;
        let evaluation = row.evaluation;
        team.made += 1;
        team.failures += u64::from(evaluation.outcome.is_failure());
        let best = self.state.best.as_ref();
        let counts = kind == "validation" || !best.is_some_and(|b| b.validated);
        if counts && is_judged(&evaluation) {
            team.best = Some(team.best.map_or(evaluation.cost, |b| b.min(evaluation.cost)));
        }
        let last = &self.state.last_costs;
        (team.observer)(&Progress {
            evaluations: number,
            made: team.made,
            generation: place.generation,
            restart: place.restart,
            best: best.map(|b| b.cost).into_iter().chain(team.best).reduce(f64::min),
            median: last.get(last.len() / 2).copied(),
            sigma: self.state.search.run().sigma(),
            failures: self.state.counts.failures() + team.failures,
        });
        Ok(evaluation)
    }

    /// A row of `history.csv`: what a generation came to, and the distribution that it was drawn from; `known` holds the costs of
    /// its candidates that are no failures, sorted.
    fn write_history(
        &mut self,
        place: Place,
        drawn_from: &Cma,
        known: &[f64],
        evaluated: usize,
    ) -> Result<(), StudyError> {
        let number = |v: Option<f64>| v.map_or(String::new(), exact);
        let median = match known.len() {
            0 => None,
            n => Some(0.5 * known[(n - 1) / 2] + 0.5 * known[n / 2]),
        };
        let mut fields = vec![
            place.generation.to_string(),
            place.restart.to_string(),
            self.state.counts.total().to_string(),
            number(self.state.best.as_ref().map(|b| b.cost)),
            number(known.first().copied()),
            number(median),
            number(known.last().copied()),
            exact(nine_digits(drawn_from.sigma())),
            exact(nine_digits(drawn_from.axis_ratio())),
            drawn_from.population().to_string(),
            (evaluated - known.len()).to_string(),
        ];
        let means = self.setup.values(&drawn_from.mean());
        for (mean, std) in means.iter().zip(drawn_from.std()) {
            fields.push(exact(*mean));
            fields.push(exact(nine_digits(std)));
        }
        let line = Columns::line(&fields);
        let path = self.claim.path.join(HISTORY);
        if let Err(error) = self.history.write_all(&line) {
            // a piece of a row that stays is written over when the study is resumed
            let _ = self.history.set_len(self.state.history.bytes);
            return Err(io("write to", &path)(error));
        }
        self.state.history = self.state.history.after(&line);
        Ok(())
    }

    /// Writes the checkpoint, when the disk has what it counts on.
    fn save(&mut self) -> Result<(), StudyError> {
        self.log.sync()?;
        let path = self.claim.path.join(HISTORY);
        self.history.sync_data().map_err(io("write to", &path))?;
        checkpoint::write(&self.claim.path.join(CHECKPOINT), self.fingerprint, &self.state)?;
        self.saved = true;
        Ok(())
    }

    /// `best.toml`, `mean.toml` and their parameters.
    fn write_texts(&self, texts: Option<&dyn Texts>, sync: bool) -> Result<(), StudyError> {
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
                sync,
            )?;
            if let Some(texts) = texts {
                let comment = format!(
                    "{comment}\nWritten by ambler {}; `ambler run` on this file runs every scenario and prints the score.",
                    env!("CARGO_PKG_VERSION")
                );
                let text = texts.experiment_text(parameters, seeds, &comment)?;
                self.replace(&format!("{name}.toml"), text.as_bytes(), sync)?;
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
        if let Ok(mut file) = File::options().create(true).append(true).open(path) {
            let _ = writeln!(file, "{}: {line}", utc(SystemTime::now()));
        }
    }
}

/// What evaluations are made with, and what lasts as long as the call.
struct Team<'a> {
    evaluator: &'a dyn Evaluator,
    pool: &'a rayon::ThreadPool,
    options: &'a Options<'a>,
    observer: &'a mut dyn FnMut(&Progress),
    /// Evaluations of this call.
    made: u64,
    /// Smallest cost and failures of the generation under way.
    best: Option<f64>,
    failures: u64,
    next_save: Instant,
    next_note: Instant,
}

/// Whether the cost is that of a motion to its end: neither a penalty nor a lower bound.
fn is_judged(evaluation: &Evaluation) -> bool {
    !evaluation.outcome.is_failure() && evaluation.outcome != Outcome::Hopeless
}

/// Where in the search an evaluation belongs.
#[derive(Clone, Copy)]
struct Place {
    generation: u64,
    restart: u32,
}

impl Place {
    /// What the row of this number says of it.
    fn keys(self, number: u64, kind: &str, candidate: usize) -> Vec<String> {
        vec![
            number.to_string(),
            self.generation.to_string(),
            self.restart.to_string(),
            kind.to_string(),
            candidate.to_string(),
        ]
    }
}

/// What came of the jobs of one kind.
struct Evaluated {
    results: Vec<Evaluation>,
    beside: Option<Evaluation>,
}

/// Opens `history.csv` for appending behind what the checkpoint knows of, and tells how far that is.
fn open_history(path: &Path, mark: Option<Mark>, names: &[String]) -> Result<(File, Mark), StudyError> {
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
    header.extend(names.iter().flat_map(|n| [format!("mean_{n}"), format!("std_{n}")]));
    let Some(mark) = mark else {
        let line = Columns::line(&header);
        let mut file = File::create(path).map_err(io("write to", path))?;
        file.write_all(&line).map_err(io("write to", path))?;
        return Ok((file, Mark::default().after(&line)));
    };
    let mut file = open_file(path)?;
    skip_known(&mut file, path, mark)?;
    // rows of generations that the checkpoint does not know of are written again
    file.set_len(mark.bytes).map_err(io("write to", path))?;
    file.seek(SeekFrom::Start(mark.bytes)).map_err(io("read", path))?;
    Ok((file, mark))
}

/// A time as `2026-03-09 15:04:05 UTC`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // the calendar repeats every 400 years; years are counted from March, so that the leap day is the last one
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + next;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // leap days, ends of centuries, ends of years: the well-known seconds since 1970
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
