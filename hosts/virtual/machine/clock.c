/*
 * Clocks of the device: milliseconds since start, and the wall clock, which starts at 1970. They either follow the computer's clock or are
 * advanced only by Node (virtual time). Timer, Time and Date always agree.
 */
#include "machine.h"

static bool virtual_time = false;
static double virtual_now = 0;
static double started_at = 0;
/** Offset of Date from clock_now(), in ms. */
static double wall_offset = 0;
static uint64_t random_state = 0;

static double computer_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void clock_start(bool is_virtual, uint32_t seed)
{
	virtual_time = is_virtual;
	started_at = computer_now();
	random_state = seed;
}

bool clock_is_virtual(void)
{
	return virtual_time;
}

double clock_now(void)
{
	return virtual_time ? virtual_now : computer_now() - started_at;
}

void clock_move(double now)
{
	if (virtual_time && now > virtual_now)
		virtual_now = now;
}

int virtual_gettimeofday(c_timeval* tp, struct c_timezone* tzp)
{
	double wall = floor((wall_offset + clock_now()) * 1e3);
	double seconds = floor(wall / 1e6);
	(void)tzp;
	tp->tv_sec = (time_t)seconds;
	tp->tv_usec = (suseconds_t)(wall - seconds * 1e6);
	return 0;
}

/** splitmix64 (Steele, Lea, Flood 2014), which works with any seed. */
uint32_t virtual_random(void)
{
	uint64_t mixed = (random_state += 0x9E3779B97F4A7C15u);
	mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
	mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
	return (uint32_t)((mixed ^ (mixed >> 31)) >> 32);
}

void native_now(txMachine* the)
{
	fxNumber(the, mxResult, clock_now());
}

void native_set_wall_clock(txMachine* the)
{
	double seconds = mxArgc > 0 ? fxToNumber(the, mxArgv(0)) : NAN;
	if (!isfinite(seconds))
		mxRangeError("seconds must be a finite number");
	wall_offset = seconds * 1e3 - clock_now();
}

void native_delay(txMachine* the)
{
	double ms = mxArgc > 0 ? fxToNumber(the, mxArgv(0)) : 0;
	forbid_while_loading(the, "Timer.delay");
	if (!(ms > 0))
		return;
	watchdog_add(ms);
	if (virtual_time) {
		virtual_now += ms;
		return;
	}
	double until = computer_now() + ms;
	channel_flush();
	for (double rest = ms; rest > 0; rest = until - computer_now()) {
		double step = rest < 100 ? rest : 100;
		struct timespec pause = { .tv_sec = 0, .tv_nsec = (long)(step * 1e6) };
		nanosleep(&pause, NULL);
		channel_check_host();
	}
}
