/*
 * What a board's sockets and flash do in C: copy bytes into a buffer of the firmware, and convert bytes to a string. XS's own
 * functions access a property for each byte.
 */
#include "machine.h"

static void check_range(txMachine* the, txInteger buffer, txUnsigned offset, txUnsigned length)
{
	txUnsigned size = (txUnsigned)fxGetArrayBufferLength(the, mxArgv(buffer));
	if (offset > size || length > size - offset)
		mxRangeError("bytes out of range");
}

/** copyBytes(target, targetOffset, source, sourceOffset, length) */
void native_copy_bytes(txMachine* the)
{
	check_arguments(the, 5);
	txUnsigned to = fxToUnsigned(the, mxArgv(1));
	txUnsigned from = fxToUnsigned(the, mxArgv(3));
	txUnsigned length = fxToUnsigned(the, mxArgv(4));
	check_range(the, 0, to, length);
	check_range(the, 2, from, length);
	/* An empty ArrayBuffer has no memory. */
	if (length == 0)
		return;
	uint8_t* target = fxToArrayBuffer(the, mxArgv(0));
	const uint8_t* source = fxToArrayBuffer(the, mxArgv(2));
	memmove(target + to, source + from, length);
}

/** latin1(buffer, offset, length) → string with one character a byte */
void native_latin1(txMachine* the)
{
	check_arguments(the, 3);
	txUnsigned offset = fxToUnsigned(the, mxArgv(1));
	txUnsigned length = fxToUnsigned(the, mxArgv(2));
	check_range(the, 0, offset, length);
	if (length == 0) {
		fxString(the, mxResult, (txString)(uintptr_t)"");
		return;
	}
	const uint8_t* bytes = (const uint8_t*)fxToArrayBuffer(the, mxArgv(0)) + offset;
	txSize size = 0;
	/* XS writes NUL with two bytes, as Java does, for its strings end with one. */
	for (txUnsigned i = 0; i < length; i++)
		size += bytes[i] == 0 || bytes[i] > 0x7F ? 2 : 1;
	fxStringBuffer(the, mxResult, NULL, size);
	/* The new chunk may have moved the buffer. */
	bytes = (const uint8_t*)fxToArrayBuffer(the, mxArgv(0)) + offset;
	txU1* text = (txU1*)mxResult->value.string;
	for (txUnsigned i = 0; i < length; i++) {
		if (bytes[i] != 0 && bytes[i] <= 0x7F)
			*text++ = bytes[i];
		else {
			*text++ = 0xC0 | bytes[i] >> 6;
			*text++ = 0x80 | (bytes[i] & 0x3F);
		}
	}
}
