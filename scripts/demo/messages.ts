/** The messages between the demo and its page, besides the inputs of hosts/virtual/node/input.ts. */

import type { ButtonName } from "../../device/host.js";

/** `GET api/demo` */
export interface DemoDevices {
	/** Ids of the devices that the demo runs. */
	readonly devices: readonly string[];
}

/** Server-sent events of a board, each with its data; all but `sound` and `more` are sent at the start of a stream, too. */
export interface BoardEvents {
	readonly inputs: BoardInputs;
	/** Of the codec, as a factor: 1 is 0 dB, 0 is silence. */
	readonly gain: number;
	/** What the speaker's output starts to play; null: it stops. */
	readonly sound: BoardSound | null;
	/** What follows, as `samples` of BoardSound, half a second before it is played. */
	readonly more: string;
	/** The version that the next release would have. */
	readonly next: string;
}

export interface BoardInputs {
	readonly pressed: readonly ButtonName[];
	/** 0 to 4095. */
	readonly light: number;
	readonly isTouched: boolean;
	/** In dBm; null: out of range of Wi-Fi. */
	readonly rssi: number | null;
}

export interface BoardSound {
	/** Signed, 16 bits, little-endian, mono; in base64. */
	readonly samples: string;
	/** In hertz. */
	readonly sampleRate: number;
}

/** `POST api/demo/releases` */
export interface MadeRelease {
	readonly version: string;
}
