/** Firmware that does not connect and crashes a second after its start. */

import Timer from "timer";

export default function main(): void {
	Timer.set(() => {
		throw new Error("this firmware crashes a second later");
	}, 1_000);
}
