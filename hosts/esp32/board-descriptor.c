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
	/** Seconds since 1970. */
	uint32_t build_time;
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

/*
 * Build time from __DATE__ ("Feb  3 2026") and __TIME__ ("09:05:00"). It is UTC with SOURCE_DATE_EPOCH, which the project's scripts set;
 * otherwise local time, which is accurate enough to check certificates.
 */
#define DIGIT(text, at) ((text)[at] == ' ' ? 0 : (text)[at] - '0')
#define TWO_DIGITS(text, at) (DIGIT(text, at) * 10 + DIGIT(text, (at) + 1))
#define YEAR (TWO_DIGITS(__DATE__, 7) * 100 + TWO_DIGITS(__DATE__, 9))
/** Identified by the third letter, and by another one where that is ambiguous. */
#define MONTH                                                                                                      \
	(__DATE__[2] == 'n'   ? (__DATE__[1] == 'a' ? 1 : 6)                                                             \
	 : __DATE__[2] == 'b' ? 2                                                                                        \
	 : __DATE__[2] == 'r' ? (__DATE__[0] == 'M' ? 3 : 4)                                                             \
	 : __DATE__[2] == 'y' ? 5                                                                                        \
	 : __DATE__[2] == 'l' ? 7                                                                                        \
	 : __DATE__[2] == 'g' ? 8                                                                                        \
	 : __DATE__[2] == 'p' ? 9                                                                                        \
	 : __DATE__[2] == 't' ? 10                                                                                       \
	 : __DATE__[2] == 'v' ? 11                                                                                       \
	                      : 12)
/** Years that start in March, so that a leap day is the last day of a year. */
#define MARCH_YEAR (YEAR - (MONTH < 3))
#define MARCH_MONTH ((MONTH + 9) % 12)
#define DAYS                                                                                                       \
	(365 * MARCH_YEAR + MARCH_YEAR / 4 - MARCH_YEAR / 100 + MARCH_YEAR / 400 + (153 * MARCH_MONTH + 2) / 5 +         \
	 TWO_DIGITS(__DATE__, 4) - 1 - 719468)
#define SECONDS (TWO_DIGITS(__TIME__, 0) * 3600 + TWO_DIGITS(__TIME__, 3) * 60 + TWO_DIGITS(__TIME__, 6))

const __attribute__((section(".rodata_custom_desc"), used)) struct firmware_descriptor firmware_descriptor = {
	.magic = 0x31474144,
	.size = sizeof(struct firmware_descriptor),
	.model = MODDEF_FIRMWARE_MODEL,
	.version = CONFIG_APP_PROJECT_VER,
	.flags = (0 == __builtin_strcmp(CONFIG_APP_PROJECT_VER, VERSION_BY_HAND) ? FLAG_HAS_SETTINGS : 0) |
	         (MODDEF_FIRMWARE_QEMU ? FLAG_IS_FOR_QEMU : 0),
	.security_version = MODDEF_FIRMWARE_SECURITYVERSION,
	.build_time = (uint32_t)DAYS * 86400u + SECONDS,
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

uint32_t board_firmware_build_time(void)
{
	return firmware_descriptor.build_time;
}
