# SPDX-License-Identifier: Apache-2.0
# hostile.s - debug information for plain_work that no compiler writes. With -DCYCLE=1: a function that is its own
# abstract origin and specification; otherwise: blocks nested a hundred thousand deep.
	.section .debug_abbrev,"",@progbits
	.uleb128 1; .uleb128 0x11; .byte 1		# compile_unit
	.uleb128 0x11; .uleb128 0x1			# low_pc, addr
	.uleb128 0x12; .uleb128 0x7			# high_pc, data8
	.byte 0, 0
	.uleb128 2; .uleb128 0x2e; .byte 1		# subprogram
	.uleb128 0x11; .uleb128 0x1
	.uleb128 0x12; .uleb128 0x7
	.uleb128 0x31; .uleb128 0x13			# abstract_origin, ref4
	.uleb128 0x47; .uleb128 0x13			# specification, ref4
	.byte 0, 0
	.uleb128 3; .uleb128 0x0b; .byte 1		# lexical_block
	.uleb128 0x11; .uleb128 0x1
	.uleb128 0x12; .uleb128 0x7
	.byte 0, 0
	.byte 0
	.section .debug_info,"",@progbits
unit:
	.long end - begin
begin:
	.short 4
	.long 0
	.byte 8
	.uleb128 1
	.quad plain_work
	.quad 4096
function:
	.uleb128 2
	.quad plain_work
	.quad 4096
	.long function - unit
	.long function - unit
	.if CYCLE == 0
	.rept 100000
	.uleb128 3
	.quad plain_work
	.quad 4096
	.endr
	.rept 100000
	.byte 0
	.endr
	.endif
	.byte 0
	.byte 0
end:
