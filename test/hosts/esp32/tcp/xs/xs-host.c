/*
 * Runs one script in XS with the natives of the boards' TCP socket: `natives`, `makeHost`, `now`, `exit`, `collect`, `trace`.
 * Its global function `tick` is called in each turn.
 *
 * Usage: xs-host SCRIPT
 */
#include <stdio.h>
#include <unistd.h>

#include "xs.h"
#include "xsHost.h"
#include "builtinCommon.h"
#include "tcp-port-test.h"

void xs_board_tcp_destructor(void *data);
#define NATIVES(EACH)                                                                                                  \
	EACH(xs_board_tcp)                                                                                                 \
	EACH(xs_board_tcp_close)                                                                                           \
	EACH(xs_board_tcp_read)                                                                                            \
	EACH(xs_board_tcp_write)
#define DECLARE(name) void name(xsMachine *the);
NATIVES(DECLARE)

static int status = -1;

xsSlot *builtinGetCallback(xsMachine *the, xsIdentifier id)
{
	xsSlot callback = xsGet(xsArg(0), id);
	return xsTypeOf(callback) == xsReferenceType ? fxToReference(the, &callback) : NULL;
}

static void script_trace(xsMachine *the)
{
	fputs(xsToString(xsArg(0)), stdout);
	fflush(stdout);
}

static void script_now(xsMachine *the)
{
	xsResult = xsNumber(port_test_milliseconds());
}

static void script_exit(xsMachine *the)
{
	status = (int)xsToInteger(xsArg(0));
}

static void script_collect(xsMachine *the)
{
	xsCollectGarbage();
}

static void script_make_host(xsMachine *the)
{
	xsResult = xsNewHostObject(xs_board_tcp_destructor);
}

static void define(xsMachine *the, xsSlot object, char *name, xsCallback function)
{
	xsResult = xsNewHostFunction(function, 1);
	xsSet(object, xsID(name), xsResult);
}

static void start(xsMachine *machine, char *text)
{
	xsBeginHost(machine);
	{
		xsVars(1);
		xsTry
		{
			define(the, xsGlobal, "trace", script_trace);
			define(the, xsGlobal, "now", script_now);
			define(the, xsGlobal, "exit", script_exit);
			define(the, xsGlobal, "collect", script_collect);
			define(the, xsGlobal, "makeHost", script_make_host);
			xsVar(0) = xsNewObject();
			xsSet(xsGlobal, xsID("natives"), xsVar(0));
#define DEFINE(name) define(the, xsVar(0), #name, name);
			NATIVES(DEFINE)
			xsResult = xsString(text);
			(void)xsCall1(xsGlobal, xsID("eval"), xsResult);
		}
		xsCatch
		{
			fprintf(stderr, "%s\n", xsToString(xsException));
			status = 2;
		}
	}
	xsEndHost(machine);
}

static void tick(xsMachine *machine)
{
	xsBeginHost(machine);
	{
		xsTry
		{
			(void)xsCall0(xsGlobal, xsID("tick"));
		}
		xsCatch
		{
			fprintf(stderr, "%s\n", xsToString(xsException));
			status = 2;
		}
	}
	xsEndHost(machine);
}

/** Unused: the script has no promises. */
void fxQueuePromiseJobs(xsMachine *the)
{
	(void)the;
}

/** Called by XS when an exception leaves a callback, where a board restarts. */
void fxAbort(xsMachine *the, int reason)
{
	(void)the;
	fprintf(stderr, "XS ended: %d\n", reason);
	exit(3);
}

int main(int argc, char **argv)
{
	static char text[1 << 20];
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (!file || fread(text, 1, sizeof text - 1, file) == 0)
		return 4;
	fclose(file);
	xsCreation creation = {
		.initialChunkSize = 1 << 20, .incrementalChunkSize = 1 << 20, .initialHeapCount = 1 << 16,
		.incrementalHeapCount = 1 << 16, .stackCount = 4096, .initialKeyCount = 1024, .incrementalKeyCount = 1024,
		.nameModulo = 1993, .symbolModulo = 127, .parserBufferSize = 1 << 16, .parserTableModulo = 1993,
	};
	xsMachine *machine = xsCreateMachine(&creation, "test", NULL);
	start(machine, text);
	while (status < 0) {
		port_test_poll();
		tick(machine);
		usleep(300);
	}
	xsDeleteMachine(machine);
	return status;
}
