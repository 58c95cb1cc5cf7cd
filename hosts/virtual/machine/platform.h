/*
 * XS platform header (XSPLATFORM) for POSIX systems (Linux, macOS). Clock and random numbers are the project's, so that tests control
 * them; everything else is from the C library.
 */
#ifndef VIRTUAL_PLATFORM_H
#define VIRTUAL_PLATFORM_H

#if defined(__APPLE__)
	#undef mxMacOSX
	#define mxMacOSX 1
#else
	#undef mxLinux
	#define mxLinux 1
#endif

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define mxUseGCCAtomics 1
#define mxUsePOSIXThreads 1

#define mxMachinePlatform \
	void* waiterCondition; \
	void* waiterData; \
	void* waiterLink;

#define mxUseDefaultMachinePlatform 1
#define mxUseDefaultBuildKeys 1
#define mxUseDefaultChunkAllocation 1
#define mxUseDefaultSlotAllocation 1
#define mxUseDefaultParseScript 1
#define mxUseDefaultSharedChunks 1

/* Boards have 16-bit keys and aliases. 32 bits cost no memory in a 64-bit slot. */
#if INTPTR_MAX == INT64_MAX
	#define mx32bitID 1
#endif

/* Date uses the device's wall clock. */
typedef struct timeval c_timeval;
struct c_timezone;
extern int virtual_gettimeofday(c_timeval* tp, struct c_timezone* tzp);
#define c_gettimeofday virtual_gettimeofday

/* Math.random is seeded by the host, which makes runs reproducible. */
extern uint32_t virtual_random(void);
#define c_rand virtual_random
#define C_RAND_MAX UINT32_MAX

#endif
