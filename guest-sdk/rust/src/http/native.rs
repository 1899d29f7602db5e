//! A stand-in for the network in native tests: what a test put there is what comes back, once each. It sends nothing.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::HttpError;
use super::Request;
use super::Response;

thread_local! {
    static ANSWERS: RefCell<VecDeque<Response>> = RefCell::default();
}

/// What the next request of this thread gets that none was meant for yet.
pub fn answer_next(response: Response) {
    ANSWERS.with_borrow_mut(|answers| answers.push_back(response));
}

pub(super) fn send(request: &Request) -> Result<Response, HttpError> {
    let answer = ANSWERS.with_borrow_mut(VecDeque::pop_front);
    answer.ok_or_else(|| HttpError(format!("no answer was put there for `{}`", request.url)))
}
