/*
 * Firmware descriptor of an image, at offset 0x120 after ESP-IDF's descriptor. The gateway and the device check it before they write an
 * update. The linker keeps it because the functions below refer to it.
 */

#include <stdint.h>

#include "mc.defines.h"
#include "sdkconfig.h"

#ifndef MODDEF_FIRMWARE_MODEL
	#error "Define firmware.model in the board's manifest."
#endif
#ifndef MODDEF_FIRMWARE_QEMU
	#define MODDEF_FIRMWARE_QEMU 0
#endif
#ifndef MODDEF_FIRMWARE_SECURITYVERSION
	#error "Define firmware.securityVersion in the root manifest."
#endif

/** Little-endian. Strings are padded with at least one NUL. */
struct firmware_descriptor {
	/** "DAG1" */
	uint32_t magic;
	uint32_t size;
	char model[16];
	char version[32];
	uint16_t flags;
	/** Rollback protection: a device rejects images with a lower value than its own. */
	uint16_t security_version;
	/** Not set on boards; build time in images of virtual devices. */
	uint32_t reserved;
};

/** The image may contain compiled-in settings; the gateway rejects it. */
#define FLAG_HAS_SETTINGS 1
/** The image is for QEMU; boards reject it, and QEMU rejects images for boards. */
#define FLAG_IS_FOR_QEMU 2

/* Version in the committed sdkconfig, used only by direct mcconfig builds, which may compile settings in. */
#define VERSION_BY_HAND "0.0.0-dev"

_Static_assert(64 == sizeof(struct firmware_descriptor), "the descriptor must have 64 bytes");
_Static_assert(MODDEF_FIRMWARE_SECURITYVERSION >= 0 && MODDEF_FIRMWARE_SECURITYVERSION <= 65535, "the security version must fit 16 bits");
_Static_assert(sizeof(MODDEF_FIRMWARE_MODEL) <= 16, "the model must have at most 15 characters");
_Static_assert(sizeof(CONFIG_APP_PROJECT_VER) <= 32, "the version must have at most 31 characters");

const __attribute__((section(".rodata_custom_desc"), used)) struct firmware_descriptor firmware_descriptor = {
	.magic = 0x31474144,
	.size = sizeof(struct firmware_descriptor),
	.model = MODDEF_FIRMWARE_MODEL,
	.version = CONFIG_APP_PROJECT_VER,
	.flags = (0 == __builtin_strcmp(CONFIG_APP_PROJECT_VER, VERSION_BY_HAND) ? FLAG_HAS_SETTINGS : 0) |
	         (MODDEF_FIRMWARE_QEMU ? FLAG_IS_FOR_QEMU : 0),
	.security_version = MODDEF_FIRMWARE_SECURITYVERSION,
};

const char *board_firmware_model(void)
{
	return firmware_descriptor.model;
}

const char *board_firmware_version(void)
{
	return firmware_descriptor.version;
}

uint32_t board_firmware_security_version(void)
{
	return firmware_descriptor.security_version;
}

/** Build time, such as "Feb  3 2026 09:05:00": UTC with SOURCE_DATE_EPOCH, which the project's scripts set, otherwise local time. */
const char *board_firmware_built_at(void)
{
	return __DATE__ " " __TIME__;
}
