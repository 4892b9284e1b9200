//! Order in which a `java.util.PriorityQueue` returns elements with equal keys.
//!
//! Source: `java.util.PriorityQueue` of Java 17.

/// Binary heap in an array, whose first element has the least key.
///
/// Elements with equal keys have no fixed order: it follows from where each comparison of the heap puts them. The caller passes the
/// keys, which must not change for elements in the queue.
#[derive(Default)]
pub(super) struct JavaQueue {
    elements: Vec<u32>,
}

impl JavaQueue {
    /// Create a queue; the elements are added in their order.
    pub(super) fn new<K: PartialOrd>(elements: impl ExactSizeIterator<Item = u32>, key: impl Fn(u32) -> K) -> Self {
        let mut queue = Self { elements: Vec::with_capacity(elements.len()) };
        for element in elements {
            queue.add(element, &key);
        }
        queue
    }

    /// Add an element at the end; it goes up while its key is less than that of its parent.
    pub(super) fn add<K: PartialOrd>(&mut self, element: u32, key: impl Fn(u32) -> K) {
        let mut place = self.elements.len();
        self.elements.push(element);
        let own = key(element);
        while place > 0 {
            let parent = (place - 1) / 2;
            if own >= key(self.elements[parent]) {
                break;
            }
            self.elements[place] = self.elements[parent];
            place = parent;
        }
        self.elements[place] = element;
    }

    /// Remove and return the first element. The last one takes its place and goes down below all lesser keys.
    pub(super) fn take<K: PartialOrd>(&mut self, key: impl Fn(u32) -> K) -> Option<u32> {
        let last = self.elements.pop()?;
        let Some(first) = self.elements.first().copied() else { return Some(last) };
        let (own, count) = (key(last), self.elements.len());
        let (mut place, mut child) = (0, 1);
        while child < count {
            if child + 1 < count && key(self.elements[child + 1]) < key(self.elements[child]) {
                child += 1;
            }
            if own <= key(self.elements[child]) {
                break;
            }
            self.elements[place] = self.elements[child];
            place = child;
            child = 2 * child + 1;
        }
        self.elements[place] = last;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(keys: &[u32]) -> Vec<u32> {
        let key = |element: u32| keys[element as usize];
        let mut queue = JavaQueue::new(0..keys.len() as u32, key);
        std::iter::from_fn(|| queue.take(key)).collect()
    }

    #[test]
    fn the_least_key_comes_first() {
        assert_eq!(vec![3, 1, 4, 0, 2], taken(&[4, 1, 5, 0, 2]));
    }

    #[test]
    fn equal_keys_come_in_the_order_of_javas_heap() {
        assert_eq!(vec![0, 3, 2, 1], taken(&[1; 4]));
        assert_eq!(vec![0, 6, 5, 4, 3, 2, 1], taken(&[1; 7]));
    }
}
