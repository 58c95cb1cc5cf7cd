/*
 * Frames between the machine and Node over one duplex stream, and the natives of `virtual/channel` on top of them. A frame is: u32
 * length of what follows, u8 kind, u32 channel, u32 length of the header, header, payload; integers little-endian. Headers are JSON
 * that only JavaScript reads; payloads are raw, so that 16 KB blocks of an update cost only a copy. The machine ends with the
 * stream, so that none is left when Node ends.
 */
#include "machine.h"
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#define LENGTH_BYTES 4
#define PREFIX_LENGTH 13
#define WRITE_LENGTH (32 * 1024)
#define END_WAIT_MS 1000

struct channel {
	struct channel* next;
	uint32_t id;
	/** The callback for frames, known to the garbage collector while the channel is open. */
	txSlot on_frame;
};

/** A frame that was received, without its leading length. */
struct received {
	struct received* next;
	size_t length;
	uint8_t bytes[];
};

static int stream = -1;
/** Frames that are sent together: before the machine waits, or when the buffer is full. */
static uint8_t output[WRITE_LENGTH];
static size_t output_length = 0;
static volatile sig_atomic_t sending = 0;
/** Frames that arrived while the machine waited for the answer to a call, oldest first. */
static struct received* postponed = NULL;
/** What channel_receive gave last. */
static struct received* current = NULL;
static struct channel* first_channel = NULL;
static uint32_t last_channel_id = 0;

static uint32_t read_u32(const uint8_t* bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void write_u32(uint8_t* bytes, uint32_t value)
{
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
	bytes[2] = (uint8_t)(value >> 16);
	bytes[3] = (uint8_t)(value >> 24);
}

static NO_RETURN void host_gone(void)
{
	_exit(REASON_HOST_GONE);
}

void channel_start(int descriptor)
{
	stream = descriptor;
	signal(SIGPIPE, SIG_IGN);
}

void channel_check_host(void)
{
	struct pollfd state = { .fd = stream, .events = 0 };
	if (poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)))
		host_gone();
}

/** Waits until the stream can be read or written; false after `timeout_ms` (negative: never). */
static bool wait_for_stream(short events, double timeout_ms)
{
	struct pollfd state = { .fd = stream, .events = events };
	int timeout = timeout_ms < 0 ? -1 : timeout_ms > 3600e3 ? 3600000 : (int)ceil(timeout_ms);
	return poll(&state, 1, timeout) > 0;
}

void channel_flush(void)
{
	for (size_t at = 0; at < output_length;) {
		ssize_t count = write(stream, output + at, output_length - at);
		if (count > 0)
			at += (size_t)count;
		else if (errno == EAGAIN)
			wait_for_stream(POLLOUT, -1);
		else if (errno != EINTR)
			host_gone();
	}
	output_length = 0;
}

static void append(const void* bytes, size_t length)
{
	while (length > 0) {
		if (output_length == WRITE_LENGTH)
			channel_flush();
		size_t part = length < WRITE_LENGTH - output_length ? length : WRITE_LENGTH - output_length;
		memcpy(output + output_length, bytes, part);
		output_length += part;
		bytes = (const uint8_t*)bytes + part;
		length -= part;
	}
}

bool channel_is_sending(void)
{
	return sending;
}

void channel_send(enum frame_kind kind, uint32_t channel, const char* header, size_t header_length,
	const void* payload, size_t payload_length)
{
	uint8_t prefix[PREFIX_LENGTH];
	write_u32(prefix, (uint32_t)(PREFIX_LENGTH - LENGTH_BYTES + header_length + payload_length));
	prefix[4] = (uint8_t)kind;
	write_u32(prefix + 5, channel);
	write_u32(prefix + 9, (uint32_t)header_length);
	sending = 1;
	append(prefix, PREFIX_LENGTH);
	append(header, header_length);
	append(payload, payload_length);
	/* The last traces of a machine that crashes say why. */
	if (kind == FRAME_TRACE)
		channel_flush();
	sending = 0;
}

void channel_end(void)
{
	/* To exit with unread input would reset the stream, and Node might lose the last frame with it. */
	uint8_t rest[1024];
	channel_flush();
	shutdown(stream, SHUT_WR);
	while (wait_for_stream(POLLIN, END_WAIT_MS) && read(stream, rest, sizeof(rest)) > 0)
		;
}

static void read_all(uint8_t* bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = read(stream, bytes, length);
		if (count > 0) {
			bytes += count;
			length -= (size_t)count;
		}
		else if (count < 0 && errno == EAGAIN)
			wait_for_stream(POLLIN, -1);
		else if (count == 0 || errno != EINTR)
			host_gone();
	}
}

/** Takes a frame from the stream; NULL if none came in time. */
static struct received* read_frame(double timeout_ms)
{
	uint8_t length_bytes[LENGTH_BYTES];
	if (!wait_for_stream(POLLIN, 0)) {
		channel_flush();
		if (!wait_for_stream(POLLIN, timeout_ms))
			return NULL;
	}
	read_all(length_bytes, LENGTH_BYTES);
	size_t length = read_u32(length_bytes);
	struct received* frame = malloc(sizeof(struct received) + length);
	if (!frame)
		abort();
	frame->next = NULL;
	frame->length = length;
	read_all(frame->bytes, length);
	return frame;
}

