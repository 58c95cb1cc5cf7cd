/* XS bindings of tcp-connection.c for `embedded:io/socket/tcp` (tcp.ts). An open socket stays alive without a reference to it. */

#include <arpa/inet.h>

#include "xsmc.h"
#include "xsHost.h"
#include "mc.xs.h"
#include "builtinCommon.h"

#include "tcp-connection.h"
#include "tcp-port.h"

struct tcp_socket {
	struct tcp_connection connection; /* must be first: events receive a pointer to it */
	xsSlot object;
	xsSlot *on_readable;
	xsSlot *on_writable;
	xsSlot *on_error;
	bool reads_numbers;
};

/* Workers cannot open sockets. */
static xsMachine *machine;

static void call(struct tcp_connection *connection, xsSlot *callback, uint32_t byte_count)
{
	struct tcp_socket *record = (struct tcp_socket *)connection;
	if (!callback)
		return;
	xsBeginHost(machine);
	xsmcVars(1);
	xsmcSetInteger(xsVar(0), (xsIntegerValue)byte_count);
	xsCallFunction1(xsReference(callback), record->object, xsVar(0));
	xsEndHost(machine);
}

static void on_readable(struct tcp_connection *connection, uint32_t byte_count)
{
	call(connection, ((struct tcp_socket *)connection)->on_readable, byte_count);
}

static void on_writable(struct tcp_connection *connection, uint32_t byte_count)
{
	call(connection, ((struct tcp_socket *)connection)->on_writable, byte_count);
}

static void on_error(struct tcp_connection *connection)
{
	struct tcp_socket *record = (struct tcp_socket *)connection;
	if (!record->on_error)
		return;
	xsBeginHost(machine);
	xsCallFunction0(xsReference(record->on_error), record->object);
	xsEndHost(machine);
}

static void on_released(struct tcp_connection *connection)
{
	c_free(connection);
}

static const struct tcp_events events = { on_writable, on_readable, on_error, on_released };

/** Closes a socket that is still open when its machine is deleted. */
void xs_board_tcp_destructor(void *data)
{
	if (data)
		tcp_connection_close(data);
}

static void mark(xsMachine *the, void *data, xsMarkRoot markRoot)
{
	struct tcp_socket *record = data;
	if (record->on_readable)
		(*markRoot)(the, record->on_readable);
	if (record->on_writable)
		(*markRoot)(the, record->on_writable);
	if (record->on_error)
		(*markRoot)(the, record->on_error);
}

static const xsHostHooks hooks = { xs_board_tcp_destructor, mark, NULL };

static bool is_number_format(xsMachine *the, xsSlot *slot)
{
	const char *format = fxToString(the, slot);
	if (c_strcmp(format, "number") == 0)
		return true;
	if (c_strcmp(format, "buffer") != 0)
		xsRangeError("format must be number or buffer");
	return false;
}

void xs_board_tcp(xsMachine *the)
{
	char address[INET_ADDRSTRLEN];
	struct in_addr peer;

	if (!tcp_port_has_network())
		xsUnknownError("no network");
	if (machine && machine != the)
		xsUnknownError("sockets are not available in a Worker");

	xsmcVars(1);
	xsmcGet(xsVar(0), xsArg(0), xsID_address);
	xsmcToStringBuffer(xsVar(0), address, sizeof(address));
	if (inet_pton(AF_INET, address, &peer) != 1)
		xsRangeError("address must be IPv4");
	xsmcGet(xsVar(0), xsArg(0), xsID_port);
	xsIntegerValue port = xsmcToInteger(xsVar(0));
	if (port < 1 || port > 65535)
		xsRangeError("port must be 1 to 65535");
	xsmcGet(xsVar(0), xsArg(0), xsID_format);
	bool reads_numbers = xsmcTest(xsVar(0)) && is_number_format(the, &xsVar(0));
	xsSlot *onReadable = builtinGetCallback(the, xsID_onReadable);
	xsSlot *onWritable = builtinGetCallback(the, xsID_onWritable);
	xsSlot *onError = builtinGetCallback(the, xsID_onError);

	struct tcp_socket *record = c_malloc(sizeof(*record));
	if (!record)
		xsUnknownError("out of memory");
	if (!machine)
		machine = the;
	if (!tcp_connection_open(&record->connection, &events, peer.s_addr, (uint16_t)port)) {
		c_free(record);
		xsUnknownError("no free socket");
	}
	record->object = xsThis;
	record->on_readable = onReadable;
	record->on_writable = onWritable;
	record->on_error = onError;
	record->reads_numbers = reads_numbers;
	xsmcSetHostData(xsThis, record);
	xsSetHostHooks(xsThis, &hooks);
	xsRemember(record->object);
}

