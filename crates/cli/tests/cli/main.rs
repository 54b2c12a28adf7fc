//! The command as its users run it: processes, files and exit codes.

mod arrays;
mod bodies;
mod bootstrap;
mod evaluate;
mod flow;
mod interrupted;
#[cfg(unix)]
mod outputs;
mod pack;
mod ranks;
mod refusals;
mod sharing;
mod streams;
mod support;
mod switching;
