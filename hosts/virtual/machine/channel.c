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
#include <sys/uio.h>

#define PREFIX_LENGTH 13
#define READ_LENGTH (64 * 1024)
#define WRITE_LENGTH (32 * 1024)
#define END_WAIT_MS 1000

struct channel {
	struct channel* next;
	uint32_t id;
	/** The callback for frames, known to the garbage collector while the channel is open. */
	txSlot on_frame;
};

/** A frame that arrived while the machine waited for the answer to a call. */
struct postponed {
	struct postponed* next;
	size_t length;
	uint8_t bytes[];
};

static int stream = -1;
static uint8_t* input = NULL;
static size_t input_capacity = 0;
static size_t input_start = 0;
static size_t input_end = 0;
/** Frames that are sent together: before the machine waits, or when the buffer is full. */
static uint8_t output[WRITE_LENGTH];
static size_t output_length = 0;
static struct postponed* first_postponed = NULL;
static struct postponed* last_postponed = NULL;
static struct postponed* current_postponed = NULL;
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
	input = malloc(READ_LENGTH);
	if (!input)
		abort();
	input_capacity = READ_LENGTH;
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

static void write_all(struct iovec* parts, int count)
{
	for (int first = 0; first < count;) {
		ssize_t written = writev(stream, parts + first, count - first);
		if (written < 0) {
			if (errno == EAGAIN)
				wait_for_stream(POLLOUT, -1);
			else if (errno != EINTR)
				host_gone();
			continue;
		}
		while (first < count && (size_t)written >= parts[first].iov_len)
			written -= (ssize_t)parts[first++].iov_len;
		if (first < count) {
			parts[first].iov_base = (uint8_t*)parts[first].iov_base + written;
			parts[first].iov_len -= (size_t)written;
		}
	}
}

void channel_flush(void)
{
	if (output_length == 0)
		return;
	struct iovec all = { output, output_length };
	output_length = 0;
	write_all(&all, 1);
}

/** Cuts the bytes of one whole frame (without its leading length) into its parts; false if they contradict. */
static bool parse_frame(const uint8_t* bytes, size_t length, struct frame* frame)
{
	if (length < PREFIX_LENGTH - 4)
		return false;
	frame->kind = bytes[0];
	frame->channel = read_u32(bytes + 1);
	frame->header_length = read_u32(bytes + 5);
	if (frame->header_length > length - (PREFIX_LENGTH - 4))
		return false;
	frame->header = (const char*)bytes + PREFIX_LENGTH - 4;
	frame->payload = bytes + PREFIX_LENGTH - 4 + frame->header_length;
	frame->payload_length = (uint32_t)(length - (PREFIX_LENGTH - 4) - frame->header_length);
	return true;
}

static void make_room(size_t needed)
{
	size_t waiting = input_end - input_start;
	if (input_start > 0) {
		memmove(input, input + input_start, waiting);
		input_start = 0;
		input_end = waiting;
	}
	size_t wanted = needed > READ_LENGTH ? needed : READ_LENGTH;
	/* After a large frame its memory is freed, since a hundred devices share this computer. */
	if (wanted > input_capacity || (wanted == READ_LENGTH && input_capacity > READ_LENGTH && waiting <= READ_LENGTH)) {
		uint8_t* bytes = realloc(input, wanted);
		if (!bytes)
			abort();
		input = bytes;
		input_capacity = wanted;
	}
}

/** Takes a frame from the stream, never a postponed one. */
static bool receive_from_stream(struct frame* frame, double timeout_ms)
{
	for (;;) {
		size_t waiting = input_end - input_start;
		size_t needed = waiting < 4 ? 4 : 4 + (size_t)read_u32(input + input_start);
		if (waiting >= needed) {
			if (!parse_frame(input + input_start + 4, needed - 4, frame))
				report_end(NULL, REASON_BAD_PROGRAM, NULL, "a frame from the host contradicts itself");
			input_start += needed;
			return true;
		}
		if (input_start + needed > input_capacity || input_start == input_end)
			make_room(needed);
		channel_flush();
		if (!wait_for_stream(POLLIN, timeout_ms))
			return false;
		ssize_t count = read(stream, input + input_end, input_capacity - input_end);
		if (count > 0)
			input_end += (size_t)count;
		else if (count == 0 || (errno != EAGAIN && errno != EINTR))
			host_gone();
		else if (timeout_ms >= 0)
			return false;
	}
}

bool channel_receive(struct frame* frame, double timeout_ms)
{
	free(current_postponed);
	current_postponed = first_postponed;
	if (current_postponed) {
		first_postponed = current_postponed->next;
		return parse_frame(current_postponed->bytes, current_postponed->length, frame);
	}
	return receive_from_stream(frame, timeout_ms);
}

static void postpone(const struct frame* frame)
{
	size_t length = PREFIX_LENGTH - 4 + (size_t)frame->header_length + frame->payload_length;
	struct postponed* copy = malloc(sizeof(struct postponed) + length);
	if (!copy)
		abort();
	copy->next = NULL;
	copy->length = length;
	memcpy(copy->bytes, frame->header - (PREFIX_LENGTH - 4), length);
	if (first_postponed)
		last_postponed->next = copy;
	else
		first_postponed = copy;
	last_postponed = copy;
}

void channel_send(enum frame_kind kind, uint32_t channel, const char* header, size_t header_length,
	const void* payload, size_t payload_length)
{
	uint8_t prefix[PREFIX_LENGTH];
	write_u32(prefix, (uint32_t)(PREFIX_LENGTH - 4 + header_length + payload_length));
	prefix[4] = (uint8_t)kind;
	write_u32(prefix + 5, channel);
	write_u32(prefix + 9, (uint32_t)header_length);
	struct iovec parts[] = {
		{ prefix, PREFIX_LENGTH },
		{ (void*)(uintptr_t)header, header_length },
		{ (void*)(uintptr_t)payload, payload_length },
	};
	size_t total = PREFIX_LENGTH + header_length + payload_length;
	if (total > WRITE_LENGTH - output_length)
		channel_flush();
	if (total > WRITE_LENGTH) {
		write_all(parts, 3);
		return;
	}
	uint8_t* end = output + output_length;
	for (int i = 0; i < 3; i++) {
		if (parts[i].iov_len > 0)
			memcpy(end, parts[i].iov_base, parts[i].iov_len);
		end += parts[i].iov_len;
	}
	/* Last: a signal may end the machine in between, and its last frame must not follow half of another. */
	output_length += total;
	/* The last traces of a machine that crashes say why. */
	if (kind == FRAME_TRACE)
		channel_flush();
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
	send_arguments(the, FRAME_CALL);
	for (;;) {
		receive_from_stream(&frame, -1);
		if (frame.kind == FRAME_ANSWER || frame.kind == FRAME_FAILURE)
			break;
		postpone(&frame);
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
