/** Serves `/api/sounds`, `/api/speech`, and `/sounds/<id>.wav`, from which devices stream. */

import { TLSSocket } from "node:tls";
import { maxNameLength, soundRoutes } from "../api/announcement.js";
import { forever, sendFile } from "../http/file.js";
import { recordChange } from "../http/request-body.js";
import { type Route, serve, streamed } from "../http/routes.js";
import { RequestError, requireFound } from "../problem.js";
import type { AnnouncementsOptions } from "./announcements.js";
import { bodyOf, type Sounds } from "./sounds.js";
import { speechLimits } from "./speech.js";

/** TLS record size. A device decrypts a record in one turn; 16 KB take 0.1 s, during which it handles no button. */
const recordBytes = 2048;

export function createSoundRoutes(options: AnnouncementsOptions): readonly Route[] {
	const { core, sounds, speech, decoder } = options;
	const { storage } = core;
	const { speechMs } = { ...speechLimits, ...core.limits };
	return serve(soundRoutes, {
		"GET /api/sounds": async () => ({
			sounds: sounds.list(await sounds.scheduled()),
			canSpeak: speech.isAvailable,
		}),
		"POST /api/sounds": async ({ request, response, query: { name, temporary = false } }) => {
			if (name === "")
				throw new RequestError(422, `The query parameter name requires 1 to ${maxNameLength} characters.`);
			const type = request.headers["content-type"] ?? "";
			if (/^multipart\//i.test(type))
				throw new RequestError(415, "Send the sound file itself as the body, not in a form.");
			const ending = new AbortController();
			response.once("close", () => ending.abort());
			const content = await decoder.decode(bodyOf(request), ending.signal);
			return temporary ? sounds.addTemporary(name, content) : sounds.add(name, content);
		},
		"GET /api/sounds/:id": ({ params: { id } }) => known(sounds, id),
		"DELETE /api/sounds/:id": async ({ request, params: { id } }) => {
			const { name } = known(sounds, id);
			recordChange(request, { before: { name } });
			const schedules = (await sounds.scheduled()).get(id) ?? [];
			if (schedules.length > 0)
				throw new RequestError(
					409,
					`${name} is scheduled: ${schedules.join(", ")}. Change or delete these schedules first.`,
				);
			if (!(await sounds.remove(id)))
				throw new RequestError(
					storage.status,
					`Removing the sound from ${storage.place} failed. The log has the reason.`,
				);
		},
		"GET /sounds/:file": async ({ request, response, params: { file } }) => {
			const found = await sounds.content(file.replace(/\.wav$/, ""));
			const content = requireFound(found, `Sound ${file} not found. It may have been deleted.`);
			if (request.socket instanceof TLSSocket) request.socket.setMaxSendFragment(recordBytes);
			sendFile(request, response, {
				content,
				type: "audio/wav",
				filename: file,
				lastModified: content.lastModified,
				// The file name is the hash of the content.
				caching: forever,
				// Requests of the dashboard have a cookie instead.
				isForDevice: request.headers.authorization !== undefined,
			});
			return streamed;
		},
		"POST /api/speech": async ({ response, body: { text } }) => {
			const ending = new AbortController();
			response.once("close", () => ending.abort());
			const speaking = speech.speak(text, ending.signal);
			const detail = `Speech synthesis took longer than ${speechMs / 1000} s. Shorten the text, try again later, or announce it without a preview.`;
			const timer = setTimeout(() => ending.abort(new RequestError(503, detail)), speechMs);
			const file = Buffer.concat(await speaking.finally(() => clearTimeout(timer)));
			// Omits the ETag, which send() would compute from the body.
			response.set({
				"Content-Type": "audio/wav",
				"Content-Length": file.length,
				"Cache-Control": "no-store",
			});
			response.end(file);
			return streamed;
		},
	});
}

/** @throws {RequestError} 404 */
function known(sounds: Sounds, id: string) {
	return requireFound(sounds.find(id), `Sound ${id} not found. GET /api/sounds lists all.`);
}
