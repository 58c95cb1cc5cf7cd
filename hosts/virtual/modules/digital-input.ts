/**
 * The buttons: ECMA-419 `embedded:io/digital` inputs whose levels come from Node. As with the SDK's driver, onReadable is
 * called for edges only, not for the level at start.
 */

import type { DigitalInput as Digital } from "../../../device/host.js";
import Channel from "./channel.js";

interface DigitalOptions {
	onReadable: () => void;
}

class DigitalInput implements Digital {
	readonly #channel: Channel;

	constructor(name: string, options: DigitalOptions) {
		this.#channel = new Channel("digital", { name }, () => options.onReadable());
	}

	read(): number {
		return this.#channel.call("level").detail === 1 ? 1 : 0;
	}

	close(): void {
		this.#channel.close();
	}
}

export class PlayButton extends DigitalInput {
	constructor(options: DigitalOptions) {
		super("play", options);
	}
}

export class MuteButton extends DigitalInput {
	constructor(options: DigitalOptions) {
		super("mute", options);
	}
}

export class VolumeUpButton extends DigitalInput {
	constructor(options: DigitalOptions) {
		super("volumeUp", options);
	}
}

export class VolumeDownButton extends DigitalInput {
	constructor(options: DigitalOptions) {
		super("volumeDown", options);
	}
}
