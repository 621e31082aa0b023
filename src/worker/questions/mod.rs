//! What a process that has the drivers is asked besides to measure. A question, its answer and who finds it are a file here; a line
//! in the list below has it sent, heard and tested.

pub mod bounds;
pub mod compile;
pub mod loaded;
pub mod trace;
pub mod trials;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Host, Isolated};
use crate::model::{Failure, Status};

pub trait Question: Into<AnyQuestion> {
    type Answer: Serialize + DeserializeOwned;

    fn answer(self, host: &Host, kept: &mut QuestionState) -> Result<Self::Answer, Failure>;

    /// A question and an answer with something in every part: they must arrive as they were sent.
    #[cfg(test)]
    fn example() -> (Self, Self::Answer);
}

/// What is known of every question: how it is sent, who answers it, and that it arrives.
macro_rules! questions {
    ($($name:ident($question:ty)),+ $(,)?) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum AnyQuestion {
            $(#[doc = concat!("A [`", stringify!($question), "`].")] $name(Box<$question>),)+
        }

        $(impl From<$question> for AnyQuestion {
            fn from(question: $question) -> Self {
                Self::$name(Box::new(question))
            }
        })+

        impl AnyQuestion {
            /// Answers it, in whatever form its answer is sent.
            pub(super) fn answer(self, host: &Host, kept: &mut QuestionState) -> Result<Value, Failure> {
                match self {
                    $(Self::$name(question) => question.answer(host, kept).and_then(sent),)+
                }
            }
        }

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn every_question_and_its_answer_arrive_as_they_were_sent() {
                $(arrives::<$question>();)+
            }
        }
    };
}

// All of them: what messages call each, and its type.
questions! {
    Compile(compile::Compile),
    OpenBounds(bounds::OpenBounds),
    CheckBounds(bounds::CheckBounds),
    Repeat(trials::Repeat),
    Vary(trials::Vary),
    FindIdle(trials::FindIdle),
    FindLoaded(loaded::FindLoaded),
    OpenTrace(trace::OpenTrace),
    RecordPass(trace::RecordPass),
    FindBarriers(trace::FindBarriers),
    AddBarriers(trace::AddBarriers),
    LookAtBounds(trace::LookAtBounds),
    CountOperations(trace::CountOperations),
    FindTouched(trace::FindTouched),
    TryAlteration(trace::TryAlteration),
    TryPoint(trace::TryPoint),
    CompileAhead(trace::CompileAhead),
}

/// What questions leave behind in a process, for those that come next.
#[derive(Default)]
pub struct QuestionState {
    checker: Option<Box<bounds::Checker>>,
    tracer: Option<Box<trace::Tracer>>,
}

impl QuestionState {
    fn tracer(&mut self) -> Result<&mut trace::Tracer, Failure> {
        self.tracer.as_deref_mut().ok_or_else(|| Failure::new(Status::Error, "no case is open to be recorded"))
    }

    fn checker(&mut self) -> Result<&mut bounds::Checker, Failure> {
        self.checker.as_deref_mut().ok_or_else(|| Failure::new(Status::Error, "no device is open for that"))
    }
}

pub enum Respondent<'h> {
    Here(&'h Host, QuestionState),
    Apart(Box<Isolated>),
}

impl Respondent<'_> {
    /// Asks something.
    pub fn ask<Q: Question>(&mut self, question: Q) -> Result<Q::Answer, Failure> {
        match self {
            Self::Here(host, kept) => question.answer(host, kept),
            Self::Apart(worker) => worker.ask(question),
        }
    }
}

fn sent(answer: impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(answer).map_err(|error| Failure::new(Status::Error, error.to_string()))
}

#[cfg(test)]
fn arrives<Q: Question<Answer: PartialEq + std::fmt::Debug>>() {
    use super::protocol::{LONGEST_REPLY, LONGEST_REQUEST, Line, Reply, Request, read, write};
    let (question, answer) = Q::example();
    let (request, mut pipe) = (Request::Ask(question.into()), Vec::new());
    write(&mut pipe, &request).unwrap();
    write(&mut pipe, &Reply::Answered(sent(&answer))).unwrap();
    let mut input = pipe.as_slice();
    assert_eq!(read(&mut input, LONGEST_REQUEST).unwrap(), Some(Line::Message(request)));
    let Some(Line::Message(Reply::Answered(Ok(heard)))) = read(&mut input, LONGEST_REPLY).unwrap() else {
        panic!("no answer to a question")
    };
    assert_eq!(serde_json::from_value::<Q::Answer>(heard).unwrap(), answer);
}
