/** Announcements: sounds that are kept, spoken or elsewhere, played on one device, on those of a room, or on all. */

import { isRecord } from "../../device/protocol/schema.js";
import { personOf } from "../access/access.js";
import { askedAnnouncement, playStates } from "../api/announcement.js";
import { maxTargetsBytes } from "../api/targets.js";
import type { Core, Extension } from "../extension.js";
import { readJson, requireValid } from "../http/request-body.js";
import { jobsExtension } from "../jobs/extension.js";
import { pick } from "../json.js";
import { Announcements } from "./announcements.js";
import { Decoder } from "./decoder.js";
import { soundRoutes } from "./routes.js";
import { Sounds } from "./sounds.js";
import { createSpeech } from "./speech.js";

const example = '{"sound":"<id>","targets":{"room":"Kitchen"}}';

export function createAnnouncements(core: Core): Extension {
	const sounds = new Sounds(core);
	const speak = createSpeech(core);
	const canSpeak = core.settings.speechCommand !== undefined;
	const decoder = new Decoder(core);
	const announcements = new Announcements({ core, sounds, speak, decoder });
	const jobs = jobsExtension({
		core,
		jobs: announcements.jobs,
		states: playStates,
		begin: async (request) => {
			const asked = await readJson(request, askedAnnouncement, example, maxTargetsBytes);
			return announcements.begin(asked, { by: personOf(request)?.name ?? null });
		},
	});
	const read = (asked: unknown) => requireValid(askedAnnouncement, pick(askedAnnouncement, asked));
	return {
		...jobs.extension,
		routes: soundRoutes({ core, sounds, speak, canSpeak, decoder }).use(jobs.extension.routes),
		services: {
			announcements: {
				canSpeak,
				sounds: () => sounds.list(),
				check: (asked) => {
					const checked = read(asked);
					announcements.check(checked);
					return checked;
				},
				begin: async (asked, beginning) => announcements.begin(read(asked), beginning),
				has: jobs.has,
			},
		},
		// A path of this gateway becomes the address by which the device reaches it.
		intercept: (message, { handshake }) => {
			if (message.type !== "control_device" || !isRecord(message.payload)) return undefined;
			const { command, value } = message.payload;
			if (command !== "play_sound" || !isRecord(value) || typeof value.url !== "string") return undefined;
			if (!value.url.startsWith("/")) return undefined;
			const url = `${handshake.baseUrl}${value.url}`;
			return core.execute({ ...message, payload: { command, value: { ...value, url } } });
		},
		open: async () => {
			await sounds.open();
			await jobs.extension.open();
		},
		close: async () => {
			await jobs.extension.close();
			await announcements.close();
			await sounds.close();
		},
	};
}
