/**
 * Moddable's `timer` on the virtual machine (documentation/base/base.md, class Timer). Intervals are in milliseconds; a callback
 * receives its timer.
 */

/** Opaque handle for the functions of Timer. */
interface Timer {
	readonly brand: "timer";
}

type TimerCallback = (timer: Timer) => void;

const Timer = Object.freeze({
	/** Calls back after `interval`, then every `repeat` milliseconds unless `repeat` is 0. */
	set(callback: TimerCallback, interval = 0, repeat = 0): Timer {
		return natives.setTimer(callback, interval, repeat);
	},

	/** Calls back every `interval` without drift; catches up in a burst after a stall. */
	repeat(callback: TimerCallback, interval: number): Timer {
		return natives.setTimer(callback, interval, interval);
	},

	/** Sets both intervals; without them, unschedules the timer. */
	schedule(timer: Timer, interval?: number, repeat?: number): void {
		natives.scheduleTimer(timer, interval, repeat);
	},

	/** Cancels a timer. Does nothing if it has fired, is cleared or undefined. */
	clear(timer: Timer | null | undefined): void {
		natives.clearTimer(timer);
	},

	/** Blocks the device. */
	delay(milliseconds: number): void {
		natives.delay(milliseconds);
	},
});

export default Timer;
