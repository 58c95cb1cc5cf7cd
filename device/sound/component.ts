/** Component for sounds from the network. */

import type { ComponentDefinition, Core } from "../firmware.js";
import type { Audio } from "../peripherals/audio.js";
import { Results } from "./results.js";
import { Sounds } from "./sounds.js";

export const sound: ComponentDefinition = Object.freeze({
	features: Object.freeze(["sound", "queue", "chime"] as const),
	create: (core: Core) => {
		const { audio } = core.peripherals;
		// In safe mode `Commands` rejects its commands.
		return audio ? createSounds(core, audio) : {};
	},
});

function createSounds({ host, settings, gateway, peripherals, deviceId, now }: Core, audio: Audio): Sounds {
	return new Sounds({
		audio,
		results: new Results(settings),
		bufferBytes: host.soundBufferBytes,
		http: gateway,
		isUpdating: () => peripherals.ring.isUpdating,
		onActive: (isActive) => {
			peripherals.ring.hasSound = isActive;
		},
		now,
		afterTurn: (action) => {
			Promise.resolve()
				.then(action)
				.catch((error: unknown) => trace(`sound: ${error}\n`));
		},
		send: (update) => {
			const isEnd = update.state !== "ready" && update.state !== "playing";
			trace(`sound ${update.id}: ${update.state}${update.reason ? `, ${update.reason}` : ""}\n`);
			const message = { type: "sound_update", deviceId, ...update } as const;
			if (isEnd) gateway.sendReliably(message);
			else gateway.send(message);
		},
	});
}
