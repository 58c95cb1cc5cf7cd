/** Rules that trace 300 lines a second after the first button press, more than the log holds. */

import Timer from "timer";

export function showWiFi(): void {}

export function showLink(): void {}

export function onButton(): void {
	let count = 0;
	Timer.repeat(() => {
		for (let line = 0; line < 30; line++) trace(`line ${count++} "quoted" of a flood\n`);
	}, 100);
}
