/** Services that start jobs for other extensions, such as schedules. */

import { Service } from "./service.js";

/** Starts jobs of one type. */
export interface JobService {
	/** @param asked the body of its `POST` @returns what of it counts @throws {RequestError} as that, whatever runs now */
	check(asked: unknown): object;
	/** @param asked as for `check` @returns its id @throws {RequestError} as its `POST` */
	begin(asked: unknown, beginning: Beginning): Promise<string>;
	/** Whether this gateway, or another one that answers, has a job of this id. */
	has(id: string): Promise<boolean>;
}

/** How a job is begun. */
export interface Beginning {
	/** Default: a new one. */
	readonly id?: string;
	/** The name of a person's token; null: by another program, such as Home Assistant. */
	readonly by: string | null;
	/** Called once, in the turn in which the devices are asked. @param problem why they are not; null: they are */
	readonly onAsked?: (problem: string | null) => void;
}

/** Plays sounds; the ids of its jobs are those under which devices play them. */
export interface AnnouncementService extends JobService {
	/** Whether it can play a text. */
	readonly canSpeak: boolean;
	/** Those that are kept. */
	sounds(): readonly { readonly id: string; readonly name: string }[];
}

export const announcementJobs = new Service<AnnouncementService>();
export const commandJobs = new Service<JobService>();
