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
	/* tcp.ts sets all callbacks. */
	xsSlot *on_readable;
	xsSlot *on_writable;
	xsSlot *on_error;
};

/* Workers cannot open sockets. */
static xsMachine *machine;

static void call(struct tcp_connection *connection, xsSlot *callback, uint32_t byte_count)
{
	struct tcp_socket *record = (struct tcp_socket *)connection;
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
	call(connection, ((struct tcp_socket *)connection)->on_error, 0);
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
	(*markRoot)(the, record->on_readable);
	(*markRoot)(the, record->on_writable);
	(*markRoot)(the, record->on_error);
}

static const xsHostHooks hooks = { xs_board_tcp_destructor, mark, NULL };

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

void xs_board_tcp_read(xsMachine *the)
{
	struct tcp_connection *connection = &this_socket(the)->connection;
	void *bytes;
	xsUnsignedValue count;
	xsmcGetBufferWritable(xsArg(0), &bytes, &count);
	xsmcSetInteger(xsResult, (xsIntegerValue)tcp_connection_read(connection, bytes, count));
}

void xs_board_tcp_write(xsMachine *the)
{
	struct tcp_connection *connection = &this_socket(the)->connection;
	void *bytes;
	xsUnsignedValue count;
	xsmcGetBufferReadable(xsArg(0), &bytes, &count);
	if (!tcp_connection_write(connection, bytes, count))
		xsUnknownError("write exceeds the writable bytes");
	xsmcSetInteger(xsResult, (xsIntegerValue)tcp_connection_writable(connection));
}
