/** `/api/sounds`, `/api/speech`, and `/sounds/<id>.wav`, from which devices play. */

import { TLSSocket } from "node:tls";
import { type Response, Router } from "express";
import { matches } from "../../device/protocol/schema.js";
import { askedSpeech, longestName, type SoundList } from "../api/announcement.js";
import { freeText } from "../api/text.js";
import type { Core } from "../extension.js";
import { forever, sendFile } from "../http/file.js";
import { readJson, readQuery } from "../http/request-body.js";
import { mayTakeLong } from "../http/server.js";
import { pick } from "../json.js";
import { HttpProblem, refuseMethod } from "../problem.js";
import type { Decoder } from "./decoder.js";
import { bodyOf, type Sounds } from "./sounds.js";
import { type Speak, speechLimits } from "./speech.js";

const soundName = freeText(longestName);
/** A device decrypts a TLS record in one turn: one of 16 KB takes 0.1 s, in which no button is answered. */
const recordBytes = 2048;

const soundsPath = "/api/sounds";

export interface SoundRoutesOptions {
	readonly core: Pick<Core, "access" | "requirePerson" | "storage" | "limits">;
	readonly sounds: Sounds;
	readonly speak: Speak;
	/** Whether texts can be spoken. */
	readonly canSpeak: boolean;
	readonly decoder: Decoder;
}

export function soundRoutes({ core, sounds, speak, canSpeak, decoder }: SoundRoutesOptions): Router {
	const { access, requirePerson, storage } = core;
	const { speechMs } = { ...speechLimits, ...core.limits };
	const router = Router({ caseSensitive: true, strict: true });
	const send = (response: Response, content: object, status = 200) =>
		response.status(status).set("Cache-Control", "no-store").json(content);

	router
		.route(soundsPath)
		.get(requirePerson, (_request, response) => {
			const list: SoundList = { sounds: sounds.list(), canSpeak };
			send(response, list);
		})
		.post(requirePerson, async (request, response) => {
			mayTakeLong(request);
			const name = pick(soundName, readQuery(request, "name"));
			if (!matches(soundName, name) || name === "")
				throw new HttpProblem(422, `Name the sound: ?name= with 1 to ${longestName} characters.`);
			const type = request.headers["content-type"] ?? "";
			const isWav = /^audio\/(x-|vnd\.)?wave?\b/i.test(type);
			if (!isWav && !/^(audio\/|video\/|application\/(ogg|octet-stream)\b)/i.test(type))
				throw new HttpProblem(
					415,
					"Send the sound file as the body, with Content-Type: audio/wav, audio/mpeg or such.",
				);
			const isTemporary = readQuery(request, "temporary") === "true";
			const ending = new AbortController();
			response.once("close", () => ending.abort());
			const body = bodyOf(request);
			const content = isWav ? body : await decoder.decode(body, ending.signal);
			const sound = await (isTemporary ? sounds.addPassing(name, content) : sounds.add(name, content));
			response.set("Location", `${soundsPath}/${sound.id}`);
			send(response, sound, 201);
		})
		.all(refuseMethod("GET, HEAD, POST"));

	router
		.route(`${soundsPath}/:id`)
		.get(requirePerson, ({ params: { id } }, response) => void send(response, known(sounds, id)))
		.delete(requirePerson, async ({ params: { id } }, response) => {
			known(sounds, id);
			if (!(await sounds.remove(id)))
				throw new HttpProblem(
					storage.status,
					`The sound could not be removed from ${storage.place}; the log says why.`,
				);
			response.status(204).end();
		})
		.all(refuseMethod("GET, HEAD, DELETE"));

	router
		.route("/sounds/:file")
		.get(access.requireAnyToken, async (request, response) => {
			const file = String(request.params.file);
			const content = await sounds.content(file.replace(/\.wav$/, ""));
			if (!content) throw new HttpProblem(404, `There is no sound ${file}; it may have been deleted.`);
			if (request.socket instanceof TLSSocket) request.socket.setMaxSendFragment(recordBytes);
			// The name is the content's digest.
			const { lastModified } = content;
			sendFile(request, response, {
				content,
				type: "audio/wav",
				filename: file,
				lastModified,
				caching: forever,
				// The page's requests have a cookie.
				isForDevice: request.headers.authorization !== undefined,
			});
		})
		.all(refuseMethod("GET, HEAD"));

	router
		.route("/api/speech")
		.post(requirePerson, async (request, response) => {
			const { text } = await readJson(request, askedSpeech, '{"text":"Dinner is ready"}');
			const ending = new AbortController();
			response.once("close", () => ending.abort());
			const speaking = speak(text, ending.signal);
			const timer = setTimeout(() => ending.abort(tooSlow(speechMs)), speechMs);
			const file = Buffer.concat(await speaking.finally(() => clearTimeout(timer)));
			// Without the digest that send() makes of a body.
			response.set({
				"Content-Type": "audio/wav",
				"Content-Length": file.length,
				"Cache-Control": "no-store",
			});
			response.end(file);
		})
		.all(refuseMethod("POST"));

	return router;
}

function tooSlow(limitMs: number): HttpProblem {
	return new HttpProblem(
		503,
		`The text was not spoken within ${limitMs / 1000} s; shorten it, try again later, or announce it without hearing it first.`,
	);
}

/** @throws {HttpProblem} 404 */
function known(sounds: Sounds, id: string) {
	const sound = sounds.find(id);
	if (sound) return sound;
	throw new HttpProblem(404, `No sound is called ${id}; see ${soundsPath}.`);
}
