/**
 * Moddable's `timer` on the virtual machine (documentation/base/base.md, class Timer). Intervals are milliseconds;
 * a callback gets its timer.
 */

/** A timer: only to be passed to the functions of Timer. */
interface Timer {
	readonly brand: "timer";
}

type TimerCallback = (timer: Timer) => void;

const Timer = Object.freeze({
	/** Calls once after `interval`, and then every `repeat` if that is not 0. */
	set(callback: TimerCallback, interval = 0, repeat = 0): Timer {
		return natives.setTimer(callback, interval, repeat);
	},

	/** Calls every `interval` without drift; after a stall the missed calls come in a burst. */
	repeat(callback: TimerCallback, interval: number): Timer {
		return natives.setTimer(callback, interval, interval);
	},

	/** Sets both intervals; without them the timer waits until it is scheduled again. */
	schedule(timer: Timer, interval?: number, repeat?: number): void {
		natives.scheduleTimer(timer, interval, repeat);
	},

	/** Cancels. Does nothing if the timer has fired, was cleared or is undefined. */
	clear(timer: Timer | null | undefined): void {
		natives.clearTimer(timer);
	},

	/** Blocks the device. */
	delay(milliseconds: number): void {
		natives.delay(milliseconds);
	},
});

export default Timer;
