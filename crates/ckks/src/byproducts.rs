//! What was computed of numbers that do not change, and is kept with them for the next time.

use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

/// How many byproducts of the same numbers are kept.
const MOST: usize = 2;

/// The last byproducts of some numbers, of any types. Clones share them, and numbers are equal whatever was
/// computed of them.
#[derive(Clone, Default)]
pub(crate) struct Byproducts(Arc<Mutex<Vec<Arc<dyn Any + Send + Sync>>>>);

impl PartialEq for Byproducts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Debug for Byproducts {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Byproducts")
    }
}

impl Byproducts {
    /// The byproduct that is kept, if it is the `wanted` one, or else what `make` makes.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn get<T: Any + Send + Sync, E>(
        &self,
        wanted: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        // Others that need the same wait for it.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().find_map(|own| own.clone().downcast::<T>().ok().filter(|own| wanted(own)));
        if let Some(known) = known {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push(made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn the_last_byproducts_of_any_types_are_kept() {
        let kept = Byproducts::default();
        let count = Mutex::new(0);
        let square = |of: u64| {
            let make = || {
                *count.lock().expect("no panic") += 1;
                Ok::<_, Infallible>((of, of * of))
            };
            let Ok(found) = kept.clone().get(|own: &(u64, u64)| own.0 == of, make);
            found.1
        };
        assert_eq!([square(3), square(3), square(4), square(3), square(4)], [9, 9, 16, 9, 16]);
        assert_eq!(*count.lock().expect("no panic"), 2);
        // Another type takes the place of the first.
        let Ok(text) = kept.get(|_: &String| true, || Ok::<_, Infallible>("text".to_owned()));
        assert_eq!((text.as_str(), square(4), *count.lock().expect("no panic")), ("text", 16, 2));
        assert_eq!((square(3), *count.lock().expect("no panic")), (9, 3));
        // What fails is not kept.
        assert_eq!(kept.get(|own: &(u64, u64)| own.0 == 7, || Err::<(u64, u64), _>("no")).err(), Some("no"));
        assert_eq!(square(3), 9);
        assert_eq!(*count.lock().expect("no panic"), 3);
    }
}
