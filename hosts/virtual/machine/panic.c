/*
 * A fault in C: what ESP-IDF's panic handler is on a board. It reports the signal, program counters as offsets into the
 * executable (addr2line -e <executable> explains them), and the frames of TypeScript above the fault.
 */
#define _GNU_SOURCE
#include "machine.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>

#define COUNTERS 16

static txMachine* running = NULL;
/** The stack of the thread may be what has run out. */
static uint8_t handler_stack[128 * 1024];

static const struct { int number; const char* name; } signals[] = {
	{ SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" }, { SIGILL, "SIGILL" }, { SIGFPE, "SIGFPE" }, { SIGABRT, "SIGABRT" },
};

/** Writes the program counters that lie in this executable. */
static void write_counters(char* text, size_t size)
{
	void* counters[COUNTERS];
	Dl_info own, place;
	size_t length = 0;
	int count = backtrace(counters, COUNTERS);
	text[0] = 0;
	if (!dladdr((void*)(uintptr_t)&panic_start, &own))
		return;
	/* The first is this function, the second the handler. */
	for (int i = 2; i < count && length + 1 < size; i++) {
		if (dladdr(counters[i], &place) && place.dli_fbase == own.dli_fbase)
			length += (size_t)snprintf(text + length, size - length, " 0x%zx",
				(size_t)((uint8_t*)counters[i] - (uint8_t*)own.dli_fbase));
	}
}

static void on_fault(int number)
{
	static char counters[COUNTERS * 20];
	const char* name = "a signal";
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (signals[i].number == number)
			name = signals[i].name;
	}
	write_counters(counters, sizeof(counters));
	report_end(running, REASON_PANIC, NULL, "%s, program counters%s", name, counters);
}

void panic_start(txMachine* the)
{
#ifndef __SANITIZE_ADDRESS__
	void* first[1];
	stack_t stack = { .ss_sp = handler_stack, .ss_size = sizeof(handler_stack) };
	/* A fault in the handler ends the process by its signal. */
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND };
	running = the;
	/* The first call loads the unwinder, which allocates. */
	backtrace(first, 1);
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i].number, &action, NULL);
#else
	(void)the;
#endif
}
