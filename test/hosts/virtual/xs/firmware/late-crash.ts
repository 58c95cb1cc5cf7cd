/** A firmware that starts as it should, connects to nobody, and crashes a second later. */

import Timer from "timer";

export default function main(): void {
	Timer.set(() => {
		throw new Error("this firmware crashes a second later");
	}, 1_000);
}
