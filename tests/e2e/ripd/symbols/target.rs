// SPDX-License-Identifier: Apache-2.0
// target.rs - names of Rust.
use std::ffi::CString;
use std::os::raw::c_char;

extern "C" {
    fn rip_create_ring(file: *const c_char, max_procs: u32) -> bool;
    fn rip_init(id: u32, name: *const c_char, namelen: usize, idx: u8, ctr: u8);
    fn rip_snap();
}

mod store {
    pub struct Table<T>(pub T);

    impl<T> Table<T> {
        #[inline(never)]
        pub fn scan(&self) {
            unsafe { super::rip_snap() }; // MARK store::Table<T>::scan
            unsafe { std::mem::forget(std::ptr::read_volatile(&self.0)) };
        }
    }
}

fn main() {
    let ring = CString::new(std::env::args().nth(1).unwrap()).unwrap();
    unsafe {
        assert!(rip_create_ring(ring.as_ptr(), 8));
        rip_init(1, ring.as_ptr(), 4, 0, 0);
    }
    store::Table(7u32).scan();
    println!("ready");
    loop {
        std::thread::park();
    }
}
