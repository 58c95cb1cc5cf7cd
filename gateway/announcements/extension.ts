/** Announcements: sounds that are kept, spoken or elsewhere, played on one device, on those of a room, or on all. */

import { isRecord } from "../../device/protocol/schema.js";
import type { Core, Extension } from "../extension.js";
import { SharedJobs } from "../jobs/shared-jobs.js";
import { Announcements } from "./announcements.js";
import { announcementRoutes, soundsPath } from "./routes.js";
import { Sounds } from "./sounds.js";
import { createSpeech } from "./speech.js";

export function createAnnouncements(core: Core): Extension {
	const sounds = new Sounds(core);
	const speak = createSpeech(core);
	const canSpeak = core.settings.speechCommand !== undefined;
	const announcements = new Announcements({ core, sounds, speak });
	const { jobs } = announcements;
	const stop = (id: string) => announcements.stop(id);
	const shared = core.peers && new SharedJobs({ peers: core.peers, core, jobs, stop });
	const shown = shared ?? { list: () => jobs.list(), find: (id) => jobs.find(id), stop };
	return {
		routes: announcementRoutes({
			core,
			sounds,
			announcements,
			speak,
			shown,
			canSpeak,
		}),
		announcer: { canSpeak, sounds: () => sounds.list(), begin: (asked) => announcements.begin(asked, null) },
		uploadPaths: [soundsPath],
		sessions: [announcements.sessions],
		channels: { announcements: () => jobs.frames() },
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
			await announcements.close();
			await sounds.close();
		},
	};
}
