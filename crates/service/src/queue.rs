//! The queue of waiting samples, stored as the bytes of their messages. Clients take turns: a batch takes one
//! sample of each client that has any, then another sample of each, until it is full; the next batch
//! continues with the next client. So at most one sample of each other client precedes a client's next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use clathrate_samples::ClientId;
use clathrate_samples::wire::Serial;

/// Waiting samples of one message, with consecutive counters.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub client: ClientId,
    /// The bodies of the message.
    pub bodies: Arc<[u8]>,
    /// The counter of the message's first sample.
    pub first: u64,
    /// The counters of the waiting samples.
    pub counters: Range<u64>,
    /// When the message was accepted, in milliseconds since 1970.
    pub at: u64,
    /// Number of messages that were accepted before this one.
    pub order: u64,
}

impl Waiting {
    fn count(&self) -> usize {
        (self.counters.end - self.counters.start) as usize
    }

    /// The samples with these counters.
    fn part(&self, counters: Range<u64>) -> Self {
        Self { counters, ..self.clone() }
    }
}

/// The waiting samples of one client.
#[derive(Debug, Default)]
struct Lane {
    /// In the order of acceptance.
    messages: VecDeque<Waiting>,
    /// Number of samples in the messages.
    samples: usize,
}

/// The waiting samples of all clients.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// By serial number; lanes without samples are removed.
    lanes: BTreeMap<Serial, Lane>,
    /// The clients with samples; the first one is next.
    turns: VecDeque<Serial>,
    /// Number of all messages so far.
    messages: u64,
    samples: usize,
}

impl Queue {
    /// Number of waiting samples.
    pub(crate) fn len(&self) -> usize {
        self.samples
    }

    /// Number of waiting samples of one client.
    pub(crate) fn of(&self, serial: &Serial) -> usize {
        self.lanes.get(serial).map_or(0, |lane| lane.samples)
    }

    /// When the oldest waiting sample was accepted.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.lanes.values().filter_map(|lane| lane.messages.front()).map(|message| message.at).min()
    }

    /// Adds all samples of a message.
    pub(crate) fn push(
        &mut self,
        serial: Serial,
        client: ClientId,
        at: u64,
        first: u64,
        count: usize,
        bodies: &[u8],
    ) {
        let counters = first..first + count as u64;
        let message = Waiting { client, bodies: bodies.into(), first, counters, at, order: self.messages };
        self.messages += 1;
        self.lane(serial, count).push_back(message);
    }

    /// The messages of a client, after `more` is added to its count of samples.
    fn lane(&mut self, serial: Serial, more: usize) -> &mut VecDeque<Waiting> {
        let lane = self.lanes.entry(serial).or_default();
        if lane.messages.is_empty() {
            self.turns.push_back(serial);
        }
        self.samples += more;
        lane.samples += more;
        &mut lane.messages
    }

    /// Takes at most `most` samples, in turns, of the clients whose samples fit those of the next client, as
    /// `alike` decides. Sorts them in the order of acceptance.
    pub(crate) fn take(
        &mut self,
        most: usize,
        alike: impl Fn(&Waiting, &Waiting) -> bool,
    ) -> Vec<(Serial, Waiting)> {
        let Self { lanes, turns, .. } = self;
        let front = |serial: &Serial| lanes.get(serial).and_then(|lane| lane.messages.front());
        let Some(wanted) = turns.front().and_then(front).cloned() else { return Vec::new() };
        let fits = |serial: &Serial| front(serial).is_some_and(|own| alike(&wanted, own));
        let (mut fitting, mut others): (VecDeque<_>, VecDeque<_>) = turns.drain(..).partition(fits);
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(serial) = fitting.pop_front()
        {
            let Some(lane) = lanes.get_mut(&serial) else { continue };
            let Some(message) = lane.messages.front_mut() else { continue };
            let counter = message.counters.start;
            taken.push((serial, message.part(counter..counter + 1)));
            message.counters.start += 1;
            lane.samples -= 1;
            if message.counters.is_empty() {
                lane.messages.pop_front();
            }
            if lane.messages.is_empty() {
                lanes.remove(&serial);
            } else {
                fitting.push_back(serial);
            }
        }
        // Clients whose samples did not fit are first in the next batch.
        others.append(&mut fitting);
        *turns = others;
        self.samples -= taken.len();
        taken.sort_by_key(|(_, sample)| (sample.order, sample.counters.start));
        taken
    }

    /// Puts taken samples back, before the waiting samples of the same clients.
    pub(crate) fn give_back(&mut self, taken: impl DoubleEndedIterator<Item = (Serial, Waiting)>) {
        for (serial, sample) in taken.rev() {
            let lane = self.lane(serial, sample.count());
            // Earlier samples of another batch may have been put back already.
            let place = lane.iter().position(|other| {
                (other.order, other.counters.start) > (sample.order, sample.counters.start)
            });
            match lane.get_mut(place.unwrap_or(lane.len())) {
                Some(next) if next.order == sample.order && next.counters.start == sample.counters.end => {
                    next.counters.start = sample.counters.start;
                }
                _ => lane.insert(place.unwrap_or(lane.len()), sample),
            }
        }
    }

    /// Removes samples that are done.
    pub(crate) fn remove(&mut self, done: &BTreeSet<(ClientId, u64)>) {
        for lane in self.lanes.values_mut() {
            let mut left = VecDeque::with_capacity(lane.messages.len());
            for message in lane.messages.drain(..) {
                let Range { mut start, end } = message.counters;
                let within = (message.client, start)..(message.client, end);
                for &(_, counter) in done.range(within) {
                    if start < counter {
                        left.push_back(message.part(start..counter));
                    }
                    self.samples -= 1;
                    lane.samples -= 1;
                    start = counter + 1;
                }
                if start < end {
                    left.push_back(message.part(start..end));
                }
            }
            lane.messages = left;
        }
        self.lanes.retain(|_, lane| !lane.messages.is_empty());
        self.turns.retain(|serial| self.lanes.contains_key(serial));
    }
}
