//! The objects that a built-in container holds, lent without a reference for each.
//!
//! A list that holds the same objects as the one before is recognised by comparing addresses, and the text of a `str` is
//! read where it lies.

use std::marker::PhantomData;
use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyList, PySet, PyTuple};

use super::tuple_class::TupleClass;

/// An object that a container holds, borrowed for as long as the container is lent.
///
/// It can neither leave the thread nor cross a release of the interpreter, since a pointer is neither `Send` nor `Sync`.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Entry<'a> {
    object: NonNull<ffi::PyObject>,
    lent: PhantomData<&'a ffi::PyObject>,
}

impl<'a> Entry<'a> {
    #[inline]
    fn new(object: *mut ffi::PyObject) -> Option<Self> {
        NonNull::new(object).map(|object| Self { object, lent: PhantomData })
    }

    /// Return the address, which no other live object has.
    #[inline]
    pub(crate) fn address(self) -> usize {
        self.object.as_ptr() as usize
    }

    /// Return true if anything besides the container refers to the object: then it is likely to be met again.
    pub(crate) fn is_shared(self) -> bool {
        // SAFETY: the object is alive, since its container is lent and holds it.
        unsafe { ffi::Py_REFCNT(self.object.as_ptr()) > access::REFERENCES_OF_A_LENT_OBJECT }
    }

    /// Ask the processor to load the object, which will be read soon.
    #[inline]
    pub(crate) fn prefetch(self) {
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

    /// Return the two fields of an instance of this very class; None for anything else.
    #[inline]
    pub(crate) fn pair(self, class: &TupleClass) -> Option<[Entry<'a>; 2]> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, since its container is lent and holds it; a `TupleClass` proves that an instance has
        // the layout of a tuple, which keeps its items alive and never changes. The length is checked.
        unsafe {
            if ffi::Py_TYPE(object) != class.as_type_ptr() || ffi::PyTuple_Size(object) != 2 {
                return None;
            }
            Some([Entry::new(tuple_item(object, 0))?, Entry::new(tuple_item(object, 1))?])
        }
    }

    /// Write the items of a plain tuple into a buffer, which is cleared first; None for anything else.
    #[inline]
    pub(crate) fn tuple(self, items: &mut Vec<Entry<'a>>) -> Option<()> {
        let object = self.object.as_ptr();
        items.clear();
        // SAFETY: the object is alive, as above; of this very class it is a tuple, which keeps its items alive.
        unsafe {
            if ffi::PyTuple_CheckExact(object) == 0 {
                return None;
            }
            for index in 0..ffi::PyTuple_Size(object) {
                items.push(Entry::new(tuple_item(object, index))?);
            }
        }
        Some(())
    }

    /// Return the number of a plain `int` that int32 holds; None for anything else.
    #[inline]
    pub(crate) fn int(self) -> Option<i32> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, as above, and an int; the call reports one that is too large without an error.
        unsafe {
            if ffi::PyLong_CheckExact(object) == 0 {
                return None;
            }
            let mut overflow = 0;
            let number = ffi::PyLong_AsLongAndOverflow(object, &raw mut overflow);
            if overflow == 0 { i32::try_from(number).ok() } else { None }
        }
    }

    /// Return the text of a `str`; None for anything else, and for a `str` with a lone surrogate.
    #[inline]
    pub(crate) fn text(self) -> Option<&'a str> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, since its container is lent and holds it, and so are the bytes, which are part of it:
        // a `str` never changes, and keeps the UTF-8 that was once made of it. ASCII is UTF-8, and so is what the call
        // gives. The interpreter is attached, because `lend` takes a `Bound` and an entry cannot cross a release.
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

/// Return the item of a tuple at an index, without a reference of its own.
///
/// # Safety
/// `tuple` has the layout of a tuple, is alive, and has that index.
#[inline]
unsafe fn tuple_item(tuple: *mut ffi::PyObject, index: ffi::Py_ssize_t) -> *mut ffi::PyObject {
    // SAFETY: the caller guarantees it.
    unsafe {
        #[cfg(not(Py_LIMITED_API))]
        return ffi::PyTuple_GET_ITEM(tuple, index);
        #[cfg(Py_LIMITED_API)]
        return ffi::PyTuple_GetItem(tuple, index);
    }
}

/// Return the number of references to an object, that of `object` included.
pub(crate) fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: the object is alive, since `object` is a reference to it.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// Return the addresses of entries.
pub(crate) fn addresses<'e>(entries: &'e [Entry<'_>]) -> &'e [usize] {
    // SAFETY: an entry is a pointer and nothing else (`repr(transparent)`), and a pointer has the layout of a `usize`.
    unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), entries.len()) }
}

