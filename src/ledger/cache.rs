//! A cache that holds what was used last, bounded by bytes.

use std::hash::Hash;

use hashlink::LruCache;

/// The most recently used values, up to a weight.
pub struct Cache<K: Eq + Hash, V> {
    entries: LruCache<K, (V, usize)>,
    held: usize,
    budget: usize,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// An empty cache that holds at most `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self {
            entries: LruCache::new_unbounded(),
            held: 0,
            budget,
        }
    }

    /// A value, which so becomes the most recently used.
    pub fn get(&mut self, key: &K) -> Option<V> {
        self.entries.get(key).map(|(value, _)| value.clone())
    }

    /// Adds or replaces a value of `weight` bytes; the values unused for longest make room for it.
    pub fn put(&mut self, key: K, value: V, weight: usize) {
        if let Some((_, old)) = self.entries.insert(key, (value, weight)) {
            self.held -= old;
        }
        self.held += weight;
        while self.held > self.budget
            && let Some((_, (_, old))) = self.entries.remove_lru()
        {
            self.held -= old;
        }
    }

    /// Forgets a value.
    pub fn remove(&mut self, key: &K) {
        if let Some((_, old)) = self.entries.remove(key) {
            self.held -= old;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_the_bound_holds() {
        let mut cache = Cache::new(10);
        cache.put('a', 1, 4);
        cache.put('b', 2, 4);
        assert_eq!(cache.get(&'a'), Some(1));
        cache.put('c', 3, 4);
        assert_eq!(
            (cache.get(&'a'), cache.get(&'b'), cache.get(&'c')),
            (Some(1), None, Some(3))
        );
        cache.put('a', 5, 3);
        assert_eq!(cache.held, 7);
        cache.put('d', 6, 11);
        assert_eq!((cache.get(&'d'), cache.held), (None, 0));
    }
}