static void parse_frame(const struct received* received, struct frame* frame)
{
	const uint8_t* bytes = received->bytes;
	size_t start = PREFIX_LENGTH - LENGTH_BYTES;
	if (received->length < start || read_u32(bytes + 5) > received->length - start)
		report_end(NULL, REASON_BAD_PROGRAM, NULL, "a frame from the host contradicts itself");
	frame->kind = bytes[0];
	frame->channel = read_u32(bytes + 1);
	frame->header_length = read_u32(bytes + 5);
	frame->header = (const char*)bytes + start;
	frame->payload = bytes + start + frame->header_length;
	frame->payload_length = (uint32_t)(received->length - start - frame->header_length);
}

bool channel_receive(struct frame* frame, double timeout_ms)
{
	free(current);
	current = postponed;
	if (current)
		postponed = current->next;
	else
		current = read_frame(timeout_ms);
	if (current)
		parse_frame(current, frame);
	return current != NULL;
}

static int push_frame(txMachine* the, const void* detail)
{
	const struct frame* frame = detail;
	mxPushUndefined();
	fxStringBuffer(the, the->stack, (txString)(uintptr_t)frame->header, (txSize)frame->header_length);
	mxPushUndefined();
	if (frame->payload_length > 0)
		fxArrayBuffer(the, the->stack, (void*)(uintptr_t)frame->payload, (txInteger)frame->payload_length, -1);
	return 2;
}

void channel_dispatch(txMachine* the, const struct frame* frame)
{
	struct channel* channel = first_channel;
	while (channel && channel->id != frame->channel)
		channel = channel->next;
	if (channel)
		machine_turn(the, &channel->on_frame, push_frame, frame);
}

static void refuse_while_loading(txMachine* the)
{
	if (machine_is_loading())
		report_end(the, REASON_BAD_PROGRAM, NULL, "module %s uses a Channel while it loads",
			report_loading_module(the));
}

/** Sends (channel, header, buffer, offset, length); `buffer` undefined: no payload. */
static void send_arguments(txMachine* the, enum frame_kind kind)
{
	refuse_while_loading(the);
	check_arguments(the, 5);
	uint32_t id = fxToUnsigned(the, mxArgv(0));
	fxToString(the, mxArgv(1));
	const uint8_t* payload = NULL;
	size_t length = 0;
	if (mxArgv(2)->kind == XS_REFERENCE_KIND) {
		txUnsigned size = (txUnsigned)fxGetArrayBufferLength(the, mxArgv(2));
		txUnsigned offset = fxToUnsigned(the, mxArgv(3));
		length = fxToUnsigned(the, mxArgv(4));
		if (offset > size || length > size - offset)
			mxRangeError("payload out of range");
		/* An empty ArrayBuffer has no memory. */
		if (length > 0)
			payload = (const uint8_t*)fxToArrayBuffer(the, mxArgv(2)) + offset;
	}
	const char* header = mxArgv(1)->value.string;
	channel_send(kind, id, header, strlen(header), payload, length);
}

/** open(header, onFrame) → channel number */
void native_open(txMachine* the)
{
	refuse_while_loading(the);
	check_arguments(the, 2);
	const char* header = fxToString(the, mxArgv(0));
	if (!fxIsCallable(the, mxArgv(1)))
		mxTypeError("callback is no function");
	struct channel* channel = calloc(1, sizeof(struct channel));
	if (!channel)
		fxAbort(the, XS_NOT_ENOUGH_MEMORY_EXIT);
	channel->id = ++last_channel_id;
	channel->on_frame.kind = mxArgv(1)->kind;
	channel->on_frame.value = mxArgv(1)->value;
	fxRemember(the, &channel->on_frame);
	channel->next = first_channel;
	first_channel = channel;
	channel_send(FRAME_OPEN, channel->id, header, strlen(header), NULL, 0);
	fxUnsigned(the, mxResult, channel->id);
}

void native_post(txMachine* the)
{
	send_arguments(the, FRAME_POST);
}

/** call(…) → { text, payload? } or { failure }. Other frames are postponed. */
void native_call(txMachine* the)
{
	struct frame frame;
	struct received* received;
	struct received** end = &postponed;
	send_arguments(the, FRAME_CALL);
	while (*end)
		end = &(*end)->next;
	for (;;) {
		received = read_frame(-1);
		if (!received)
			continue;
		parse_frame(received, &frame);
		if (frame.kind == FRAME_ANSWER || frame.kind == FRAME_FAILURE)
			break;
		*end = received;
		end = &received->next;
	}
	mxPush(mxObjectPrototype);
	txSlot* answer = fxNewObjectInstance(the);
	mxPushUndefined();
	fxStringBuffer(the, the->stack, (txString)(uintptr_t)frame.header, (txSize)frame.header_length);
	txID id = fxID(the, frame.kind == FRAME_FAILURE ? "failure" : "text");
	txSlot* last = fxNextSlotProperty(the, fxLastProperty(the, answer), the->stack, id, XS_NO_FLAG);
	if (frame.payload_length > 0) {
		fxArrayBuffer(the, the->stack, (void*)(uintptr_t)frame.payload, (txInteger)frame.payload_length, -1);
		fxNextSlotProperty(the, last, the->stack, fxID(the, "payload"), XS_NO_FLAG);
	}
	free(received);
	mxPop();
	mxPullSlot(mxResult);
}

/** close(channel): no event is delivered to it from here on. */
void native_close(txMachine* the)
{
	check_arguments(the, 1);
	uint32_t id = fxToUnsigned(the, mxArgv(0));
	for (struct channel** link = &first_channel; *link; link = &(*link)->next) {
		struct channel* channel = *link;
		if (channel->id != id)
			continue;
		fxForget(the, &channel->on_frame);
		*link = channel->next;
		free(channel);
		channel_send(FRAME_CLOSE, id, NULL, 0, NULL, 0);
		return;
	}
}
