/** Announcements: sounds that are kept, spoken or elsewhere, played on one device, on those of a room, or on all. */

import { isRecord } from "../../device/protocol/schema.js";
import type { Core, Extension } from "../extension.js";
import { Announcements } from "./announcements.js";
import { announcementRoutes, soundsPath } from "./routes.js";
import { SharedAnnouncements } from "./shared.js";
import { Sounds } from "./sounds.js";
import { createSpeech } from "./speech.js";

export function createAnnouncements(core: Core): Extension {
	const sounds = new Sounds(core);
	const { speak, close: endSpeech } = createSpeech(core);
	const canSpeak = core.settings.speechCommand !== undefined;
	const announcements = new Announcements({ core, sounds, speak });
	const shared = core.peers && new SharedAnnouncements(core.peers, core, announcements);
	return {
		routes: announcementRoutes({
			core,
			sounds,
			announcements,
			speak,
			shown: shared ?? announcements,
			canSpeak,
		}),
		announcer: { canSpeak, sounds: () => sounds.list(), begin: (asked) => announcements.begin(asked) },
		uploadPaths: [soundsPath],
		sessions: [announcements.sessions],
		channels: { announcements: () => announcements.frames() },
		// A path of this gateway becomes the address by which the device reaches it.
		intercept: (message, { link, handshake }) => {
			if (message.type !== "control_device" || link.isRemote || !isRecord(message.payload)) return undefined;
			const { command, value } = message.payload;
			if (command !== "play_sound" || !isRecord(value) || typeof value.url !== "string") return undefined;
			if (!value.url.startsWith("/")) return undefined;
			const url = `${handshake.baseUrl}${value.url}`;
			return core.execute({ ...message, payload: { command, value: { ...value, url } } });
		},
		open: async () => {
			await sounds.open();
			shared?.open();
		},
		close: async () => {
			shared?.close();
			endSpeech();
			await announcements.close();
			await sounds.close();
		},
	};
}
