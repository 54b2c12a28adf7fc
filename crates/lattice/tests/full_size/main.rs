//! The same at secure, full-size parameters: minutes and gigabytes, behind `make test-full`.

#[path = "../all/common/mod.rs"]
mod common;
mod switching;
mod temporary_rank;
