/*
 * GHASH as the SDK's modCrypt.c uses it: standard input is the key, the length of the additional data in four bytes, that data, and the
 * encrypted text. Prints the digest in hex.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ghash.h"

int main(void)
{
	static uint8_t input[100000];
	const size_t size = fread(input, 1, sizeof(input), stdin);
	uint32_t additional = 0;
	uint8_t digest[GHASH_DGSTSIZE];
	ghash_t ghash;
	if (size < 20)
		return 1;
	memset(&ghash, 0, sizeof(ghash));
	memcpy(&ghash.h, input, 16);
	_ghash_fix128(&ghash.h);
	memcpy(&additional, input + 16, 4);
	/* In a block of its own each: the sanitizer sees what is read past the end. */
	uint8_t *aad = malloc(additional), *text = malloc(size - 20 - additional);
	memcpy(aad, input + 20, additional);
	memcpy(text, input + 20 + additional, size - 20 - additional);
	_ghash_update(&ghash, aad, additional);
	ghash.y0 = ghash.y;
	ghash.aad_len = additional;
	_ghash_create(&ghash);
	_ghash_update(&ghash, text, size - 20 - additional);
	_ghash_fin(&ghash, digest);
	for (int i = 0; i < GHASH_DGSTSIZE; i++)
		printf("%02x", digest[i]);
	free(aad);
	free(text);
	return 0;
}
