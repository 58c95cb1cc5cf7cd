/*
 * Runs hosts/esp32/patch-decoder.c on a computer. Standard input holds cases: the source, the length of the result, the count of
 * parts and the parts of the stream; numbers are u32, buffers have their length before them. Standard output has for each case what
 * was made, and the problem or nothing. Each buffer is allocated by itself, so that AddressSanitizer notices every byte beside it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patch-decoder.c"

#define PIECE_BYTES 4096

static uint8_t *source;
static uint32_t source_bytes;

static bool read_number(uint32_t *number)
{
	return 1 == fread(number, sizeof(*number), 1, stdin);
}

static uint8_t *read_buffer(uint32_t *length)
{
	if (!read_number(length))
		exit(1);
	uint8_t *buffer = malloc(*length);
	if (*length != fread(buffer, 1, *length, stdin))
		exit(1);
	return buffer;
}

static void write_buffer(const void *bytes, uint32_t length)
{
	fwrite(&length, sizeof(length), 1, stdout);
	fwrite(bytes, 1, length, stdout);
}

bool patch_source_read(uint32_t position, uint8_t *buffer, uint32_t count)
{
	/* First byte of flash that cannot be read, as in the test. */
	if (255 == source[position])
		return false;
	memcpy(buffer, source + position, count);
	return true;
}

static void run_case(uint32_t result_bytes, uint32_t parts)
{
	struct patch_decoder *decoder = malloc(sizeof(*decoder));
	uint8_t *result = malloc(result_bytes);
	const char *problem = "";
	uint32_t made = 0, wanted = least(result_bytes, PIECE_BYTES);
	uint8_t *piece = malloc(wanted);
	patch_decoder_start(decoder, source_bytes, result_bytes);
	while (parts--) {
		uint32_t length, offset = 0;
		uint8_t *part = read_buffer(&length);
		while (!*problem) {
			int32_t next = patch_decoder_decode(decoder, piece, wanted, part, length, offset, &problem);
			if (PATCH_CANNOT_READ == next)
				problem = "unreadable";
			if ((next < 0) || !wanted)
				break;
			offset = (uint32_t)next;
			memcpy(result + made, piece, wanted);
			free(piece);
			made += wanted;
			wanted = least(result_bytes - made, PIECE_BYTES);
			piece = malloc(wanted);
		}
		free(part);
	}
	write_buffer(result, made);
	write_buffer(problem, (uint32_t)strlen(problem));
	free(piece);
	free(result);
	free(decoder);
}

int main(void)
{
	uint32_t result_bytes, parts;
	while (read_number(&source_bytes)) {
		source = malloc(source_bytes);
		if ((source_bytes != fread(source, 1, source_bytes, stdin)) || !read_number(&result_bytes) || !read_number(&parts))
			return 1;
		run_case(result_bytes, parts);
		free(source);
	}
	return 0;
}
