/** Rules of a firmware that traces more than a log can take from the first button on: 300 lines a second. */

import Timer from "timer";

export function showWiFi(): void {}

export function showLink(): void {}

export function onButton(): void {
	let count = 0;
	Timer.repeat(() => {
		for (let line = 0; line < 30; line++) trace(`line ${count++} "quoted" of a flood\n`);
	}, 100);
}