/// Call `read` with the objects of a list, tuple, set or frozenset, in the order of iteration; None for anything else.
///
/// `read` may run any code, Python's included, as a failed conversion does when it starts a garbage collection: what is
/// lent stays as it is. Tuples and frozensets never change. A list or set is empty to everyone else until `read` returns,
/// as a list is during `list.sort()`; it is then as it was, and what was put into it meanwhile is dropped.
pub(crate) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
    access::lend(container, read)
}

/// Access to the memory of containers, as CPython's headers describe it.
#[cfg(not(any(Py_LIMITED_API, Py_GIL_DISABLED)))]
mod access {
    use std::mem::MaybeUninit;

    use super::{Bound, Entry, NonNull, PhantomData, PyAny, PyAnyMethods, PyFrozenSet, PyList, PySet, PyTuple, ffi};

    /// The container's reference is the only one.
    pub(super) const REFERENCES_OF_A_LENT_OBJECT: isize = 1;

    pub(super) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
        let object = container.as_ptr();
        if container.is_exact_instance_of::<PyList>() {
            // SAFETY: it is a list, alive as long as `container` is borrowed.
            let taken = unsafe { TakenList::new(object.cast()) };
            return Some(read(taken.entries()));
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
        if container.is_exact_instance_of::<PyFrozenSet>() {
            // SAFETY: it is a frozenset, alive as long as `container` is borrowed, and frozensets do not change.
            return Some(read(&unsafe { set_entries(object.cast()) }));
        }
        if container.is_exact_instance_of::<PySet>() {
            // SAFETY: it is a set, alive as long as `container` is borrowed, and the entries are used while it is taken.
            let (entries, _taken) = unsafe { (set_entries(object.cast()), TakenSet::new(object.cast())) };
            return Some(read(&entries));
        }
        None
    }

    /// The items of a list, which is empty until this is dropped.
    struct TakenList {
        list: *mut ffi::PyListObject,
        items: *mut *mut ffi::PyObject,
        length: ffi::Py_ssize_t,
        allocated: ffi::Py_ssize_t,
    }

    impl TakenList {
        /// # Safety
        /// It is a list, and outlives this.
        unsafe fn new(list: *mut ffi::PyListObject) -> Self {
            // SAFETY: it is a list; without an array, a length and room it is an empty one.
            unsafe {
                let length = std::mem::replace(&mut (*list).ob_base.ob_size, 0);
                let items = std::mem::replace(&mut (*list).ob_item, std::ptr::null_mut());
                let allocated = std::mem::replace(&mut (*list).allocated, 0);
                Self { list, items, length, allocated }
            }
        }

        fn entries(&self) -> &[Entry<'_>] {
            if self.length == 0 {
                return &[];
            }
            // SAFETY: the array has as many references, valid since the list held them, and no other code has its address.
            unsafe { std::slice::from_raw_parts(self.items.cast(), self.length as usize) }
        }
    }

    impl Drop for TakenList {
        fn drop(&mut self) {
            // SAFETY: the list is alive. It gets its own items back before those that were added meanwhile are dropped, which
            // may run code; their array is the list's no more, and was allocated by it.
            unsafe {
                let length = std::mem::replace(&mut (*self.list).ob_base.ob_size, self.length);
                let items = std::mem::replace(&mut (*self.list).ob_item, self.items);
                (*self.list).allocated = self.allocated;
                if !items.is_null() {
                    for index in 0..length {
                        ffi::Py_XDECREF(*items.offset(index));
                    }
                    ffi::PyMem_Free(items.cast());
                }
            }
        }
    }

