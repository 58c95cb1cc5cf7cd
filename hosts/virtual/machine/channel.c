/*
 * Frames between the machine and Node over one duplex stream, and the native functions of `virtual/channel`. A frame is: u32 length of
 * the rest, u8 kind, u32 channel, u32 header length, header, payload; integers are little-endian. Headers are JSON that only
 * JavaScript reads. Payloads are raw, so a 16 KB block of an update costs only a copy. The machine exits when the stream ends, so none
 * outlives Node.
 */
#include "machine.h"
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#define WRITE_LENGTH (32 * 1024)
#define END_WAIT_MS 1000

struct channel {
	struct channel* next;
	uint32_t id;
	/** Callback for frames, a root of the garbage collector while the channel is open. */
	txSlot on_frame;
};

/** Start of a frame; `length` excludes itself. All supported platforms are little-endian. */
struct __attribute__((packed)) prefix {
	uint32_t length;
	uint8_t kind;
	uint32_t channel;
	uint32_t header_length;
};
#define REST_OF_PREFIX (sizeof(struct prefix) - sizeof(uint32_t))

static int stream = -1;
/** Buffered frames, sent before the machine waits or when the buffer is full. */
static uint8_t output[WRITE_LENGTH];
static size_t output_length = 0;
static volatile sig_atomic_t sending = 0;
static uint32_t sent_frames = 0;
/** Frames received while waiting for the answer to a call, oldest first. */
static struct frame* postponed = NULL;
/** Last frame returned by channel_receive(). */
static struct frame* current = NULL;
static struct channel* first_channel = NULL;
static uint32_t last_channel_id = 0;

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

/** Waits until the stream is readable or writable. Returns false after `timeout_ms` (negative: no timeout). */
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

uint32_t channel_sent_frames(void)
{
	return sent_frames;
}

bool channel_is_sending(void)
{
	return sending;
}

void channel_send(enum frame_kind kind, uint32_t channel, const char* header, size_t header_length,
	const void* payload, size_t payload_length)
{
	struct prefix prefix = { (uint32_t)(REST_OF_PREFIX + header_length + payload_length), (uint8_t)kind, channel,
		(uint32_t)header_length };
	sending = 1;
	sent_frames++;
	append(&prefix, sizeof(prefix));
	append(header, header_length);
	append(payload, payload_length);
	/* Trace output must not be lost in a crash. */
	if (kind == FRAME_TRACE)
		channel_flush();
	sending = 0;
}

void channel_end(void)
{
	/* Exiting with unread input would reset the stream, and Node could lose the last frame. */
	uint8_t rest[1024];
	channel_flush();
	shutdown(stream, SHUT_WR);
	while (wait_for_stream(POLLIN, END_WAIT_MS) && read(stream, rest, sizeof(rest)) > 0)
		;
}

static void read_all(void* bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = read(stream, bytes, length);
		if (count > 0) {
			bytes = (uint8_t*)bytes + count;
			length -= (size_t)count;
		}
		else if (count < 0 && errno == EAGAIN)
			wait_for_stream(POLLIN, -1);
		else if (count == 0 || errno != EINTR)
			host_gone();
	}
}

/** Reads a frame from the stream. Returns NULL on timeout. */
static struct frame* read_frame(double timeout_ms)
{
	struct prefix prefix;
	if (!wait_for_stream(POLLIN, 0)) {
		channel_flush();
		if (!wait_for_stream(POLLIN, timeout_ms))
			return NULL;
	}
	read_all(&prefix, sizeof(prefix));
	size_t length = prefix.length - REST_OF_PREFIX;
	if (prefix.length < REST_OF_PREFIX || prefix.header_length > length)
		report_end(NULL, REASON_BAD_PROGRAM, "invalid frame from the host");
	struct frame* frame = malloc(sizeof(struct frame) + length + 1);
	if (!frame)
		abort();
	*frame = (struct frame){ NULL, prefix.kind, prefix.channel, frame->bytes, prefix.header_length,
		frame->bytes + prefix.header_length, length - prefix.header_length };
	read_all(frame->bytes, length);
	frame->bytes[length] = 0;
	return frame;
}

const struct frame* channel_receive(double timeout_ms)
{
	free(current);
	current = postponed;
	if (current)
		postponed = current->next;
	else
		current = read_frame(timeout_ms);
	return current;
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

/** Sends the arguments (channel, header, payload). The payload is undefined, an ArrayBuffer or a typed array. */
static void send_arguments(txMachine* the, enum frame_kind kind)
{
	forbid_while_loading(the, "a Channel");
	uint32_t id = fxToUnsigned(the, mxArgv(0));
	fxToString(the, mxArgv(1));
	txSlot* bytes = mxArgv(2)->kind == XS_REFERENCE_KIND ? mxArgv(2)->value.reference->next : NULL;
	txInteger offset = 0, length = 0;
	if (bytes && bytes->kind == XS_TYPED_ARRAY_KIND) {
		txSlot* view = bytes->next;
		offset = view->value.dataView.offset;
		length = fxGetDataViewSize(the, view, view->next);
		bytes = view->next->value.reference->next;
	}
	else if (bytes)
		length = fxGetArrayBufferLength(the, mxArgv(2));
	/* An empty ArrayBuffer has no address. */
	const uint8_t* payload = length > 0 ? (const uint8_t*)bytes->value.arrayBuffer.address + offset : NULL;
	const char* header = mxArgv(1)->value.string;
	channel_send(kind, id, header, strlen(header), payload, (size_t)length);
}

/** open(header, onFrame) → channel number */
void native_open(txMachine* the)
{
	forbid_while_loading(the, "a Channel");
	const char* header = fxToString(the, mxArgv(0));
	if (!fxIsCallable(the, mxArgv(1)))
		mxTypeError("callback is not a function");
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

/** call(channel, header, payload, onAnswer) → result of onAnswer. Postpones other frames. */
void native_call(txMachine* the)
{
	struct frame** end = &postponed;
	send_arguments(the, FRAME_CALL);
	while (*end)
		end = &(*end)->next;
	for (;;) {
		struct frame* frame = read_frame(-1);
		if (!frame)
			continue;
		if (frame->kind == FRAME_ANSWER) {
			mxPushUndefined();
			mxPushSlot(mxArgv(3));
			mxCall();
			int count = push_frame(the, frame);
			free(frame);
			mxRunCount(count);
			mxPullSlot(mxResult);
			return;
		}
		*end = frame;
		end = &frame->next;
	}
}

/** close(channel): stops the delivery of events. */
void native_close(txMachine* the)
{
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
