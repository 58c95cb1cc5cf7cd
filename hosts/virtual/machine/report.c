/*
 * End of the process: a last frame with the reason and the TypeScript location, and an exit status. Must not allocate in the XS heap,
 * which may be full. All exits of XS (fxAbort) call this file.
 */
#include "machine.h"

#define TEXT_LENGTH 4096

/** Bounded text buffer; truncates excess text. */
static struct text { size_t length; char bytes[TEXT_LENGTH]; } message, stack;

static void append(struct text* text, const char* format, ...) PRINTF_LIKE(2, 3);

static void append(struct text* text, const char* format, ...)
{
	va_list arguments;
	size_t rest = TEXT_LENGTH - text->length;
	va_start(arguments, format);
	int count = vsnprintf(text->bytes + text->length, rest, format, arguments);
	va_end(arguments);
	if (count > 0)
		text->length += (size_t)count < rest ? (size_t)count : rest - 1;
}

static void append_location(const char* name, const char* path, txInteger line)
{
	bool is_named = name && name[0];
	append(&stack, "%sat %s%s%s:%d%s", stack.length > 0 ? "\n" : "", is_named ? name : "", is_named ? " (" : "", path,
		(int)line, is_named ? ")" : "");
}

bool report_has_location(txMachine* the)
{
	for (txSlot* frame = the->frame; frame; frame = frame->next) {
		if (mxFrameToEnvironment(frame)->ID != XS_NO_ID)
			return true;
	}
	return false;
}

/** Appends the stack frames, innermost first, as "at name (file:line)". */
static void append_frames(txMachine* the)
{
	if (!the || !the->stackTop)
		return;
	for (txSlot* frame = the->frame; frame; frame = frame->next) {
		txSlot* environment = mxFrameToEnvironment(frame);
		if (environment->ID == XS_NO_ID)
			continue;
		txSlot* function = FRAME_FUNCTION(frame);
		const char* name = NULL;
		if (function->kind == XS_REFERENCE_KIND && mxIsFunction(function->value.reference)) {
			txID id = mxFunctionInstanceCode(function->value.reference)->ID;
			name = id == XS_NO_ID ? NULL : fxGetKeyName(the, id);
		}
		append_location(name, fxGetKeyName(the, environment->ID), environment->value.environment.line);
	}
}

static NO_RETURN void end(enum reason reason)
{
	channel_send(FRAME_EXIT, reason, message.bytes, message.length, stack.bytes, stack.length);
	channel_end();
	_exit((int)reason);
}

void report_end(txMachine* the, enum reason reason, const char* format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int count = vsnprintf(message.bytes, TEXT_LENGTH, format, arguments);
	va_end(arguments);
	message.length = count < TEXT_LENGTH ? (size_t)count : TEXT_LENGTH - 1;
	append_frames(the);
	end(reason);
}

static const char* string_property(txMachine* the, txSlot* instance, txID id)
{
	txSlot* property = mxBehaviorGetProperty(the, instance, id, 0, XS_ANY);
	bool is_string = property && (property->kind == XS_STRING_KIND || property->kind == XS_STRING_X_KIND);
	return is_string ? property->value.string : "";
}

static void describe_error(txMachine* the, txSlot* error)
{
	const char* text = string_property(the, error, mxID(_message));
	append(&message, "%s%s%s", string_property(the, error, mxID(_name)), text[0] ? ": " : "", text);
	txSlot* info = error->next->value.error.info;
	for (txSlot* place = info ? info->next : NULL; place; place = place->next) {
		if (place->ID != XS_NO_ID)
			append_location(place->value.key.string, fxGetKeyName(the, place->ID), (txInteger)place->value.key.sum);
	}
}

static bool is_error(txSlot* thrown)
{
	if (thrown->kind != XS_REFERENCE_KIND)
		return false;
	txSlot* internal = thrown->value.reference->next;
	return internal && (internal->flag & XS_INTERNAL_FLAG) && internal->kind == XS_ERROR_KIND;
}

void report_thrown(txMachine* the, enum reason reason, txSlot* thrown)
{
	if (is_error(thrown))
		describe_error(the, thrown->value.reference);
	else
		append(&message, "thrown value is not an Error");
	end(reason);
}

/** exit("quit" | "restart") */
void native_exit(txMachine* the)
{
	bool restart = mxArgc > 0 && strcmp(fxToString(the, mxArgv(0)), "restart") == 0;
	report_end(NULL, restart ? REASON_RESTART : REASON_QUIT, "%s", restart ? "restart" : "quit");
}

/* Called by XS on a fatal error. */

void fxAbort(txMachine* the, int status)
{
	switch (status) {
	case XS_NOT_ENOUGH_MEMORY_EXIT:
		/* XS provides no details. Free slots mean that a chunk allocation failed. */
		if (the->freeHeap)
			report_end(the, REASON_OUT_OF_MEMORY, "out of chunk memory: %d of %d bytes in use",
				(int)the->currentChunksSize, (int)the->maximumChunksSize);
		report_end(the, REASON_OUT_OF_MEMORY, "out of slots: %d of %d in use",
			(int)the->currentHeapCount, (int)the->maximumHeapCount);
	case XS_JAVASCRIPT_STACK_OVERFLOW_EXIT:
	case XS_NATIVE_STACK_OVERFLOW_EXIT:
		report_end(the, REASON_OUT_OF_MEMORY, "stack overflow");
	case XS_NO_MORE_KEYS_EXIT:
		report_end(the, REASON_OUT_OF_MEMORY, "out of keys for property names");
	case XS_UNHANDLED_EXCEPTION_EXIT:
		report_thrown(the, REASON_EXCEPTION, &mxException);
	case XS_UNHANDLED_REJECTION_EXIT:
		report_thrown(the, REASON_REJECTION, &mxException);
	case XS_TOO_MUCH_COMPUTATION_EXIT:
		report_end(the, REASON_WATCHDOG, "task watchdog timeout");
	default:
		report_end(the, REASON_EXCEPTION, "XS aborted with status %d", status);
	}
}

/* Stubs for the debugger that XS's debug build expects; only that build keeps line numbers. */

txBoolean fxIsConnected(txMachine* the) { (void)the; return 0; }
void fxConnect(txMachine* the) { (void)the; }
void fxDisconnect(txMachine* the) { (void)the; }
txBoolean fxIsReadable(txMachine* the) { (void)the; return 0; }
void fxReceive(txMachine* the) { (void)the; }
void fxSend(txMachine* the, txBoolean more) { (void)the; (void)more; }
