/*
 * Ends a turn of XS that does not end. On a board the task watchdog restarts the chip after 10 s. Here it is processor time, so that
 * a busy computer, or a debugger that stopped the firmware, ends none. Where XS is built without its meter (mxMetering in
 * ../manifest.json) there is no watchdog.
 */

#include <time.h>

#include "xsAll.h"
#include "mc.xs.h"
#include "screen.h"

#define LIMIT_SECONDS 10
/** XS looks at the clock after this many instructions: about a millisecond. */
#define INSTRUCTIONS 50000

static clock_t fed;

void xs_simulator_watchdog_feed(txMachine *the)
{
	(void)the;
	fed = clock();
}

#ifdef mxMetering
static txScreenAbortProc screen_abort;

static txBoolean end_turn(txMachine *the, txU8 index);

/** From now on each turn ends at its first instruction. */
static void end_turns(txMachine *the)
{
	fxBeginMetering(the, end_turn, 1);
	the->meterIndex = the->meterCount + 1;
}

static txBoolean end_turn(txMachine *the, txU8 index)
{
	(void)index;
	/* XS switched the meter off for this call. */
	end_turns(the);
	fxExitToHost(the);
	return 0;
}

/** The screen quits only after the timers that are due, and one of these may not end either. */
static void abort_screen(txScreen *screen, int status)
{
	screen->abort = screen_abort;
	screen->abort(screen, status);
	end_turns(screen->machine);
}

/** @returns 0 past the limit: XS then ends with the reason "too much computation" */
static txBoolean is_within_limit(txMachine *the, txU8 index)
{
	txScreen *screen = the->host;
	(void)index;
	if (clock() - fed < (clock_t)LIMIT_SECONDS * CLOCKS_PER_SEC)
		return 1;
	screen_abort = screen->abort;
	screen->abort = abort_screen;
	return 0;
}
#endif

void xs_simulator_watchdog_start(txMachine *the)
{
	xs_simulator_watchdog_feed(the);
#ifdef mxMetering
	fxBeginMetering(the, is_within_limit, INSTRUCTIONS);
#endif
}
