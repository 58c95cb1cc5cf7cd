/*
 * Task watchdog: ends the process after a turn of 10 s, the limit after which a board restarts, and names the source line. It measures
 * processor time, so that a busy computer does not end a healthy device.
 */
#include "machine.h"
#include <signal.h>

/** Instructions between two checks of the clock, about 0.5 ms. */
#define INSTRUCTIONS 50000
/** Additional time for a built-in such as a sort, in which XS counts no instructions. */
#define BUILTIN_GRACE_MS 1000

static txMachine* watched = NULL;
static double limit = 0;
static double turn_started = 0;
static double delayed = 0;
static double next_host_check = 0;
static volatile sig_atomic_t in_turn = 0;

static double processor_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static txBoolean on_instructions(txMachine* the, meter_count index)
{
	(void)index;
	double now = processor_now();
	if (now > next_host_check) {
		next_host_check = now + 100;
		channel_check_host();
		channel_flush();
	}
	double over = now - turn_started + delayed - limit;
	if (limit <= 0 || !in_turn || over <= 0)
		return 1;
	/* Retries at the next check if the current function has no line number yet. */
	return !report_has_location(the) && over < BUILTIN_GRACE_MS;
}

/** Signal handler for the processor time timer, which never interrupts an idle device. */
static void on_processor_time(int signal_number)
{
	(void)signal_number;
	if (!in_turn || channel_is_sending())
		return;
	channel_check_host();
	if (limit > 0 && processor_now() - turn_started + delayed > limit + BUILTIN_GRACE_MS)
		report_end(watched, REASON_WATCHDOG, "task watchdog timeout: a built-in function does not return");
}

void watchdog_start(txMachine* the, double limit_ms)
{
	struct itimerval interval = { .it_interval = { .tv_usec = 500000 }, .it_value = { .tv_usec = 500000 } };
	struct sigaction action = { .sa_handler = on_processor_time, .sa_flags = SA_RESTART };
	watched = the;
	limit = limit_ms;
	fxBeginMetering(the, on_instructions, INSTRUCTIONS * XS_CODE_METERING);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &interval, NULL);
}

void watchdog_begin_turn(void)
{
	turn_started = processor_now();
	delayed = 0;
	in_turn = 1;
}

void watchdog_end_turn(void)
{
	in_turn = 0;
}

void watchdog_add(double ms)
{
	delayed += ms;
}
