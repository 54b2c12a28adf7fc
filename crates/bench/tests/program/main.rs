//! The benchmark program as its users run it: its command line and its rows.

mod command_line;
mod rows;
mod support;
