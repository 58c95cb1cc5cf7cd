/*
 * The two XS machines of a device. The root machine can grow; it loads all modules, then its heap is frozen and shared, like the SDK's
 * linker places it in flash. The clone is the device, with the memory limits of the board. With the modules in the clone's heap, a
 * program would seem too large for its board.
 */
#include "machine.h"

/** Memory limits of a machine. A slot has 16 bytes on a board and 32 here; the number of slots is the same. */
struct limits { txSize chunk_bytes; txSize slots; txSize stack_slots; txSize keys; };

#if mxStress
/** Defined in xsMemory.c. If not 0, XS collects garbage at each allocation. */
extern int gxStress;
#endif

static bool loading = false;
static bool promise_jobs = false;
static double watchdog_ms = 10000;
static struct limits limits;

bool machine_is_loading(void)
{
	return loading;
}

void forbid_while_loading(txMachine* the, const char* what)
{
	if (loading)
		report_end(the, REASON_BAD_PROGRAM, "a module uses %s while loading", what);
}

static txMachine* create_root(void)
{
	txCreation creation = {
		.initialChunkSize = 256 * 1024, .incrementalChunkSize = 64 * 1024,
		.initialHeapCount = 12 * 1024, .incrementalHeapCount = 4 * 1024,
		.stackCount = 8 * 1024,
		.initialKeyCount = 2048, .incrementalKeyCount = 512,
		.nameModulo = 1993, .symbolModulo = 127,
		.parserBufferSize = 64 * 1024, .parserTableModulo = 1993,
	};
	txMachine* root = fxCreateMachine(&creation, "root", NULL, XS_NO_ID);
	if (!root)
		report_end(NULL, REASON_OUT_OF_MEMORY, "not enough memory on this computer for an XS machine");
	return root;
}

/** Functions of the global object `natives`. Callers must pass all arguments; types are in hosts/virtual/modules/globals.d.ts. */
static const struct { const char* name; txCallback callback; } natives[] = {
	{ "open", native_open },
	{ "post", native_post },
	{ "call", native_call },
	{ "close", native_close },
	{ "setTimer", native_timer_set },
	{ "scheduleTimer", native_timer_schedule },
	{ "clearTimer", native_timer_clear },
	{ "delay", native_delay },
	{ "now", native_now },
	{ "setWallClock", native_set_wall_clock },
	{ "heap", native_heap },
	{ "exit", native_exit },
};

/** Adds a function to an object. */
static void install_function(txMachine* the, txSlot* object, txID id, txCallback callback)
{
	fxNewHostFunction(the, callback, 0, id, XS_NO_ID);
	mxPushSlot(object);
	fxSetID(the, id);
	mxPop();
}

/** Installs the project's built-ins. Expects the text of mc/config on top of the stack. */
static void install_builtins(txMachine* the)
{
	txSlot* config = the->stack;
	install_function(the, &mxGlobal, mxID(_trace), native_trace);
	mxPush(mxObjectPrototype);
	fxNewObjectInstance(the);
	txSlot* object = the->stack;
	for (size_t i = 0; i < sizeof(natives) / sizeof(natives[0]); i++)
		install_function(the, object, fxID(the, (txString)(uintptr_t)natives[i].name), natives[i].callback);
	mxPushSlot(config);
	mxPushSlot(object);
	fxSetID(the, fxID(the, "config"));
	mxPop();
	mxPush(mxGlobal);
	fxSetID(the, fxID(the, "natives"));
	mxPop();
}

/** Reads the header of the start frame (numbers, then the text of mc/config). Leaves the text on top of the stack. */
static void read_start(txMachine* the, const struct frame* start)
{
	int is_virtual = 0, length = 0;
	uint32_t seed = 0;
	sscanf((const char*)start->header, "%d %d %d %d %lf %d %u %n", &limits.chunk_bytes, &limits.slots,
		&limits.stack_slots, &limits.keys, &watchdog_ms, &is_virtual, &seed, &length);
	clock_start(is_virtual != 0, seed);
	mxPushUndefined();
	fxStringBuffer(the, the->stack, (txString)(uintptr_t)start->header + length, (txSize)start->header_length - length);
}

static void load_module(txMachine* the, const char* name)
{
	mxPushStringC((txString)(uintptr_t)name);
	fxAwaitImport(the, XS_IMPORT_NAMESPACE);
	mxPop();
}

/** Creates a frozen machine with all modules loaded. */
static txMachine* prepare_root(const struct frame* start)
{
	txMachine* the = create_root();
	fxBeginHost(the);
	mxTry(the) {
		read_start(the, start);
		install_builtins(the);
		mxPop();
		modules_open(start->payload, start->payload_length);
		freeze_builtins(the);
		loading = true;
		for (size_t i = 0; i < modules_count(); i++)
			load_module(the, modules_name(i));
	}
	mxCatch(the)
		report_thrown(the, REASON_BAD_PROGRAM, &mxException);
	fxEndHost(the);
	loading = false;
	modules_close();
	freeze_share(the);
	return the;
}

