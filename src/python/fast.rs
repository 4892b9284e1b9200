//! The calls into C that make the border cheap: all unsafe code of the crate is here.
//!
//! Reading: a built-in container lends what it holds as addresses, so that a list which holds the same objects as the one
//! before is recognised by comparing memory. Writing: partitions are allocated as what they are, tuples of their class,
//! and are not shown to the garbage collector, since a str and an int cannot be part of a cycle.
//!
//! The stable ABI and builds without a global lock have no such access; there the same is done by safe calls (`portable`).
#![allow(unsafe_code, reason = "what these calls save is most of the time of assign and plan")]

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::alloc::Allocation;
use arrow_buffer::{Buffer, ScalarBuffer};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple, PyType};

use super::plan::PyPlan;
use crate::plan::{Columns, Plan};

/// An object that a container holds, without a reference of its own: it may be looked at while the container is lent.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Entry<'a> {
    object: NonNull<ffi::PyObject>,
    lent: PhantomData<&'a ffi::PyObject>,
}

impl<'a> Entry<'a> {
    /// What tells it from every other object that lives.
    pub(super) fn address(self) -> usize {
        self.object.as_ptr() as usize
    }

    /// Whether somebody else holds it, too: then it is likely to be met again.
    pub(super) fn is_shared(self) -> bool {
        // SAFETY: the object is alive, since its container is lent and holds it.
        unsafe { ffi::Py_REFCNT(self.object.as_ptr()) > 1 }
    }

    /// Has the processor fetch it, since it will be looked at soon; this has no other effect.
    #[inline]
    pub(super) fn fetch(self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let object = self.object.as_ptr().cast::<i8>();
            // SAFETY: a hint reads nothing, whatever the address. A `str` is a head of some 50 bytes and then its text.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(object);
                _mm_prefetch::<_MM_HINT_T0>(object.wrapping_add(48));
            }
        }
    }

    /// The two fields of an instance of just this class, which is a named tuple that passed `check_class`.
    #[inline]
    pub(super) fn pair(self, class: Class) -> Option<[Entry<'a>; 2]> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, since its container is lent and holds it; of just this class it is laid out as a
        // tuple, which keeps what it holds alive and never changes. One of another length has no second field.
        unsafe {
            if ffi::Py_TYPE(object) as usize != class.0 || ffi::PyTuple_Size(object) != 2 {
                return None;
            }
            let field =
                |place| NonNull::new(tuple_item(object, place)).map(|object| Entry { object, lent: PhantomData });
            Some([field(0)?, field(1)?])
        }
    }

    /// What a plain tuple holds, written into a buffer that is cleared first.
    #[inline]
    pub(super) fn tuple(self, held: &mut Vec<Entry<'a>>) -> Option<()> {
        let object = self.object.as_ptr();
        held.clear();
        // SAFETY: the object is alive, as above; of just this class it is a tuple, which keeps what it holds alive.
        unsafe {
            if ffi::PyTuple_CheckExact(object) == 0 {
                return None;
            }
            for place in 0..ffi::PyTuple_Size(object) {
                held.push(Entry { object: NonNull::new(tuple_item(object, place))?, lent: PhantomData });
            }
        }
        Some(())
    }

    /// The number of a plain `int` that int32 holds.
    #[inline]
    pub(super) fn int(self) -> Option<i32> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, as above, and an int, of which the call says without an error whether it is too large.
        unsafe {
            if ffi::PyLong_CheckExact(object) == 0 {
                return None;
            }
            let mut overflow = 0;
            let number = ffi::PyLong_AsLongAndOverflow(object, &raw mut overflow);
            if overflow == 0 { i32::try_from(number).ok() } else { None }
        }
    }

    /// The text of a `str`; None for anything else, and for one with a lone surrogate.
    ///
    /// After None nothing that is lent may be looked at any more: the error that was set and cleared is an object, whose
    /// making may collect garbage (before 3.12), and so run finalizers, which may change the container.
    #[inline]
    pub(super) fn text(self) -> Option<&'a str> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, since its container is lent and holds it, and so are the bytes, which are part of it:
        // a `str` never changes, and keeps the UTF-8 that was once made of it. That the bytes are UTF-8 is what ASCII and
        // the call promise. The interpreter is attached, because `lend` is given a `Bound` and does not detach.
        unsafe {
            if ffi::PyUnicode_Check(object) == 0 {
                return None;
            }
            #[cfg(not(any(Py_LIMITED_API, Py_3_14, Py_GIL_DISABLED)))]
            if ffi::PyUnicode_IS_COMPACT_ASCII(object) != 0 {
                let length = ffi::PyUnicode_GET_LENGTH(object) as usize;
                let bytes = std::slice::from_raw_parts(ffi::PyUnicode_DATA(object).cast::<u8>(), length);
                return Some(std::str::from_utf8_unchecked(bytes));
            }
            let mut length = 0;
            let bytes = ffi::PyUnicode_AsUTF8AndSize(object, &raw mut length);
            if bytes.is_null() {
                ffi::PyErr_Clear();
                return None;
            }
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
            Some(std::str::from_utf8_unchecked(bytes))
        }
    }
}

