/*
 * Task watchdog: ends the process after a turn of 10 s, the limit after which a board restarts, and names the source line. It measures
 * processor time, so that a busy computer does not end a healthy device.
 */
#include "machine.h"
#include <signal.h>

/** Instructions between two checks of the clock, about 0.5 ms. */
#define INSTRUCTIONS 50000
/** Time to wait for a check at which the source line is known. */
#define LOCATION_GRACE_MS 1000

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

/** Whether the turn has exceeded the limit. Functions have no line number before their first statement. */
static txBoolean is_over(double now)
{
	double over = now - turn_started + delayed - limit;
	return limit > 0 && in_turn && over > 0 && (over > LOCATION_GRACE_MS || report_has_location(watched));
}

static txBoolean on_instructions(txMachine* the, meter_count index)
{
	(void)the;
	(void)index;
	double now = processor_now();
	if (now > next_host_check) {
		next_host_check = now + 100;
		channel_check_host();
		channel_flush();
	}
	return !is_over(now);
}

/**
 * Signal handler for the processor time timer, which never interrupts an idle device. XS counts no instructions in a built-in such as
 * a sort, and checks the count only at loops and at the begin of functions.
 */
static void on_processor_time(int signal_number)
{
	(void)signal_number;
	if (!in_turn || channel_is_sending())
		return;
	channel_check_host();
	if (is_over(processor_now()))
		report_end(watched, REASON_WATCHDOG, "task watchdog timeout");
}

void watchdog_start(txMachine* the, double limit_ms)
{
	struct itimerval interval = { .it_interval = { .tv_usec = 500000 }, .it_value = { .tv_usec = 500000 } };
	struct sigaction action = { .sa_handler = on_processor_time, .sa_flags = SA_RESTART };
	watched = the;
	limit = limit_ms;
	fxBeginMetering(the, on_instructions, INSTRUCTIONS);
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
