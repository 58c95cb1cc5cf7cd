/** Services that start jobs for other extensions, such as schedules. */

/** Starts jobs of one type. */
export interface JobService {
	/**
	 * Validates a request, regardless of running jobs.
	 * @param body body of the `POST` request
	 * @returns body without unknown fields
	 * @throws {RequestError} like the `POST` request
	 */
	check(body: unknown): object;
	/** Starts a job. @param body like for `check` @returns id @throws {RequestError} like the `POST` request */
	begin(body: unknown, options: StartOptions): Promise<string>;
	/** Whether this or another reachable gateway has a job with this id. */
	has(id: string): Promise<boolean>;
}

/** Options of a job start. */
export interface StartOptions {
	/** Default: a new id. */
	readonly id?: string;
	/** Name of a person's token; null: another program, such as Home Assistant. */
	readonly by: string | null;
	/** Called once, when the commands are sent. @param problem reason why they are not sent; null if they are */
	readonly onSent?: (problem: string | null) => void;
}

/** Announcements. Devices use the id of the job as id of the sound. */
export interface AnnouncementService extends JobService {
	/** Whether text can be spoken. */
	readonly canSpeak: boolean;
	/** Returns the saved sounds. */
	sounds(): readonly { readonly id: string; readonly name: string }[];
}
