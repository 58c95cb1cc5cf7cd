/*
 * Interfaces of the parts of the machine. A process is one device, so each part keeps its state in its own file. The two XS machines never
 * run concurrently: the root machine, which loads the modules, finishes before its clone, the device, starts.
 */
#ifndef VIRTUAL_MACHINE_H
#define VIRTUAL_MACHINE_H

#include "xsAll.h"
#include "xsScript.h"
#include "compatibility.h"

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define NO_RETURN __attribute__((noreturn))

/* channel.c: frames to and from Node. Must match hosts/virtual/node/frames.ts. */
enum frame_kind {
	/* from Node */
	FRAME_START = 1, FRAME_EVENT, FRAME_ANSWER, FRAME_STEP, FRAME_INSPECT,
	/* to Node */
	FRAME_OPEN = 16, FRAME_POST, FRAME_CALL, FRAME_CLOSE, FRAME_TRACE,
	/** Reply to the start, to each step and to each inspection, in order. */
	FRAME_REPLY,
	FRAME_EXIT
};

/** Frame from Node, valid until the next channel_receive(). */
struct frame {
	struct frame* next;
	enum frame_kind kind;
	uint32_t channel;
	const uint8_t* header;
	size_t header_length;
	const uint8_t* payload;
	size_t payload_length;
	/** Header, payload and a NUL. */
	uint8_t bytes[];
};

extern void channel_start(int descriptor);
/** Waits up to `timeout_ms` (negative: no timeout) for the next frame. Returns NULL on timeout. */
extern const struct frame* channel_receive(double timeout_ms);
/** Queues a frame, which is sent at the latest when the machine waits for the next one. */
extern void channel_send(enum frame_kind kind, uint32_t channel, const char* header, size_t header_length,
	const void* payload, size_t payload_length);
/** Returns the number of frames passed to channel_send(). */
extern uint32_t channel_sent_frames(void);
/** Whether a frame is partially written, so that a signal handler must not send one. */
extern bool channel_is_sending(void);
/** Sends the queued frames. */
extern void channel_flush(void);
/** Ends the output and waits up to 1 s until Node has read it. */
extern void channel_end(void);
/** Exits if Node has ended. */
extern void channel_check_host(void);
/** Passes an event to the callback of its channel. Discards events for closed channels. */
extern void channel_dispatch(txMachine* the, const struct frame* frame);
extern void native_open(txMachine* the);
extern void native_post(txMachine* the);
extern void native_call(txMachine* the);
extern void native_close(txMachine* the);

/* clock.c: clocks of the device. Milliseconds are doubles, which do not wrap around. */
extern void clock_start(bool is_virtual, uint32_t seed);
extern bool clock_is_virtual(void);
/** Milliseconds since the device started. */
extern double clock_now(void);
/** Moves a virtual clock forward to `now`, never back. */
extern void clock_move(double now);
extern void native_now(txMachine* the);
extern void native_set_wall_clock(txMachine* the);
extern void native_delay(txMachine* the);

/* timers.c: Moddable's Timer. */
/** Returns the due time of the next timer on the scale of clock_now(), or INFINITY. */
extern double timers_next(void);
/** Runs each due timer once, in order of creation. New timers wait for the next round. */
extern void timers_run(txMachine* the);
extern void native_timer_set(txMachine* the);
extern void native_timer_schedule(txMachine* the);
extern void native_timer_clear(txMachine* the);

/* modules.c: program and modules. */
/** Opens a program, whose memory must remain valid until modules_close(). */
extern void modules_open(const void* program, size_t length);
/** Releases the program; only names remain available. */
extern void modules_close(void);
extern size_t modules_count(void);
/** Returns the name of a module; the first one is main. */
extern const char* modules_name(size_t index);

/* machine.c: root machine, clone, and turns of the clone. */
extern bool machine_is_loading(void);
/** Ends the process with the source location if modules are still loading. */
extern void forbid_while_loading(txMachine* the, const char* what);
extern txMachine* machine_start(const struct frame* start);
/** Calls the default export of main. */
extern void machine_run_main(txMachine* the);
/** Runs a turn: calls `function` with the arguments that `push` pushes and counts, then runs promise jobs. */
extern void machine_turn(txMachine* the, txSlot* function, int (*push)(txMachine* the, const void* detail),
	const void* detail);
extern void machine_report_statistics(txMachine* the, bool collect);
extern void native_heap(txMachine* the);
extern void native_trace(txMachine* the);

/* freeze.c: effects of preloading into ROM. */
/** Freezes all built-ins; called before the first module is loaded. */
extern void freeze_builtins(txMachine* root);
/** Freezes the root's heap like the SDK's linker and shares it. XS functions must not use the root afterwards. */
extern void freeze_share(txMachine* root);

/* watchdog.c: detection of hanging turns. */
extern void watchdog_start(txMachine* the, double limit_ms);
extern void watchdog_begin_turn(void);
extern void watchdog_end_turn(void);
/** Adds time spent in Timer.delay, which uses no processor time. */
extern void watchdog_add(double ms);

/* report.c: end of the process. The reason is the exit status and the channel of the exit frame; see hosts/virtual/node/exit.ts. */
enum reason {
	REASON_QUIT = 0, REASON_EXCEPTION = 10, REASON_REJECTION, REASON_OUT_OF_MEMORY, REASON_WATCHDOG, REASON_RESTART,
	REASON_BAD_PROGRAM, REASON_HOST_GONE
};
extern NO_RETURN void report_end(txMachine* the, enum reason reason, const char* format, ...) PRINTF_LIKE(3, 4);
/** Ends with message, stack and location of a thrown value. */
extern NO_RETURN void report_thrown(txMachine* the, enum reason reason, txSlot* thrown);
/** Whether a running function has a source location. */
extern bool report_has_location(txMachine* the);
extern void native_exit(txMachine* the);

#endif