static struct tcp_socket *this_socket(xsMachine *the)
{
	return xsmcGetHostDataValidate(xsThis, (void *)&hooks);
}

void xs_board_tcp_close(xsMachine *the)
{
	struct tcp_socket *record = xsmcGetHostData(xsThis);
	if (!record)
		return;
	record = this_socket(the);
	xsForget(record->object);
	xsmcSetHostData(xsThis, NULL);
	xsSetHostDestructor(xsThis, NULL);
	tcp_connection_close(&record->connection);
}

/** Returns a new ArrayBuffer with at most `count` bytes. */
static void read_array_buffer(xsMachine *the, struct tcp_connection *connection, uint32_t count)
{
	uint32_t readable = tcp_connection_readable(connection);
	count = count < readable ? count : readable;
	xsmcSetArrayBuffer(xsResult, NULL, (xsIntegerValue)count);
	uint32_t done = tcp_connection_read(connection, xsmcToArrayBuffer(xsResult), count);
	if (done == count)
		return;
	xsmcVars(1);
	xsVar(0) = xsResult;
	xsmcSetArrayBuffer(xsResult, NULL, (xsIntegerValue)done);
	c_memcpy(xsmcToArrayBuffer(xsResult), xsmcToArrayBuffer(xsVar(0)), done);
}

void xs_board_tcp_read(xsMachine *the)
{
	struct tcp_socket *record = this_socket(the);
	struct tcp_connection *connection = &record->connection;
	uint32_t readable = tcp_connection_readable(connection);
	if (readable == 0)
		return;
	if (record->reads_numbers) {
		uint8_t byte;
		if (tcp_connection_read(connection, &byte, 1) == 1)
			xsmcSetInteger(xsResult, byte);
		return;
	}
	if (xsmcArgc == 0 || xsmcTypeOf(xsArg(0)) == xsUndefinedType)
		return read_array_buffer(the, connection, readable);
	if (xsmcTypeOf(xsArg(0)) == xsReferenceType) {
		void *bytes;
		xsUnsignedValue count;
		xsmcGetBufferWritable(xsArg(0), &bytes, &count);
		xsmcSetInteger(xsResult, (xsIntegerValue)tcp_connection_read(connection, bytes, count));
		return;
	}
	xsIntegerValue count = xsmcToInteger(xsArg(0));
	if (count < 0)
		xsRangeError("negative count");
	read_array_buffer(the, connection, (uint32_t)count);
}

void xs_board_tcp_write(xsMachine *the)
{
	struct tcp_connection *connection = &this_socket(the)->connection;
	uint8_t byte;
	void *bytes = &byte;
	xsUnsignedValue count = 1;
	if (xsmcTypeOf(xsArg(0)) == xsReferenceType)
		xsmcGetBufferReadable(xsArg(0), &bytes, &count);
	else
		byte = (uint8_t)xsmcToInteger(xsArg(0));
	if (!tcp_connection_write(connection, bytes, count))
		xsUnknownError("write exceeds the writable bytes");
	xsmcSetInteger(xsResult, (xsIntegerValue)tcp_connection_writable(connection));
}

void xs_board_tcp_get_format(xsMachine *the)
{
	xsmcSetString(xsResult, this_socket(the)->reads_numbers ? "number" : "buffer");
}

void xs_board_tcp_set_format(xsMachine *the)
{
	struct tcp_socket *record = this_socket(the);
	record->reads_numbers = is_number_format(the, &xsArg(0));
}
