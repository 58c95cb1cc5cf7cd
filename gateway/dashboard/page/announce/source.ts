/** Sources of announcements, and the gateway's sounds. */

import { type AnnouncementRequest, maxNameLength, type SoundList } from "../../../api/announcement.js";
import { cleanText, cutText } from "../../../api/text.js";
import { writeWav } from "../../../api/wav.js";
import { request, requestIfFound } from "../app/gateway.js";
import type { Draft } from "./sound.js";

export interface Source {
	/** Uploads the sound if needed. @returns fields of the announcement @throws Error with a message to show */
	readonly prepare: () => Promise<Pick<AnnouncementRequest, "sound" | "text">>;
}

/** @throws Error with a message to show */
export async function readSounds(): Promise<SoundList> {
	const list = await requestIfFound("GET /api/sounds");
	if (list) return list;
	throw new Error("Announcements are disabled on this gateway.");
}

/** Uploads a sound. @param saveAs name of the saved sound; blank uploads it temporarily. @returns its id @throws Rejection */
export async function upload(draft: Draft, saveAs: string): Promise<string> {
	const name = cutText(cleanText(saveAs) || cleanText(draft.name) || "Sound", maxNameLength);
	const query = { name, temporary: cleanText(saveAs) === "" };
	return (await request("POST /api/sounds", { query, file: writeWav(draft.samples) })).id;
}
