/** GHASH in C, compiled for this computer and compared with AES-GCM of OpenSSL. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { describe, test } from "node:test";
import { compileC, runC, withoutCompiler as skip } from "../../support/c-program.js";
import { Random } from "../../support/random.js";

/** Subset of the SDK's ghash.h for the file. */
const header = `#include <stddef.h>
#include <stdint.h>
#define GHASH_DGSTSIZE 16
typedef union { uint8_t _8[16]; uint64_t _64[2]; } uint128_t;
typedef struct { uint128_t h, y, y0; size_t len, aad_len; } ghash_t;
void _ghash_create(ghash_t *ghash);
void _ghash_update(ghash_t *ghash, const void *data, size_t size);
void _ghash_fin(ghash_t *ghash, uint8_t *result);
void _ghash_fix128(uint128_t *v);
`;

describe("GHASH", { skip }, () => {
	test("authenticates AES-GCM for every length of the last block, with and without additional data", () => {
		const program = compileC({
			sources: ["test/hosts/moddable/ghash-harness.c", "hosts/moddable/tls/ghash.c"],
			folders: [],
			headers: { "ghash.h": header },
		});
		const random = new Random(1);
		const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => random.between(0, 255)));
		const sizes = [0, 1, 15, 16, 17, 31, 32, 33, 255, 1024, 16 * 1024 - 3, 16 * 1024];
		for (const size of sizes)
			for (const additional of [0, 1, 13, 16, 40]) {
				const [key, nonce, aad, text] = [bytes(16), bytes(12), bytes(additional), bytes(size)];
				const gcm = createCipheriv("aes-128-gcm", key, nonce).setAAD(aad);
				const encrypted = Buffer.concat([gcm.update(text), gcm.final()]);
				const block = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
				const hashKey = block.update(Buffer.alloc(16));
				const mask = block.update(Buffer.concat([nonce, Buffer.of(0, 0, 0, 1)]));
				const length = Buffer.alloc(4);
				length.writeUInt32LE(additional);
				const input = Buffer.concat([hashKey, length, aad, encrypted]);
				const output = runC(program, input).toString();
				const tag = gcm.getAuthTag();
				const expected = Buffer.from(tag.map((byte, index) => byte ^ (mask[index] ?? 0)));
				assert.equal(output, expected.toString("hex"), `${additional} and ${size} bytes`);
			}
	});
});