txMachine* machine_start(const struct frame* start)
{
	txMachine* root = prepare_root(start);
	txCreation creation = {
		.initialChunkSize = limits.chunk_bytes, .incrementalChunkSize = 0,
		/* XS reserves the first slot of its heap. */
		.initialHeapCount = limits.slots + 1, .incrementalHeapCount = 0,
		.stackCount = limits.stack_slots,
		.initialKeyCount = limits.keys, .incrementalKeyCount = 0,
		/* The name tables are copied from the root and must have the same sizes. */
		.nameModulo = root->nameModulo, .symbolModulo = root->symbolModulo,
		.parserBufferSize = 1024, .parserTableModulo = 127,
	};
	txMachine* the = fxCloneMachine(&creation, root, "device", NULL);
	if (!the)
		report_end(NULL, REASON_OUT_OF_MEMORY, "not enough memory on this computer for an XS machine");
	watchdog_start(the, watchdog_ms);
#if mxStress
	gxStress = 1;
#endif
	return the;
}

void fxQueuePromiseJobs(txMachine* the)
{
	(void)the;
	promise_jobs = true;
}

/** Ends a turn: runs all promise jobs, then ends the process if a rejection is unhandled. */
static void finish_turn(txMachine* the)
{
	while (promise_jobs) {
		promise_jobs = false;
		fxRunPromiseJobs(the);
	}
	fxEndJob(the);
	fxCheckUnhandledRejections(the, 1);
	watchdog_end_turn();
}

void machine_turn(txMachine* the, txSlot* function, int (*push)(txMachine* the, const void* detail), const void* detail)
{
	watchdog_begin_turn();
	fxBeginHost(the);
	mxTry(the) {
		mxPush(mxGlobal);
		mxPushSlot(function);
		mxCall();
		mxRunCount(push(the, detail));
		mxPop();
	}
	mxCatch(the)
		report_thrown(the, REASON_EXCEPTION, &mxException);
	fxEndHost(the);
	finish_turn(the);
}

static int push_nothing(txMachine* the, const void* detail)
{
	(void)the;
	(void)detail;
	return 0;
}

void machine_run_main(txMachine* the)
{
	txSlot function;
	fxBeginHost(the);
	mxPushStringC((txString)(uintptr_t)modules_name(0));
	fxAwaitImport(the, XS_IMPORT_DEFAULT);
	if (!fxIsCallable(the, the->stack))
		report_end(NULL, REASON_BAD_PROGRAM, "the default export of module %s is not a function", modules_name(0));
	function = *the->stack;
	fxEndHost(the);
	/* The function is in ROM, so garbage collection does not move or free it. */
	machine_turn(the, &function, push_nothing, NULL);
}

void machine_report_statistics(txMachine* the, bool collect)
{
	char text[512];
	if (collect)
		fxCollectGarbage(the);
	int length = snprintf(text, sizeof(text),
		"{\"chunkBytesUsed\":%d,\"chunkBytesPeak\":%d,\"chunkBytes\":%d,\"slotsUsed\":%d,\"slotsPeak\":%d,\"slots\":%d,"
		"\"stackPeak\":%d,\"stackSlots\":%d,\"keysUsed\":%d,\"keys\":%d,\"collections\":%d}",
		(int)the->currentChunksSize, (int)the->peakChunksSize, (int)the->maximumChunksSize,
		(int)the->currentHeapCount, (int)the->peakHeapCount, (int)the->maximumHeapCount,
		(int)(the->stackTop - the->stackPeak), (int)(the->stackTop - the->stackBottom),
		(int)(the->keyIndex - the->keyOffset), (int)(the->keyCount - the->keyOffset),
		(int)the->garbageCollectionCount);
	channel_send(FRAME_REPLY, 0, text, (size_t)length, NULL, 0);
}

/**
 * heap() → free bytes on a board: slots of 16 bytes, and chunks. Collects garbage first, since the result would otherwise depend on the
 * time of the last collection.
 */
void native_heap(txMachine* the)
{
	fxCollectGarbage(the);
	fxInteger(the, mxResult, (the->maximumHeapCount - the->currentHeapCount) * 16 +
		the->maximumChunksSize - the->currentChunksSize);
}

void native_trace(txMachine* the)
{
	for (txInteger i = 0; i < mxArgc; i++) {
		const char* text = fxToString(the, mxArgv(i));
		channel_send(FRAME_TRACE, 0, NULL, 0, text, strlen(text));
	}
}
