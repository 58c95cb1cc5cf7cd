/* C version of device/update/patch-decoder.ts, the decoder for device/protocol/patch-format.ts. */
#ifndef PATCH_DECODER_H
#define PATCH_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#define PATCH_WINDOW_BYTES 2048
/** Room for decompressed text, after the window. */
#define PATCH_TEXT_BYTES 256

/** Decoder state. Contains no pointers into itself, since XS may move it between two calls. All counts are in bytes. */
struct patch_decoder {
	uint32_t source_bytes;
	/** Rest of the result not yet covered by an operation. */
	uint32_t rest;
	/** Remaining output of the current operation. */
	uint32_t left;
	/** Position in the source, at most `source_bytes`. */
	uint32_t position;
	/** Bytes decoded into the piece, and end of the source bytes read ahead into it. */
	uint32_t filled, ahead;
	/** Partially read number of an operation. */
	uint32_t number;
	uint8_t shift;
	uint8_t kind;
	/** Up to eight flags below an end marker bit. */
	uint16_t flags;
	/** First byte of an incomplete match, or -1. */
	int16_t half;
	/** Start of all decompressed data, and bounds of the text not yet decoded. */
	uint16_t start, taken, end;
	uint8_t text[PATCH_WINDOW_BYTES + PATCH_TEXT_BYTES];
};

enum { PATCH_NEEDS_INPUT = -1, PATCH_IS_DAMAGED = -2, PATCH_CANNOT_READ = -3 };

/** Reads the running firmware. Implemented by the caller of the decoder. @returns whether it succeeded */
bool patch_source_read(uint32_t position, uint8_t *buffer, uint32_t count);

void patch_decoder_start(struct patch_decoder *decoder, uint32_t source_bytes, uint32_t result_bytes);

/**
 * Decodes the next bytes of the result.
 * @param piece buffer that the caller must not change until it is full @param offset at most `input_bytes`
 * @param problem description, set with PATCH_IS_DAMAGED
 * @returns the offset of the next input byte, or a negative value of the enumeration above
 */
int32_t patch_decoder_decode(struct patch_decoder *decoder, uint8_t *piece, uint32_t piece_bytes, const uint8_t *input,
	uint32_t input_bytes, uint32_t offset, const char **problem);

#endif
