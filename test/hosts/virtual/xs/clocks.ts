/** Exercises timers and clocks, and reports when each one fires. */

import config from "mc/config";
import Time from "time";
import Timer from "timer";
import Channel from "virtual/channel";

const tests: Readonly<Record<string, (note: (text: string) => void) => void>> = {
	order: (note) => {
		Timer.set(() => note("b"), 20);
		Timer.set(() => note("a"), 10);
		Timer.set(() => note("c"), 20);
		Timer.set(() => note("now"));
	},
	repeat: (note) => {
		let count = 0;
		Timer.repeat((timer) => {
			note("repeat");
			if (++count === 3) Timer.clear(timer);
		}, 100);
	},
	burst: (note) => {
		Timer.repeat(() => note("repeat"), 10);
		Timer.set(() => Timer.delay(35), 10);
	},
	schedule: (note) => {
		const timer = Timer.set(() => note("late"), 10);
		Timer.schedule(timer, 50);
		const asleep = Timer.repeat(() => note("woken"), 10);
		Timer.schedule(asleep);
		Timer.set(() => Timer.schedule(asleep, 5, 1000), 60);
		const once = Timer.set(() => {
			note("once");
			Timer.schedule(once, 10);
		}, 80);
		const kept = Timer.set(() => {
			note("kept");
			Timer.schedule(kept);
		}, 90);
		Timer.set(() => Timer.schedule(kept, 5), 100);
	},
	jobs: (note) => {
		Timer.set(() => {
			Promise.resolve().then(() => note("job"));
			note("first");
		}, 10);
		Timer.set(() => note("second"), 10);
	},
	clocks: (note) => {
		note(`${Date.now()} ${Time.ticks} ${Time.microseconds} ${new Date().getHours()}`);
		Timer.set(() => {
			note(`${Date.now()} ${Time.ticks} ${Time.microseconds} ${new Date().toISOString()}`);
			Time.set(1_700_000_000);
			note(`${Date.now()} ${Math.floor(natives.now())}`);
		}, 1500);
	},
	wrap: (note) => {
		Timer.set(
			() => {
				const start = Time.ticks;
				Timer.set(() => note(`${start} ${Time.ticks} ${Time.delta(start)}`), 1000);
			},
			2 ** 31 - 400,
		);
	},
	random: (note) => {
		for (let i = 0; i < 3; i++) note(String(Math.random()));
	},
};

export default function main() {
	const channel = new Channel("notes", {}, () => {});
	tests[config.test ?? ""]?.((text) => channel.post(text, Math.floor(natives.now())));
}
