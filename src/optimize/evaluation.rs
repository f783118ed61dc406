//! What is optimised: a pure function from parameters and seeds to a cost and named measures.

use std::sync::atomic::AtomicBool;

/// How an evaluation ended, from best to worst; of several rollouts the worst counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Every rollout ran to its end.
    Completed,
    /// A character fell. The cost says what that means.
    Fell,
    /// Given up because it could no longer be better than what it was compared with; the cost is a lower bound.
    Hopeless,
    /// The simulation diverged.
    Diverged,
    /// The parameters make no valid experiment.
    Invalid,
}

impl Outcome {
    pub const ALL: [Outcome; 5] = [
        Outcome::Completed,
        Outcome::Fell,
        Outcome::Hopeless,
        Outcome::Diverged,
        Outcome::Invalid,
    ];

    /// Its word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Fell => "fell",
            Outcome::Hopeless => "hopeless",
            Outcome::Diverged => "diverged",
            Outcome::Invalid => "invalid",
        }
    }

    /// The outcome with this word.
    pub fn from_name(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|o| o.name() == name)
    }

    /// Whether the cost is no judgement of a motion but a penalty for there being none.
    pub fn is_failure(self) -> bool {
        matches!(self, Outcome::Diverged | Outcome::Invalid)
    }
}

/// What came of evaluating a vector of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Smaller is better; always finite.
    pub cost: f64,
    /// One per [`Evaluator::measures`], the mean over what was simulated; NaN where it is not known.
    pub measures: Vec<f64>,
    pub outcome: Outcome,
    /// Why, for [`Outcome::Diverged`] and [`Outcome::Invalid`]; of one kind of failure always the same words, without numbers.
    pub reason: Option<String>,
    /// Seconds simulated, over all rollouts.
    pub simulated_s: f64,
}

/// How an evaluation is asked for. Together with the parameters it determines the result to the bit, unless it is stopped.
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// One rollout of every scenario per seed; the seeds of the experiment and its scenarios if empty.
    pub seeds: &'a [u64],
    /// An evaluation whose cost is certain to be larger may be given up.
    pub hopeless_above: Option<f64>,
    /// The evaluation is given up, without a result, when it becomes true.
    pub stop: Option<&'a AtomicBool>,
}

/// A function to optimise. Pure: equal parameters and requests give equal results, on any thread and in any order.
pub trait Evaluator: Sync {
    /// Names of the measures of an [`Evaluation`], with their units as suffixes.
    fn measures(&self) -> &[String];

    /// `None` if it was stopped. What cannot be simulated is an [`Evaluation`] with a failure as its outcome, never an error.
    fn evaluate(&self, parameters: &[f64], request: &Request) -> Option<Evaluation>;
}