/// A class by its address, which is compared with those of other classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class(usize);

impl Class {
    /// A class that passes `check_class`.
    pub(super) fn checked(class: &Bound<'_, PyType>) -> PyResult<Self> {
        check_class(class)?;
        Ok(Self(class.as_type_ptr() as usize))
    }
}

/// What a tuple holds at a place, without a reference of its own.
///
/// # Safety
/// It is a tuple, alive, and has that place.
#[inline]
unsafe fn tuple_item(tuple: *mut ffi::PyObject, place: ffi::Py_ssize_t) -> *mut ffi::PyObject {
    // SAFETY: the caller sees to it.
    unsafe {
        #[cfg(not(Py_LIMITED_API))]
        return ffi::PyTuple_GET_ITEM(tuple, place);
        #[cfg(Py_LIMITED_API)]
        return ffi::PyTuple_GetItem(tuple, place);
    }
}

/// How many references there are to an object, ours among them.
pub(super) fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: the object is alive, since `object` is a reference to it.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// The addresses of entries.
pub(super) fn addresses<'e>(entries: &'e [Entry<'_>]) -> &'e [usize] {
    // SAFETY: an entry is a pointer and nothing else (`repr(transparent)`), and a pointer has the layout of a `usize`.
    unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), entries.len()) }
}

/// Calls `read` with what a list, tuple, set or frozenset holds, in the order of iteration; None for anything else.
///
/// `read` must not run Python code, which might change the container: being `Send` it can hold nothing of Python's.
pub(super) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T + Send) -> Option<T> {
    direct::lend(container, read)
}

/// A partition id as Python has it; where memory ends this is an error, and no panic.
pub(super) fn int(py: Python<'_>, id: i32) -> PyResult<Py<PyInt>> {
    // SAFETY: the call gives a new reference to an int, or sets an error.
    let id = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLong(id.into()))?.cast_into_unchecked() };
    Ok(id.unbind())
}

/// A list of partitions in the making.
pub(super) struct Partitions<'py> {
    list: Bound<'py, PyList>,
    class: Bound<'py, PyType>,
    filled: usize,
    length: usize,
}

impl<'py> Partitions<'py> {
    /// A list that is to hold so many objects; `class` makes partitions and passed `check_class`.
    pub(super) fn new(class: &Bound<'py, PyType>, length: usize) -> PyResult<Self> {
        let size = ffi::Py_ssize_t::try_from(length)?;
        // SAFETY: the call gives a new reference or sets an error. The list may hold nulls as long as nobody looks at it,
        // and its destructor expects them: it leaves here through `finish` only, full.
        let list = unsafe { Bound::from_owned_ptr_or_err(class.py(), ffi::PyList_New(size))?.cast_into_unchecked() };
        Ok(Self { list, class: class.clone(), filled: 0, length })
    }

    /// Adds one new partition of a topic for each id.
    pub(super) fn push_new(&mut self, topic: &Bound<'py, PyString>, ids: &[Py<PyInt>]) -> PyResult<()> {
        for id in ids {
            let partition = direct::new_partition(&self.class, topic, id)?;
            self.push(partition);
        }
        Ok(())
    }

    /// Adds objects that exist.
    pub(super) fn push_shared(&mut self, objects: &[Py<PyAny>]) {
        let py = self.list.py();
        for object in objects {
            self.push(object.clone_ref(py).into_bound(py));
        }
    }

