/** Moddable's `time` on the virtual machine (documentation/base/base.md, class Time). */
const Time = Object.freeze({
	/** Milliseconds as a signed 32-bit number that wraps around, as on an ESP32. Compare with delta(), never with < or >. */
	get ticks(): number {
		return natives.now() | 0;
	},

	/** Microseconds since the start; does not wrap around. */
	get microseconds(): number {
		return Math.floor(natives.now() * 1000);
	},

	/** Milliseconds between two values of ticks (default for `end`: now), with wrap-around. */
	delta(start: number, end: number = natives.now()): number {
		return (end - start) | 0;
	},

	/** Sets the wall clock, which starts at 1970. @param seconds seconds since 1970 @throws RangeError if not finite */
	set(seconds: number): void {
		natives.setWallClock(seconds);
	},
});

export default Time;
