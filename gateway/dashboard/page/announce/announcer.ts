/** The announcements that this page makes, and the sounds that the gateway keeps. */

import {
	type AskedAnnouncement,
	longestName,
	type Play,
	type Sound,
	type SoundList,
} from "../../../api/announcement.js";
import { ask, askFile, Refusal } from "../../../api/client/request.js";
import { cleanText, cutText } from "../../../api/text.js";
import type { Jobs } from "../app/jobs.js";
import { Resource } from "../app/resource.js";
import { type Draft, decode } from "./sound.js";
import { writeWav } from "./wav.js";

/** What is played. */
export type Source =
	/** @param keptAs its name in the list of kept sounds; undefined: it is deleted once it has been played */
	| { readonly kind: "draft"; readonly draft: Draft; readonly keptAs: string | undefined }
	| { readonly kind: "sound"; readonly sound: Sound }
	| { readonly kind: "text"; readonly text: string };

export interface AnnouncerOptions {
	readonly announcements: Pick<Jobs<Play, object>, "all" | "get" | "begin" | "close">;
	readonly onChanged: () => void;
}

const soundsPath = "api/sounds";

export class Announcer {
	readonly #options: AnnouncerOptions;
	readonly #list: Resource<SoundList>;
	/** Sounds that are deleted once they were played, by the id of their announcement. */
	readonly #temporary = new Map<string, string>();

	constructor(options: AnnouncerOptions) {
		this.#options = options;
		this.#list = new Resource(readSounds, options.onChanged);
	}

	/** Undefined until they are read. */
	get sounds(): readonly Sound[] | undefined {
		return this.#list.value?.sounds;
	}

	get canSpeak(): boolean {
		return this.#list.value?.canSpeak ?? false;
	}

	/** Why the sounds could not be read. */
	get problem(): string {
		return this.#list.value ? "" : this.#list.problem;
	}

	/** Reads the kept sounds. */
	refresh(): Promise<void> {
		return this.#list.refresh();
	}

	/** To be called when an announcement has changed: sounds that were not to be kept are deleted. */
	async tidy(): Promise<void> {
		for (const [id, sound] of this.#temporary) {
			if (this.#options.announcements.get(id)?.isRunning) continue;
			this.#temporary.delete(id);
			await this.remove(sound).catch(() => {
				// It stays in the list, where a person can delete it.
			});
		}
	}

	/** @throws Error that says what to change */
	async begin(source: Source, asked: Pick<AskedAnnouncement, "targets" | "volume">): Promise<void> {
		const { announcements } = this.#options;
		const content = await this.#prepare(source);
		try {
			for (const [id, { isRunning }] of announcements.all) if (!isRunning) announcements.close(id);
			const id = await announcements.begin({ ...content.asked, ...asked });
			if (content.temporary !== undefined) this.#temporary.set(id, content.temporary);
		} catch (error) {
			if (content.temporary !== undefined) await this.remove(content.temporary).catch(() => {});
			await this.#explain(error, source.kind === "sound" ? source.sound : undefined);
		}
		await this.refresh();
	}

	/** @returns the samples of a kept sound @throws Error that says what to change */
	async load(sound: Sound): Promise<Float32Array<ArrayBuffer>> {
		try {
			return await samplesOf(await askFile(`sounds/${sound.id}.wav`), sound.name);
		} catch (error) {
			return this.#explain(error, sound);
		}
	}

	/** @returns the samples of a text as devices would play it @throws Error that says what to change */
	async speak(text: string): Promise<Float32Array<ArrayBuffer>> {
		return samplesOf(await askFile("api/speech", { method: "POST", body: { text } }), "the text");
	}

	/** @throws Refusal */
	async remove(soundId: string): Promise<void> {
		await ask(`${soundsPath}/${soundId}`, { method: "DELETE" }).catch((error: unknown) => {
			if (!(error instanceof Refusal && error.status === 404)) throw error;
		});
		await this.refresh();
	}

	async #prepare(source: Source): Promise<Prepared> {
		if (source.kind === "text") return { name: source.text, asked: { text: source.text } };
		if (source.kind === "sound") return { name: source.sound.name, asked: { sound: source.sound.id } };
		const { draft, keptAs } = source;
		const name = cutText(cleanText(keptAs ?? "") || cleanText(draft.name) || "Sound", longestName);
		const path = `${soundsPath}?name=${encodeURIComponent(name)}`;
		const known = new Set(this.sounds?.map(({ id }) => id));
		const { id } = await ask<Sound>(path, { method: "POST", file: writeWav(draft.samples) });
		// Its content may have been kept before.
		const isTemporary = keptAs === undefined && !known.has(id);
		return { name, asked: { sound: id }, ...(isTemporary && { temporary: id }) };
	}

	/** Throws the error, or that the sound is gone. */
	async #explain(error: unknown, sound: Sound | undefined): Promise<never> {
		if (sound && error instanceof Refusal && (error.status === 404 || error.status === 422)) {
			await this.refresh();
			if (!this.sounds?.some(({ id }) => id === sound.id))
				throw new Error(`${sound.name} was deleted meanwhile: choose another sound.`);
		}
		throw error;
	}
}

async function samplesOf(content: ArrayBuffer, name: string): Promise<Float32Array<ArrayBuffer>> {
	return (await decode(content, name)).getChannelData(0);
}

interface Prepared {
	readonly name: string;
	readonly asked: Pick<AskedAnnouncement, "sound" | "text">;
	/** Id of the sound that is to be deleted afterwards. */
	readonly temporary?: string;
}

async function readSounds(): Promise<SoundList> {
	try {
		return await ask<SoundList>(soundsPath);
	} catch (error) {
		if (error instanceof Refusal && error.status === 404)
			throw new Error("This gateway has no announcements.");
		throw error;
	}
}