    #[inline]
    fn push(&mut self, object: Bound<'py, PyAny>) {
        assert!(self.filled < self.length, "a list of {} partitions is full", self.length);
        // SAFETY: the place is within the list and empty, and the list takes over the reference. In the stable ABI the call
        // is a function that checks the same; it cannot fail here.
        unsafe {
            let place = self.filled as ffi::Py_ssize_t;
            #[cfg(not(Py_LIMITED_API))]
            ffi::PyList_SET_ITEM(self.list.as_ptr(), place, object.into_ptr());
            #[cfg(Py_LIMITED_API)]
            ffi::PyList_SetItem(self.list.as_ptr(), place, object.into_ptr());
        }
        self.filled += 1;
    }

    /// The list, which has to be full.
    pub(super) fn finish(self) -> Bound<'py, PyList> {
        assert_eq!(self.filled, self.length, "a list of partitions is not full");
        self.list
    }
}

/// Keeps Python from collecting garbage until dropped.
///
/// None can come of building tuples of a str and an int, but each of them counts towards the next collection, and the
/// collections would cost several times what the building does.
pub(super) struct NoCollection<'py> {
    was_enabled: bool,
    attached: PhantomData<Python<'py>>,
}

impl<'py> NoCollection<'py> {
    pub(super) fn new(_py: Python<'py>) -> Self {
        // SAFETY: the interpreter is attached, as `_py` shows; the call changes a flag and gives the one before.
        let was_enabled = unsafe { ffi::PyGC_Disable() } == 1;
        Self { was_enabled, attached: PhantomData }
    }
}

impl Drop for NoCollection<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the interpreter is attached, since this cannot outlive the `Python` it was made with.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

/// A column of a plan as a read-only numpy array over the plan's own memory.
pub(super) fn numpy_column<'py>(
    plan: &Bound<'py, PyPlan>,
    column: for<'a> fn(&'a Columns) -> &'a [i32],
) -> Bound<'py, PyArray1<i32>> {
    let values = ArrayView1::from(column(plan.get().plan.columns()));
    // SAFETY: the memory belongs to the columns of this plan, which are made once and never change; the array holds the
    // plan, and so the memory, and nobody can write through it.
    let array = unsafe { PyArray1::borrow_from_array(&values, plan.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array
}

/// A column of a plan as an Arrow buffer over the plan's own memory.
pub(super) fn arrow_column(plan: &Arc<Plan>, column: for<'a> fn(&'a Columns) -> &'a [i32]) -> ScalarBuffer<i32> {
    let values = column(plan.columns());
    let Some(place) = NonNull::new(values.as_ptr().cast_mut()).filter(|_| !values.is_empty()) else {
        return ScalarBuffer::from(Vec::new());
    };
    // SAFETY: the memory is that of a slice which belongs to the plan, is made once and never changes; the buffer holds the
    // plan, and so the memory. A slice of i32 is aligned as the buffer needs it.
    let buffer = unsafe {
        Buffer::from_custom_allocation(place.cast(), size_of_val(values), Arc::clone(plan) as Arc<dyn Allocation>)
    };
    ScalarBuffer::from(buffer)
}

/// The columns of a plan, in the order in which they are handed out.
pub(super) const COLUMNS: [fn(&Columns) -> &[i32]; 4] =
    [|columns| &columns.member, |columns| &columns.topic, |columns| &columns.start, |columns| &columns.count];

/// Refuses a class whose instances are not laid out as tuples are.
pub(super) fn check_class(class: &Bound<'_, PyType>) -> PyResult<()> {
    let tuple = class.py().get_type::<PyTuple>();
    let same = |name: &str| class.getattr(name)?.eq(tuple.getattr(name)?);
    for name in ["__basicsize__", "__itemsize__", "__dictoffset__", "__weakrefoffset__"] {
        if !same(name)? || !class.getattr("__base__")?.is(&tuple) {
            return Err(PyTypeError::new_err(format!("{class} has another {name} than tuple, and so is none inside")));
        }
    }
    Ok(())
}

/// What CPython's own headers allow.
#[cfg(not(any(Py_LIMITED_API, Py_GIL_DISABLED)))]
mod direct {
    use pyo3::types::{PyFrozenSet, PySet, PyTuple};

