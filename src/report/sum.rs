//! A sum over things of which some are not known.

use std::ops::AddAssign;

/// A sum that remembers what it lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum<T> {
    total: T,
    known: u64,
    unknown: u64,
}

impl<T: AddAssign + Copy> Sum<T> {
    /// Adds one.
    pub fn add(&mut self, one: Option<T>) {
        match one {
            Some(one) => {
                self.total += one;
                self.known += 1;
            }
            None => self.unknown += 1,
        }
    }

    /// The sum of the known ones; none where things were added and none of them is known.
    pub fn figure(&self) -> Option<T> {
        (self.known > 0 || self.unknown == 0).then_some(self.total)
    }

    /// How many are not in the figure.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_not_zero() {
        let mut sum = Sum::<u64>::default();
        assert_eq!((sum.figure(), sum.unknown()), (Some(0), 0));
        sum.add(None);
        assert_eq!((sum.figure(), sum.unknown()), (None, 1));
        sum.add(Some(3));
        assert_eq!((sum.figure(), sum.unknown()), (Some(3), 1));
    }
}
