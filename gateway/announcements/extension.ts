/** Announcements: stored, spoken or remote sounds played on one device, the devices of a room, or all. */

import { isRecord } from "../../device/protocol/schema.js";
import { announcementRequest, announcementRoutes, playStates } from "../api/announcement.js";
import { pick } from "../api/json.js";
import type { Core, Extension } from "../extension.js";
import { requireValid } from "../http/request-body.js";
import { serve } from "../http/routes.js";
import { jobsExtension } from "../jobs/extension.js";
import { Announcements } from "./announcements.js";
import { Decoder } from "./decoder.js";
import { createSoundRoutes } from "./routes.js";
import { decodeCommand, speechCommand } from "./settings.js";
import { Sounds } from "./sounds.js";
import { Speech } from "./speech.js";

export function createAnnouncements(core: Core): Extension {
	const sounds = new Sounds(core);
	const speech = new Speech(core);
	const options = { core, sounds, speech, decoder: new Decoder(core) };
	const announcements = new Announcements(options);
	const jobs = jobsExtension({ core, jobs: announcements.jobs, states: playStates });
	const { list, show, stop } = jobs.handlers;
	const read = (request: unknown) => requireValid(announcementRequest, pick(announcementRequest, request));
	return {
		...jobs.extension,
		routes: [
			...createSoundRoutes(options),
			...serve(announcementRoutes, {
				"GET /api/announcements": list,
				"POST /api/announcements": async ({ body, person }) => ({
					id: await announcements.begin(body, { by: person.name }),
				}),
				"GET /api/announcements/:id": show,
				"DELETE /api/announcements/:id": stop,
			}),
		],
		services: {
			announcementJobs: {
				canSpeak: speech.isAvailable,
				sounds: () => sounds.list(),
				check: (request) => {
					const checked = read(request);
					announcements.check(checked);
					return checked;
				},
				begin: async (request, beginning) => announcements.begin(read(request), beginning),
				has: jobs.has,
			},
		},
		// Resolves a path on this gateway to a URL that the device can reach.
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
			sounds.close();
		},
	};
}

createAnnouncements.settings = [speechCommand, decodeCommand];
