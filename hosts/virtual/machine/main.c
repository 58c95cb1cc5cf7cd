/*
 * Process of one device, with the stream to Node on descriptor 3. As in Moddable's event loop, a round handles one event, then the due
 * timers; handling all events first would starve timers during a download.
 */
#include "machine.h"

#define STREAM 3
/** Virtual time per step without frames to Node, which bounds the delay of events from Node. */
#define SILENT_MS 250

static void send_times(void)
{
	char text[80];
	double next = timers_next();
	int length = isinf(next) ? snprintf(text, sizeof(text), "{\"now\":%.17g,\"next\":null}", clock_now())
		: snprintf(text, sizeof(text), "{\"now\":%.17g,\"next\":%.17g}", clock_now(), next);
	channel_send(FRAME_REPLY, 0, text, (size_t)length, NULL, 0);
}

/**
 * Advances virtual time to the next timer due by `target`, or to `target`. Continues with later timers while Node has nothing to
 * process, since each step costs a round trip.
 */
static void step(txMachine* the, double target)
{
	double limit = clock_now() + SILENT_MS;
	uint32_t sent = channel_sent_frames();
	double next;
	do {
		next = timers_next();
		clock_move(next <= target ? next : target);
		timers_run(the);
		next = timers_next();
	} while (channel_sent_frames() == sent && next > clock_now() && next <= target && next <= limit);
	send_times();
}

static void handle(txMachine* the, const struct frame* frame)
{
	switch (frame->kind) {
	case FRAME_EVENT:
		channel_dispatch(the, frame);
		break;
	case FRAME_STEP:
		step(the, strtod((const char*)frame->header, NULL));
		break;
	case FRAME_INSPECT:
		machine_report_statistics(the, frame->header[0] == '1');
		break;
	default:
		report_end(NULL, REASON_BAD_PROGRAM, "unexpected frame of kind %d from the host", (int)frame->kind);
	}
}

int main(void)
{
	setenv("TZ", "UTC0", 1); /* a board has no time zone until one is set */
	tzset();
	channel_start(STREAM);
	const struct frame* frame = channel_receive(-1);
	if (frame->kind != FRAME_START)
		report_end(NULL, REASON_BAD_PROGRAM, "the first frame from the host must be a start frame");
	txMachine* the = machine_start(frame);
	machine_run_main(the);
	send_times();
	for (;;) {
		double timeout = timers_next() - clock_now();
		if (isinf(timeout) || (clock_is_virtual() && timeout > 0))
			timeout = -1;
		else if (timeout < 0)
			timeout = 0;
		frame = channel_receive(timeout);
		if (frame)
			handle(the, frame);
		if (timers_next() <= clock_now())
			timers_run(the);
	}
}
