/*
 * Moddable's Timer, with the same order and rules. A repeating timer does not drift: it is due at multiples of its interval, and after a
 * stall it fires in a burst until it has caught up. A one-shot timer is cleared when its callback returns, even if the callback
 * rescheduled it without a repeat interval.
 * Source: Moddable SDK, modules/base/timer/modTimer.c and mc/timer.c; documentation/base/base.md, class Timer.
 */
#include "machine.h"

struct timer {
	struct timer* next;
	double due;
	/** Interval in ms; 0 for a one-shot timer, negative for an unscheduled timer that is kept. */
	double repeat;
	bool scheduled;
	/** Due in the current round. */
	bool firing;
	/** The callback is running, so the record must not be freed. */
	bool running;
	bool cleared;
	txSlot callback;
	txSlot self;
};

static struct timer* first_timer = NULL;

static void timer_mark(txMachine* the, void* it, txMarkRoot mark_root)
{
	struct timer* timer = it;
	(*mark_root)(the, &timer->callback);
}

static const txHostHooks timer_hooks = { .marker = timer_mark };

static double interval_argument(txMachine* the, txInteger index)
{
	txInteger interval = index < mxArgc ? fxToInteger(the, mxArgv(index)) : 0;
	return interval > 0 ? interval : 0;
}

/** Returns the record of a timer object, or NULL if the argument is not a timer or is cleared. */
static struct timer* timer_argument(txMachine* the, txInteger index)
{
	txSlot* slot = index < mxArgc ? mxArgv(index) : NULL;
	if (!slot || slot->kind != XS_REFERENCE_KIND)
		return NULL;
	txSlot* host = slot->value.reference->next;
	if (!host || host->kind != XS_HOST_KIND || !(host->flag & XS_HOST_HOOKS_FLAG) ||
			host->value.host.variant.hooks != &timer_hooks)
		return NULL;
	return host->value.host.data;
}

static void timer_remove(txMachine* the, struct timer* timer)
{
	if (!timer->cleared) {
		timer->cleared = true;
		fxForget(the, &timer->self);
		fxSetHostData(the, &timer->self, NULL);
		for (struct timer** link = &first_timer; *link; link = &(*link)->next) {
			if (*link == timer) {
				*link = timer->next;
				break;
			}
		}
	}
	if (!timer->running)
		free(timer);
}

double timers_next(void)
{
	double next = INFINITY;
	for (struct timer* timer = first_timer; timer; timer = timer->next) {
		if (timer->scheduled && timer->due < next)
			next = timer->due;
	}
	return next;
}

static int push_self(txMachine* the, const void* detail)
{
	const struct timer* timer = detail;
	mxPush(timer->self);
	return 1;
}

void timers_run(txMachine* the)
{
	double now = clock_now();
	for (struct timer* timer = first_timer; timer; timer = timer->next)
		timer->firing = timer->scheduled && timer->due <= now;
	struct timer* timer = first_timer;
	while (timer) {
		if (!timer->firing) {
			timer = timer->next;
			continue;
		}
		timer->firing = false;
		timer->due += timer->repeat;
		timer->running = true;
		machine_turn(the, &timer->callback, push_self, timer);
		timer->running = false;
		if (timer->cleared || timer->repeat == 0)
			timer_remove(the, timer);
		/* The callback may have changed the list; the flags mark the remaining timers. */
		timer = first_timer;
	}
}

/** set(callback, interval, repeat) → timer */
void native_timer_set(txMachine* the)
{
	forbid_while_loading(the, "Timer");
	if (mxArgc < 1 || !fxIsCallable(the, mxArgv(0)))
		mxTypeError("callback is not a function");
	double interval = interval_argument(the, 1);
	double repeat = interval_argument(the, 2);
	struct timer* timer = calloc(1, sizeof(struct timer));
	if (!timer)
		fxAbort(the, XS_NOT_ENOUGH_MEMORY_EXIT);
	timer->due = clock_now() + interval;
	timer->repeat = repeat;
	timer->scheduled = true;
	timer->callback.kind = mxArgv(0)->kind;
	timer->callback.value = mxArgv(0)->value;
	fxNewHostObject(the, NULL);
	timer->self.kind = the->stack->kind;
	timer->self.value = the->stack->value;
	mxPullSlot(mxResult);
	fxSetHostData(the, &timer->self, timer);
	fxSetHostHooks(the, &timer->self, &timer_hooks);
	fxRemember(the, &timer->self);
	struct timer** link = &first_timer;
	while (*link)
		link = &(*link)->next;
	*link = timer;
}

/** schedule(timer[, interval[, repeat]]). Without an interval, the timer is unscheduled. */
void native_timer_schedule(txMachine* the)
{
	struct timer* timer = timer_argument(the, 0);
	if (!timer)
		mxTypeError("not a timer");
	if (mxArgc < 2 || mxArgv(1)->kind == XS_UNDEFINED_KIND) {
		timer->scheduled = false;
		timer->firing = false;
		timer->repeat = -1;
		return;
	}
	timer->due = clock_now() + interval_argument(the, 1);
	timer->repeat = interval_argument(the, 2);
	timer->scheduled = true;
}

void native_timer_clear(txMachine* the)
{
	struct timer* timer = timer_argument(the, 0);
	if (timer)
		timer_remove(the, timer);
}