    /// Return the entries of a set or frozenset.
    ///
    /// # Safety
    /// It is one, and keeps its entries as long as they are used.
    unsafe fn set_entries<'a>(set: *mut ffi::PySetObject) -> Vec<Entry<'a>> {
        // SAFETY: the table of a set has `mask + 1` slots; one is in use if its key is not null and not the mark of a removed
        // key, the only one whose hash is -1.
        unsafe {
            let mut entries = Vec::with_capacity((*set).used as usize);
            let slots = std::slice::from_raw_parts((*set).table, (*set).mask as usize + 1);
            for slot in slots {
                if let Some(object) = NonNull::new(slot.key)
                    && slot.hash != -1
                {
                    entries.push(Entry { object, lent: PhantomData });
                }
            }
            entries
        }
    }

    /// The table of a set, which is empty until this is dropped.
    struct TakenSet {
        set: *mut ffi::PySetObject,
        fill: ffi::Py_ssize_t,
        used: ffi::Py_ssize_t,
        mask: ffi::Py_ssize_t,
        /// The table of a large set; None for a small one, whose table is `slots`.
        table: Option<*mut ffi::setentry>,
        slots: MaybeUninit<[ffi::setentry; ffi::PySet_MINSIZE]>,
    }

    impl TakenSet {
        /// # Safety
        /// It is a set, and outlives this.
        unsafe fn new(set: *mut ffi::PySetObject) -> Self {
            // SAFETY: it is a set; it is left as `set.clear()` leaves it.
            unsafe {
                let own = &raw mut (*set).smalltable;
                let table = Some((*set).table).filter(|table| *table != own.cast());
                let (fill, used, mask) = ((*set).fill, (*set).used, (*set).mask);
                let mut taken = Self { set, fill, used, mask, table, slots: MaybeUninit::uninit() };
                if table.is_none() {
                    taken.slots.write(own.read());
                }
                own.write_bytes(0, 1);
                (*set).fill = 0;
                (*set).used = 0;
                (*set).mask = (ffi::PySet_MINSIZE - 1) as ffi::Py_ssize_t;
                (*set).table = own.cast();
                taken
            }
        }
    }

    impl Drop for TakenSet {
        fn drop(&mut self) {
            let set = self.set;
            // SAFETY: the set is alive. Nothing is left in it when it gets its own table back: to clear it may run code that
            // adds more, which is cleared as well.
            unsafe {
                let own = &raw mut (*set).smalltable;
                while (*set).fill > 0 || (*set).table != own.cast() {
                    ffi::PySet_Clear(set.cast());
                }
                if self.table.is_none() {
                    own.copy_from_nonoverlapping(self.slots.as_ptr(), 1);
                }
                (*set).fill = self.fill;
                (*set).used = self.used;
                (*set).mask = self.mask;
                (*set).table = self.table.unwrap_or(own.cast());
            }
        }
    }
}

/// The same by calls that every Python has.
#[cfg(any(Py_LIMITED_API, Py_GIL_DISABLED))]
mod access {
    use super::{Bound, Entry, PyAny, PyAnyMethods, PyFrozenSet, PyList, PySet, PyTuple};

    /// The container's reference and that of `lend`.
    pub(super) const REFERENCES_OF_A_LENT_OBJECT: isize = 2;

    pub(super) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
        let is_known = container.is_exact_instance_of::<PyList>()
            || container.is_exact_instance_of::<PyTuple>()
            || container.is_exact_instance_of::<PySet>()
            || container.is_exact_instance_of::<PyFrozenSet>();
        if !is_known {
            return None;
        }
        // References of its own keep the entries alive, whatever happens to the container.
        let objects: Vec<Bound<'_, PyAny>> = container.try_iter().ok()?.collect::<Result<_, _>>().ok()?;
        let entries: Vec<Entry<'_>> = objects.iter().filter_map(|object| Entry::new(object.as_ptr())).collect();
        Some(read(&entries))
    }
}
