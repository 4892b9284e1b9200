//! Elements of a built-in container, borrowed without a new reference to each.
//!
//! Callers compare the addresses of elements to recognise equal lists, and read the text of a `str` without a copy.

use std::marker::PhantomData;
use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyList, PySet, PyTuple};

use super::ints::digits;
use super::tuple_class::TupleClass;

/// An element of a container, borrowed while the container is lent.
///
/// It holds a pointer, which is neither `Send` nor `Sync`. So it cannot leave the thread, or be used after the interpreter
/// lock is released.
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

    /// Return an object as an entry of its own.
    #[inline]
    pub(crate) fn of(object: &'a Bound<'_, PyAny>) -> Self {
        let object = object.as_ptr();
        // SAFETY: the pointer of a reference to an object is not null, and the object is alive while it is borrowed.
        Self { object: unsafe { NonNull::new_unchecked(object) }, lent: PhantomData }
    }

    /// Return the address of the object, which is unique among live objects.
    #[inline]
    pub(crate) fn address(self) -> usize {
        self.object.as_ptr() as usize
    }

    /// Return true if there are references to the object besides the container's. Such an object is likely to occur again.
    pub(crate) fn is_shared(self) -> bool {
        // SAFETY: the object is alive, since its container is lent and holds it.
        unsafe { ffi::Py_REFCNT(self.object.as_ptr()) > access::REFERENCES_OF_A_LENT_OBJECT }
    }

    /// Prefetch the object into the processor's cache.
    #[inline]
    pub(crate) fn prefetch(self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let object = self.object.as_ptr().cast::<i8>();
            // SAFETY: a prefetch is valid for any address. A `str` has a header of about 50 bytes, followed by its text.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(object);
                _mm_prefetch::<_MM_HINT_T0>(object.wrapping_add(48));
            }
        }
    }

    /// Return the two fields of an instance of exactly this class; None for anything else.
    #[inline]
    pub(crate) fn pair(self, class: &TupleClass) -> Option<[Entry<'a>; 2]> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, since its container is lent and holds it. A `TupleClass` guarantees that an instance has
        // the layout of a tuple, which is immutable and keeps its items alive. The length is checked.
        unsafe {
            if ffi::Py_TYPE(object) != class.as_type_ptr() || tuple_length(object) != 2 {
                return None;
            }
            Some([Entry::new(tuple_item(object, 0))?, Entry::new(tuple_item(object, 1))?])
        }
    }

    /// Return the items of a plain tuple; None for anything else. They are written to the buffer if they cannot be borrowed.
    #[inline]
    pub(crate) fn tuple<'b>(self, buffer: &'b mut Vec<Entry<'a>>) -> Option<&'b [Entry<'a>]> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, as above. Its class is exactly `tuple`, which keeps its items alive.
        unsafe { if ffi::PyTuple_CheckExact(object) == 0 { None } else { Some(access::tuple_items(object, buffer)) } }
    }

    /// Return the value of a plain `int` that fits in an int32; None for anything else.
    #[inline]
    pub(crate) fn int(self) -> Option<i32> {
        let object = self.object.as_ptr();
        // SAFETY: the object is alive, as above, and an int. The call reports an overflow without raising.
        unsafe {
            match digits(object) {
                Some([]) => return Some(0),
                Some([digit]) => return Some(*digit as i32),
                _ => (),
            }
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
        // SAFETY: the object is alive, since its container is lent and holds it. Its bytes are part of the object: a `str` is
        // immutable and caches its UTF-8. ASCII is UTF-8, and the call returns UTF-8. The interpreter is attached, because
        // `lend` takes a `Bound` and an entry cannot outlast a release of the lock.
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

/// Return the length of a tuple.
///
/// # Safety
/// `tuple` has the layout of a tuple and is alive.
#[inline]
unsafe fn tuple_length(tuple: *mut ffi::PyObject) -> ffi::Py_ssize_t {
    // SAFETY: the caller guarantees it.
    unsafe {
        #[cfg(not(Py_LIMITED_API))]
        return ffi::PyTuple_GET_SIZE(tuple);
        #[cfg(Py_LIMITED_API)]
        return ffi::PyTuple_Size(tuple);
    }
}

/// Return a borrowed reference to the item of a tuple at an index.
///
/// # Safety
/// `tuple` has the layout of a tuple, is alive, and has an item at the index.
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

/// Return the reference count of an object, including `object` itself.
pub(crate) fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: the object is alive, since `object` is a reference to it.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// Return the addresses of entries.
pub(crate) fn addresses<'e>(entries: &'e [Entry<'_>]) -> &'e [usize] {
    // SAFETY: an entry has the layout of a pointer (`repr(transparent)`), and a pointer has the layout of a `usize`.
    unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), entries.len()) }
}

/// Call `read` with the elements of a plain list, tuple, set or frozenset, in iteration order; return None for anything else, such as an
/// instance of a subclass.
///
/// `read` may run any Python code, such as a destructor during a garbage collection. The elements stay unchanged: in builds
/// without direct access they are copied, tuples and frozensets are immutable, and a list or set appears empty to other code
/// until `read` returns, as a list does during `list.sort()`. Then its elements are restored, and elements that were added in
/// the meantime are dropped.
pub(crate) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
    access::lend(container, read)
}

/// Direct access to the memory of containers, by CPython's headers.
#[cfg(not(any(Py_LIMITED_API, Py_GIL_DISABLED)))]
mod access {
    use std::mem::MaybeUninit;

    use super::{Bound, Entry, NonNull, PhantomData, PyAny, PyAnyMethods, PyFrozenSet, PyList, PySet, PyTuple, ffi};

    /// The reference of the container.
    pub(super) const REFERENCES_OF_A_LENT_OBJECT: isize = 1;

