/** Loops with each way to leave a `switch`, with more rounds than a board's stack has slots. */

import config from "mc/config";
import Channel from "virtual/channel";

const rounds = 20_000;

/** Each one counts up to `rounds` without the multiples of 3. */
const exits: Readonly<Record<string, () => number>> = {
	"break in a switch": () => {
		let sum = 0;
		for (let index = 1; index <= rounds; index++) {
			switch (index % 3) {
				case 0:
					break;
				default:
					sum += index;
			}
		}
		return sum;
	},
	"continue in a loop": () => {
		let sum = 0;
		for (let index = 1; index <= rounds; index++) {
			if (index % 3 === 0) continue;
			sum += index;
		}
		return sum;
	},
	"return out of a switch in a loop": () => {
		const unlessThird = (index: number) => {
			for (;;)
				switch (index % 3) {
					case 0:
						return 0;
					default:
						return index;
				}
		};
		let sum = 0;
		for (let index = 1; index <= rounds; index++) sum += unlessThird(index);
		return sum;
	},
	"continue to a label": () => {
		let sum = 0;
		round: for (let index = 1; index <= rounds; index++)
			for (;;)
				switch (index % 3) {
					case 0:
						continue round;
					default:
						sum += index;
						continue round;
				}
		return sum;
	},
	"continue out of a switch": () => {
		let sum = 0;
		for (let index = 1; index <= rounds; index++) {
			switch (index % 3) {
				case 0:
					continue;
				default:
					sum += index;
			}
		}
		return sum;
	},
};

export default function main(): void {
	new Channel("exits", {}, () => {}).post("sum", exits[String(config.exit)]?.());
}
