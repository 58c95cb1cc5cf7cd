/*
 * Task watchdog: ends the firmware after 10 s without returning to the event loop, as on a board. It counts processor time, so a busy
 * computer or a debugger does not trigger it. Without XS's meter (mxMetering in ../manifest.json) there is no watchdog.
 */

#include <time.h>

#include "xsAll.h"
#include "mc.xs.h"
#include "screen.h"

#define LIMIT_SECONDS 10
/** Instructions between two checks of the clock, about 1 ms. */
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

/** Makes each further turn end at its first instruction. */
static void end_turns(txMachine *the)
{
	fxBeginMetering(the, end_turn, 1);
	the->meterIndex = the->meterCount + 1;
}

static txBoolean end_turn(txMachine *the, txU8 index)
{
	(void)index;
	/* XS has disabled the meter for this call. */
	end_turns(the);
	fxExitToHost(the);
	return 0;
}

/** Aborts the screen, and ends due timers, which the screen runs before it quits and which may hang too. */
static void abort_screen(txScreen *screen, int status)
{
	screen->abort = screen_abort;
	screen->abort(screen, status);
	end_turns(screen->machine);
}

/** @returns 0 after the limit, which makes XS abort with the reason "too much computation" */
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
