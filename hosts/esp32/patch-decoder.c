#include "patch-decoder.h"

#include <stddef.h>
#include <string.h>

#define SHORTEST_MATCH 3
#define LONGEST_MATCH 34
/** Last position at which any item still fits into the text. */
#define LAST_ITEM (PATCH_WINDOW_BYTES + PATCH_TEXT_BYTES - LONGEST_MATCH)

enum { COPY, ADD, INSERT, SEEK };

/** One call of patch_decoder_decode(). */
struct call {
	const uint8_t *input;
	uint32_t input_bytes;
	uint32_t read;
	const char *problem;
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void patch_decoder_start(struct patch_decoder *decoder, uint32_t source_bytes, uint32_t result_bytes)
{
	memset(decoder, 0, sizeof(*decoder));
	decoder->source_bytes = source_bytes;
	decoder->rest = result_bytes;
	decoder->kind = INSERT;
	decoder->flags = 1;
	decoder->half = -1;
	decoder->start = PATCH_WINDOW_BYTES;
	decoder->taken = PATCH_WINDOW_BYTES;
	decoder->end = PATCH_WINDOW_BYTES;
}

/** Decompresses more text after all of it is decoded. @returns whether there is text; false also for a damaged patch */
static bool decompress(struct patch_decoder *decoder, struct call *call)
{
	uint8_t *text = decoder->text;
	uint32_t shift = decoder->end - PATCH_WINDOW_BYTES;
	uint32_t end = PATCH_WINDOW_BYTES;
	memmove(text, text + shift, PATCH_WINDOW_BYTES);
	decoder->start -= (uint16_t)least(decoder->start, shift);
	decoder->taken = PATCH_WINDOW_BYTES;
	while ((call->read < call->input_bytes) && (end <= LAST_ITEM)) {
		uint8_t byte = call->input[call->read++];
		if (1 == decoder->flags)
			decoder->flags = 256 | byte;
		else if (!(decoder->flags & 1)) {
			text[end++] = byte;
			decoder->flags >>= 1;
		} else if (decoder->half < 0)
			decoder->half = byte;
		else {
			uint32_t item = (uint32_t)decoder->half | ((uint32_t)byte << 8);
			uint32_t distance = (item & (PATCH_WINDOW_BYTES - 1)) + 1;
			if (distance > end - decoder->start) {
				call->problem = "a match refers to data before the start";
				return false;
			}
			/* Copies single bytes because a match may overlap itself. */
			for (uint32_t left = (item / PATCH_WINDOW_BYTES) + SHORTEST_MATCH; left; left--, end++)
				text[end] = text[end - distance];
			decoder->flags >>= 1;
			decoder->half = -1;
		}
	}
	decoder->end = (uint16_t)end;
	return end > PATCH_WINDOW_BYTES;
}

/** Decompresses more text if none is left. */
static bool has_text(struct patch_decoder *decoder, struct call *call)
{
	return (decoder->taken < decoder->end) || decompress(decoder, call);
}

/** Starts an operation. @returns the problem, or NULL */
static const char *begin(struct patch_decoder *decoder, uint8_t kind, uint32_t count)
{
	static const char outside[] = "an operation reads outside the firmware";
	if (!count)
		return "an operation has length 0";
	if (SEEK == kind) {
		/* A series of seeks could block XS without producing output. */
		if (SEEK == decoder->kind)
			return "two seeks in a row";
		uint32_t step = (count + 1) / 2;
		if (step > ((count & 1) ? decoder->position : decoder->source_bytes - decoder->position))
			return outside;
		decoder->position += (count & 1) ? -step : step;
		decoder->ahead = 0;
	} else {
		if (count > decoder->rest)
			return "the result exceeds the announced length";
		if ((INSERT != kind) && (count > decoder->source_bytes - decoder->position))
			return outside;
		decoder->rest -= count;
		decoder->left = count;
	}
	decoder->kind = kind;
	return NULL;
}

/** Reads up to the next operation with output. @returns whether there is one; false also for a damaged patch */
static bool read_operation(struct patch_decoder *decoder, struct call *call)
{
	while (!decoder->left) {
		if (!has_text(decoder, call))
			return false;
		uint8_t byte = decoder->text[decoder->taken++];
		decoder->number |= (uint32_t)(byte & 127) << decoder->shift;
		if (byte > 127) {
			decoder->shift += 7;
			if (28 == decoder->shift) {
				call->problem = "a number has more than 4 bytes";
				return false;
			}
			continue;
		}
		call->problem = begin(decoder, decoder->number & 3, decoder->number >> 2);
		if (call->problem)
			return false;
		decoder->number = 0;
		decoder->shift = 0;
	}
	return true;
}

/** Reads source bytes up to the end of the piece, since each flash read has a fixed cost. @returns whether it succeeded */
static bool read_ahead(struct patch_decoder *decoder, uint8_t *piece, uint32_t piece_bytes)
{
	uint32_t bytes = least(piece_bytes - decoder->filled, decoder->source_bytes - decoder->position);
	decoder->ahead = decoder->filled + bytes;
	return patch_source_read(decoder->position, piece + decoder->filled, bytes);
}

int32_t patch_decoder_decode(struct patch_decoder *decoder, uint8_t *piece, uint32_t piece_bytes, const uint8_t *input,
	uint32_t input_bytes, uint32_t offset, const char **problem)
{
	struct call call = { input, input_bytes, offset, NULL };
	while (decoder->filled < piece_bytes) {
		if (!read_operation(decoder, &call))
			goto stop;
		uint32_t count = least(decoder->left, piece_bytes - decoder->filled);
		if (COPY != decoder->kind) {
			if (!has_text(decoder, &call))
				goto stop;
			count = least(count, (uint32_t)(decoder->end - decoder->taken));
		}
		const uint8_t *text = decoder->text + decoder->taken;
		uint8_t *target = piece + decoder->filled;
		if (INSERT == decoder->kind) {
			memcpy(target, text, count);
			decoder->ahead = 0;
		} else {
			if ((decoder->filled + count > decoder->ahead) && !read_ahead(decoder, piece, piece_bytes))
				return PATCH_CANNOT_READ;
			if (ADD == decoder->kind)
				for (uint32_t i = 0; i < count; i++)
					target[i] += text[i];
			decoder->position += count;
		}
		if (COPY != decoder->kind)
			decoder->taken += (uint16_t)count;
		decoder->filled += count;
		decoder->left -= count;
	}
	decoder->filled = 0;
	decoder->ahead = 0;
	if (!decoder->rest && !decoder->left && has_text(decoder, &call))
		call.problem = "trailing data";
	if (!call.problem)
		return (int32_t)call.read;
stop:
	if (!call.problem)
		return PATCH_NEEDS_INPUT;
	*problem = call.problem;
	return PATCH_IS_DAMAGED;
}