    pub(super) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
        let object = container.as_ptr();
        if container.is_exact_instance_of::<PyList>() {
            // SAFETY: the object is a list, alive while `container` is borrowed.
            let taken = unsafe { TakenList::new(object.cast()) };
            return Some(read(taken.entries()));
        }
        if container.is_exact_instance_of::<PyTuple>() {
            let mut unused = Vec::new();
            // SAFETY: the object is a tuple, alive while `container` is borrowed.
            return Some(read(unsafe { tuple_items(object, &mut unused) }));
        }
        if container.is_exact_instance_of::<PyFrozenSet>() {
            // SAFETY: the object is a frozenset, alive while `container` is borrowed, and immutable.
            return Some(read(&unsafe { set_entries(object.cast()) }));
        }
        if container.is_exact_instance_of::<PySet>() {
            // SAFETY: the object is a set, alive while `container` is borrowed, and `_taken` outlives the use of the entries.
            let (entries, _taken) = unsafe { (set_entries(object.cast()), TakenSet::new(object.cast())) };
            return Some(read(&entries));
        }
        None
    }

    /// Return the items of a tuple.
    ///
    /// # Safety
    /// `tuple` is a tuple, and alive while its items are used.
    #[inline]
    pub(super) unsafe fn tuple_items<'a, 'b>(tuple: *mut ffi::PyObject, _: &'b mut Vec<Entry<'a>>) -> &'b [Entry<'a>] {
        // SAFETY: a tuple is immutable; its items follow its header.
        unsafe {
            let length = ffi::PyTuple_GET_SIZE(tuple) as usize;
            let items = &raw const (*tuple.cast::<ffi::PyTupleObject>()).ob_item;
            std::slice::from_raw_parts(items.cast(), length)
        }
    }

    /// The items of a list. The list is empty until this value is dropped.
    struct TakenList {
        list: *mut ffi::PyListObject,
        items: *mut *mut ffi::PyObject,
        length: ffi::Py_ssize_t,
        allocated: ffi::Py_ssize_t,
    }

    impl TakenList {
        /// # Safety
        /// `list` is a list and outlives the returned value.
        unsafe fn new(list: *mut ffi::PyListObject) -> Self {
            // SAFETY: the object is a list. A list with a null array, length 0 and capacity 0 is a valid empty list.
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
            // SAFETY: the array holds `length` references, which the list owned, and no other code has its address.
            unsafe { std::slice::from_raw_parts(self.items.cast(), self.length as usize) }
        }
    }

    impl Drop for TakenList {
        fn drop(&mut self) {
            // SAFETY: the list is alive. Its own items are restored before items that were added in the meantime are dropped,
            // because a drop may run Python code. The list allocated the array of the added items but no longer refers to it, so
            // the array is freed here.
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
    /// `set` is a set or frozenset, and keeps its entries while they are used.
    unsafe fn set_entries<'a>(set: *mut ffi::PySetObject) -> Vec<Entry<'a>> {
        // SAFETY: the table of a set has `mask + 1` slots. A slot is in use if its key is neither null nor the marker of a
        // removed key, the only key with hash -1.
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

    /// The table of a set. The set is empty until this value is dropped.
    struct TakenSet {
        set: *mut ffi::PySetObject,
        fill: ffi::Py_ssize_t,
        used: ffi::Py_ssize_t,
        mask: ffi::Py_ssize_t,
        /// The table of a large set; None for a small set, whose table is `slots`.
        table: Option<*mut ffi::setentry>,
        slots: MaybeUninit<[ffi::setentry; ffi::PySet_MINSIZE]>,
    }

    impl TakenSet {
        /// # Safety
        /// `set` is a set and outlives the returned value.
        unsafe fn new(set: *mut ffi::PySetObject) -> Self {
            // SAFETY: the object is a set, and is left in the state after `set.clear()`.
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
            // SAFETY: the set is alive. It is empty when its own table is restored: clearing it may run code that adds elements,
            // so it is cleared until nothing is left.
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

/// Access through the stable API.
#[cfg(any(Py_LIMITED_API, Py_GIL_DISABLED))]
mod access {
    use super::{
        Bound, Entry, PyAny, PyAnyMethods, PyFrozenSet, PyList, PySet, PyTuple, ffi, tuple_item, tuple_length,
    };

    /// Write the items of a tuple to the buffer, and return them.
    ///
    /// # Safety
    /// `tuple` is a tuple, and alive while its items are used.
    pub(super) unsafe fn tuple_items<'a, 'b>(
        tuple: *mut ffi::PyObject,
        buffer: &'b mut Vec<Entry<'a>>,
    ) -> &'b [Entry<'a>] {
        buffer.clear();
        // SAFETY: the indexes are below the length.
        unsafe { buffer.extend((0..tuple_length(tuple)).filter_map(|index| Entry::new(tuple_item(tuple, index)))) };
        buffer
    }

    /// The references of the container and of `lend`.
    pub(super) const REFERENCES_OF_A_LENT_OBJECT: isize = 2;

    pub(super) fn lend<T>(container: &Bound<'_, PyAny>, read: impl FnOnce(&[Entry<'_>]) -> T) -> Option<T> {
        let is_known = container.is_exact_instance_of::<PyList>()
            || container.is_exact_instance_of::<PyTuple>()
            || container.is_exact_instance_of::<PySet>()
            || container.is_exact_instance_of::<PyFrozenSet>();
        if !is_known {
            return None;
        }
        // New references keep the entries alive, even if the container changes.
        let objects: Vec<Bound<'_, PyAny>> = container.try_iter().ok()?.collect::<Result<_, _>>().ok()?;
        let entries: Vec<Entry<'_>> = objects.iter().filter_map(|object| Entry::new(object.as_ptr())).collect();
        Some(read(&entries))
    }
}
