/* Decodes the stream of a patch (device/protocol/patch-format.ts): device/update/patch-decoder.ts in C. */
#ifndef PATCH_DECODER_H
#define PATCH_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#define PATCH_WINDOW_BYTES 2048
/** Room for decompressed text, after the window. */
#define PATCH_TEXT_BYTES 256

/** State of a decoder. Has no pointers into itself, since XS may move it between two calls. All counts are bytes. */
struct patch_decoder {
	uint32_t source_bytes;
	/** Part of the result that no operation has made so far. */
	uint32_t rest;
	/** Remaining output of the operation. */
	uint32_t left;
	/** In the source, at most `source_bytes`. */
	uint32_t position;
	/** Made in the piece, and up to where it holds what follows in the source. */
	uint32_t filled, ahead;
	/** An operation's number, as far as it was read. */
	uint32_t number;
	uint8_t shift;
	uint8_t kind;
	/** Eight flags below a 1 that marks their end. */
	uint16_t flags;
	/** First byte of a match whose second one is still to come, or -1. */
	int16_t half;
	/** Start of what was ever decompressed. From `taken` to `end` the text is not decoded yet. */
	uint16_t start, taken, end;
	uint8_t text[PATCH_WINDOW_BYTES + PATCH_TEXT_BYTES];
};

enum { PATCH_NEEDS_INPUT = -1, PATCH_IS_DAMAGED = -2, PATCH_CANNOT_READ = -3 };

/** Reads the running firmware. Defined by the decoder's user. @returns whether it succeeded */
bool patch_source_read(uint32_t position, uint8_t *buffer, uint32_t count);

void patch_decoder_start(struct patch_decoder *decoder, uint32_t source_bytes, uint32_t result_bytes);

/**
 * Makes the next bytes of the result.
 * @param piece the same content until it is full @param offset at most `input_bytes`
 * @param problem set with PATCH_IS_DAMAGED: what is wrong
 * @returns the offset of the next byte of the input, or one of the above
 */
int32_t patch_decoder_decode(struct patch_decoder *decoder, uint8_t *piece, uint32_t piece_bytes, const uint8_t *input,
	uint32_t input_bytes, uint32_t offset, const char **problem);

#endif
