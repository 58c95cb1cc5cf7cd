/** The boot loader's probation of a new image, as Node's flash holds it. */

import type { BootState as Interface } from "../../../device/host.js";
import Channel from "./channel.js";
import { restart } from "./machine.js";

export default class BootState implements Interface {
	readonly #channel = new Channel("boot-state", {}, () => {});

	get isPendingVerify(): boolean {
		return this.#channel.call("isPendingVerify").detail === true;
	}

	confirm(): boolean {
		try {
			this.#channel.call("confirm");
			return true;
		} catch (error) {
			trace(`the image cannot be confirmed: ${error}\n`);
			return false;
		}
	}

	rollBack(): void {
		if (this.#channel.call("rollBack").detail === true) restart();
	}
}
