/** Sources of announcements, and the gateway's sounds. */

import { type AskedAnnouncement, longestName, type SoundList } from "../../../api/announcement.js";
import { cleanText, cutText } from "../../../api/text.js";
import { writeWav } from "../../../api/wav.js";
import { request, requestIfFound } from "../app/gateway.js";
import type { Draft } from "./sound.js";

export interface Source {
	/** Uploads what the gateway does not have. @returns what plays it @throws Error that says what to change */
	readonly prepare: () => Promise<Pick<AskedAnnouncement, "sound" | "text">>;
}

/** @throws Error with a message to show */
export async function readSounds(): Promise<SoundList> {
	const list = await requestIfFound("GET /api/sounds");
	if (list) return list;
	throw new Error("This gateway has no announcements.");
}

/** @param keptAs its name in the list of kept sounds; blank: the gateway has it for a while. @returns its id @throws Rejection */
export async function upload(draft: Draft, keptAs: string): Promise<string> {
	const name = cutText(cleanText(keptAs) || cleanText(draft.name) || "Sound", longestName);
	const query = { name, temporary: cleanText(keptAs) === "" };
	return (await request("POST /api/sounds", { query, file: writeWav(draft.samples) })).id;
}
