//! Construction of lists of `TopicPartition`: instances of a checked tuple class with a topic and a partition id.
//!
//! The garbage collector does not track these tuples, because a str and an int cannot be part of a cycle.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString};

use super::tuple_class::TupleClass;

/// Return a partition id as a Python int; running out of memory is an error and not a panic.
pub(crate) fn int(py: Python<'_>, id: i32) -> PyResult<Py<PyInt>> {
    // SAFETY: the call returns a new reference to an int, or sets an error.
    let id = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLong(id.into()))?.cast_into_unchecked() };
    Ok(id.unbind())
}

/// A list of partitions under construction.
pub(crate) struct PartitionList<'a, 'py> {
    list: Bound<'py, PyList>,
    class: &'a TupleClass,
    filled: usize,
    length: usize,
}

impl<'a, 'py> PartitionList<'a, 'py> {
    /// Start a list of a given length.
    pub(crate) fn new(py: Python<'py>, class: &'a TupleClass, length: usize) -> PyResult<Self> {
        let size = ffi::Py_ssize_t::try_from(length)?;
        // SAFETY: the call returns a new reference or sets an error. The list contains nulls until it is full. Until `finish`
        // returns it, Python code cannot reach it: it is untracked, so the collector does not list it. Its destructor accepts
        // nulls.
        let list = unsafe {
            let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(size))?;
            ffi::PyObject_GC_UnTrack(list.as_ptr().cast());
            list.cast_into_unchecked()
        };
        Ok(Self { list, class, filled: 0, length })
    }

    /// Add a new partition of a topic for each id.
    pub(crate) fn push_new(&mut self, topic: &Bound<'py, PyString>, ids: &[Py<PyInt>]) -> PyResult<()> {
        for id in ids {
            let partition = access::new_partition(self.class, topic, id)?;
            self.push(partition);
        }
        Ok(())
    }

    /// Add existing objects.
    pub(crate) fn push_shared(&mut self, objects: &[Py<PyAny>]) {
        let py = self.list.py();
        for object in objects {
            self.push(object.clone_ref(py).into_bound(py));
        }
    }

    #[inline]
    fn push(&mut self, object: Bound<'py, PyAny>) {
        assert!(self.filled < self.length, "a list of {} partitions is full", self.length);
        // SAFETY: the index is within the list and its slot is empty; the list takes ownership of the reference. In the
        // stable ABI the call is a function that checks the index, which is valid.
        unsafe {
            let index = self.filled as ffi::Py_ssize_t;
            #[cfg(not(Py_LIMITED_API))]
            ffi::PyList_SET_ITEM(self.list.as_ptr(), index, object.into_ptr());
            #[cfg(Py_LIMITED_API)]
            ffi::PyList_SetItem(self.list.as_ptr(), index, object.into_ptr());
        }
        self.filled += 1;
    }

    /// Return the full list.
    pub(crate) fn finish(self) -> Bound<'py, PyList> {
        assert_eq!(self.filled, self.length, "a list of partitions is not full");
        // SAFETY: the list is an untracked object with garbage collection support, and contains only valid objects.
        unsafe { ffi::PyObject_GC_Track(self.list.as_ptr().cast()) };
        self.list
    }
}

/// Direct construction of partitions, by CPython's headers.
#[cfg(not(any(Py_LIMITED_API, Py_GIL_DISABLED)))]
mod access {
    use super::{Bound, Py, PyAny, PyErr, PyInt, PyResult, PyString, TupleClass, ffi};

    /// Return a new, untracked instance of the class.
    #[inline]
    pub(super) fn new_partition<'py>(
        class: &TupleClass,
        topic: &Bound<'py, PyString>,
        id: &Py<PyInt>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = topic.py();
        // SAFETY: a `TupleClass` guarantees that instances have the layout of a tuple. The call allocates an instance with two
        // items and initializes its header. Both items are set to new references before other code can see the instance. From
        // Python 3.14 on the header also caches the hash; -1 means that it is not computed yet.
        unsafe {
            let tuple = ffi::PyObject_GC_NewVar::<ffi::PyTupleObject>(class.as_type_ptr(), 2);
            if tuple.is_null() {
                return Err(PyErr::fetch(py));
            }
            #[cfg(Py_3_14)]
            {
                (*tuple).ob_hash = -1;
            }
            let tuple = tuple.cast::<ffi::PyObject>();
            ffi::PyTuple_SET_ITEM(tuple, 0, topic.clone().into_ptr());
            ffi::PyTuple_SET_ITEM(tuple, 1, id.clone_ref(py).into_ptr());
            Ok(Bound::from_owned_ptr(py, tuple))
        }
    }
}

/// Construction through the stable API.
#[cfg(any(Py_LIMITED_API, Py_GIL_DISABLED))]
mod access {
    use pyo3::sync::PyOnceLock;
    use pyo3::types::PyTuple;

    use super::{Bound, Py, PyAny, PyAnyMethods, PyErr, PyInt, PyResult, PyString, TupleClass};

    /// Return a new instance by `tuple.__new__`, which runs no Python code.
    pub(super) fn new_partition<'py>(
        class: &TupleClass,
        topic: &Bound<'py, PyString>,
        id: &Py<PyInt>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static NEW_TUPLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = topic.py();
        let new_tuple =
            NEW_TUPLE.get_or_try_init(py, || Ok::<_, PyErr>(py.get_type::<PyTuple>().getattr("__new__")?.unbind()))?;
        new_tuple.bind(py).call1((class.bind(py), (topic, id.bind(py))))
    }
}
