/*
 * The firmware's own descriptor, which says for which model an image is and of which version. It lies right behind
 * ESP-IDF's, at 0x120 of the image, where the gateway and the device read it before anything is written: without it a
 * PROTO-1 would take a DEV-1's firmware.
 *
 * The linker keeps it because the functions below point into it, and they are called (system-facts.ts).
 */

#include <stdint.h>

#include "mc.defines.h"
#include "sdkconfig.h"

#ifndef MODDEF_FIRMWARE_MODEL
	#error "the board's manifest must define firmware.model"
#endif

/** Little-endian; both texts are padded with NUL and end in one. */
struct firmware_descriptor {
	/** "DAG1" */
	uint32_t magic;
	/** Of this structure, in bytes. */
	uint32_t size;
	char model[16];
	char version[32];
	uint8_t reserved[8];
};

_Static_assert(64 == sizeof(struct firmware_descriptor), "the descriptor has 64 bytes");
_Static_assert(sizeof(MODDEF_FIRMWARE_MODEL) <= 16, "the model has at most 15 characters");
_Static_assert(sizeof(CONFIG_APP_PROJECT_VER) <= 32, "the version has at most 31 characters");

const __attribute__((section(".rodata_custom_desc"), used)) struct firmware_descriptor firmware_descriptor = {
	.magic = 0x31474144,
	.size = sizeof(struct firmware_descriptor),
	.model = MODDEF_FIRMWARE_MODEL,
	.version = CONFIG_APP_PROJECT_VER,
};

/** E.g. DEV-1. */
const char *board_firmware_model(void)
{
	return firmware_descriptor.model;
}

/** By semantic versioning, e.g. 1.4.0. */
const char *board_firmware_version(void)
{
	return firmware_descriptor.version;
}