    use super::{
        Bound, Entry, NonNull, Py, PyAny, PyAnyMethods, PyErr, PyInt, PyResult, PyString, PyType, PyTypeMethods, ffi,
    };

    pub(super) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
        let object = container.as_ptr();
        if container.is_exact_instance_of::<super::PyList>() {
            let list = object.cast::<ffi::PyListObject>();
            // SAFETY: it is a list, alive, and nobody changes it while `read` runs, which runs no Python code under the
            // global lock. `ob_item` points to as many valid references as the list is long, and is null if it is empty.
            let entries = unsafe {
                let length = ffi::PyList_GET_SIZE(object) as usize;
                if length == 0 { &[] } else { std::slice::from_raw_parts((*list).ob_item.cast(), length) }
            };
            return Some(read(entries));
        }
        if container.is_exact_instance_of::<PyTuple>() {
            let tuple = object.cast::<ffi::PyTupleObject>();
            // SAFETY: it is a tuple, alive, and tuples do not change; its references follow its head.
            let entries = unsafe {
                let length = ffi::PyTuple_GET_SIZE(object) as usize;
                std::slice::from_raw_parts((&raw const (*tuple).ob_item).cast(), length)
            };
            return Some(read(entries));
        }
        if container.is_exact_instance_of::<PySet>() || container.is_exact_instance_of::<PyFrozenSet>() {
            let set = object.cast::<ffi::PySetObject>();
            // SAFETY: it is a set, alive, and nobody changes it while this runs. Its table has `mask + 1` places; one is in
            // use if its key is not null and not the mark of a removed key, the only one whose hash is -1.
            let entries: Vec<Entry<'_>> = unsafe {
                let mut entries = Vec::with_capacity((*set).used as usize);
                let places = std::slice::from_raw_parts((*set).table, (*set).mask as usize + 1);
                for place in places {
                    if let Some(object) = NonNull::new(place.key)
                        && place.hash != -1
                    {
                        entries.push(Entry { object, lent: super::PhantomData });
                    }
                }
                entries
            };
            return Some(read(&entries));
        }
        None
    }

    /// A tuple of that class: allocated, filled, and never tracked.
    #[inline]
    pub(super) fn new_partition<'py>(
        class: &Bound<'py, PyType>,
        topic: &Bound<'py, PyString>,
        id: &Py<PyInt>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = topic.py();
        // SAFETY: `check_class` saw that instances are laid out as tuples. The call allocates one of two places and sets its
        // head; both places are filled before anybody can see it, with references of their own. From 3.14 on the head
        // has the hash besides, of which -1 says that it is not known yet.
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

/// The same by calls that every Python has.
#[cfg(any(Py_LIMITED_API, Py_GIL_DISABLED))]
mod direct {
    use pyo3::sync::PyOnceLock;
    use pyo3::types::{PyFrozenSet, PySet, PyTuple};

    use super::{Bound, Entry, NonNull, Py, PyAny, PyAnyMethods, PyErr, PyInt, PyList, PyResult, PyString, PyType};

    pub(super) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
        let known = container.is_exact_instance_of::<PyList>()
            || container.is_exact_instance_of::<PyTuple>()
            || container.is_exact_instance_of::<PySet>()
            || container.is_exact_instance_of::<PyFrozenSet>();
        if !known {
            return None;
        }
        // References of our own keep the entries alive, whatever happens to the container.
        let held: Vec<Bound<'_, PyAny>> = container.try_iter().ok()?.collect::<PyResult<_>>().ok()?;
        let entry = |object: &Bound<'_, PyAny>| {
            Some(Entry { object: NonNull::new(object.as_ptr())?, lent: super::PhantomData })
        };
        let entries: Vec<Entry<'_>> = held.iter().filter_map(entry).collect();
        Some(read(&entries))
    }

    /// A partition as a named tuple's own `_make` makes it, which spares a call of Python code for each.
    pub(super) fn new_partition<'py>(
        class: &Bound<'py, PyType>,
        topic: &Bound<'py, PyString>,
        id: &Py<PyInt>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static NEW_TUPLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = topic.py();
        let new_tuple =
            NEW_TUPLE.get_or_try_init(py, || Ok::<_, PyErr>(py.get_type::<PyTuple>().getattr("__new__")?.unbind()))?;
        new_tuple.bind(py).call1((class, (topic, id.bind(py))))
    }
}
