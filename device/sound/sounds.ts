/**
 * Plays sounds from the network, one at a time, and reports the state of each. Sounds with a priority are queued; an urgent
 * sound interrupts the current one, which resumes afterwards.
 */

import { busy, type CommandOutcome, type CommandRejection, type Component } from "../component.js";
import type { StopReason } from "../peripherals/track.js";
import type { Command } from "../protocol/messages.js";
import type { Results, SoundUpdate } from "./results.js";
import { Ring } from "./ring.js";
import { Sound, type SoundRequest, type SoundServices } from "./sound.js";

/** Queue length; further sounds wait at the gateway. One urgent sound may exceed it. */
const maxWaiting = 2;

export interface SoundsOptions extends SoundServices {
	readonly results: Results;
	/** Size of the ring buffer. */
	readonly bufferBytes: number;
	readonly isUpdating: () => boolean;
	/** Called at the end of a turn if it changed. @param isActive whether a sound is being loaded or played */
	readonly onActive: (isActive: boolean) => void;
}

export class Sounds implements Component {
	readonly #options: SoundsOptions;
	#ring: Ring | undefined;
	/** Current sound, loading or playing. */
	#sound: Sound | undefined;
	/** Queue, the next sound first. */
	readonly #waiting: Sound[] = [];
	/** Updates to be sent at the end of the turn. */
	readonly #updates: SoundUpdate[] = [];
	#isFlushPlanned = false;
	/** Last value passed to onActive. */
	#isActive = false;

	constructor(options: SoundsOptions) {
		this.#options = options;
	}

	execute(command: Command): CommandOutcome {
		switch (command.command) {
			case "play_sound":
				if (this.#resend(command.value.id)) return "executed";
				if (this.#options.isUpdating()) return busy("the device is being updated; try again after it");
				return this.#play(command.value);
			case "start_sound": {
				const { id } = command.value;
				if (this.#active.find((sound) => sound.id === id)?.allow() || this.#resend(id)) return "executed";
				return invalid(`unknown sound ${id}; send play_sound first`);
			}
			case "stop_sound":
				this.#stop("command", command.value?.id);
				return "executed";
			default:
				return undefined;
		}
	}

	/** Reports all active sounds to a gateway that restarted or lost the connection. */
	onConnected(): void {
		for (const { id } of this.#active) this.#resend(id);
	}

	/** Frees the ring buffer until the next sound, since an update needs the memory. */
	onUpdate(isRunning: boolean): void {
		if (!isRunning) return;
		this.#stopAll("update");
		this.#ring = undefined;
	}

	onRestart(): void {
		this.#stopAll("restart");
		this.flush();
	}

	/** Sends the updates of the turn and begins the next sound. */
	flush(): void {
		const isActive = this.#sound !== undefined;
		if (isActive !== this.#isActive) this.#options.onActive(isActive);
		this.#isActive = isActive;
		for (const update of this.#updates) {
			this.#options.send(update);
			this.#options.results.keep(update);
		}
		this.#updates.length = 0;
		const next = this.#sound ? undefined : this.#waiting.shift();
		if (next) this.#begin(next);
	}

	get #active(): readonly Sound[] {
		return this.#sound ? [this.#sound, ...this.#waiting] : this.#waiting;
	}

	/** Sends the latest update of a sound again, if any. @returns whether the sound is known */
	#resend(id: string): boolean {
		const isUnsent = this.#updates.some((update) => update.id === id);
		const update = isUnsent ? undefined : this.#options.results.find(id);
		if (update) this.#report(update);
		return isUnsent || update !== undefined || this.#active.some((sound) => sound.id === id);
	}

	/** Plays or queues a new sound, which is followed by a sound_update. */
	#play(request: SoundRequest): CommandOutcome {
		if (this.#options.audio.isUrgentOnly && request.priority !== "urgent") {
			this.#report({ id: request.id, state: "stopped", reason: "quiet hours", underruns: 0, heard_ms: 0 });
			return "executed";
		}
		if (request.priority === undefined) this.#stopAll("another sound");
		else if (this.#sound && this.#waiting.length >= maxWaiting + Number(request.priority === "urgent"))
			return busy(`${this.#waiting.length} sounds are queued; try again after one of them`);
		this.#ring ??= new Ring(this.#options.bufferBytes);
		const sound = new Sound({
			...this.#options,
			request,
			ring: this.#ring,
			send: (update) => this.#report(update),
			onEnd: (update) => this.#onEnd(sound, update),
		});
		if (sound.isUrgent && this.#sound && !this.#sound.isUrgent) this.#interrupt(this.#sound);
		// If a sound has just ended, the first in the queue is next.
		if (this.#sound || (this.#waiting.length > 0 && !sound.isUrgent)) this.#wait(sound);
		else this.#begin(sound);
		return "executed";
	}

	#begin(sound: Sound): void {
		this.#sound = sound;
		this.#planFlush();
		sound.load();
	}

	/** Interrupts the current sound. A paused one ends, since it must not resume by itself. */
	#interrupt(sound: Sound): void {
		if (this.#options.audio.report.player_state === "paused") return sound.stop("another sound");
		sound.suspend();
		this.#sound = undefined;
		this.#waiting.unshift(sound);
		this.#report({ id: sound.id, state: "waiting" });
	}

	/** Queues a sound behind those of its priority. */
	#wait(sound: Sound): void {
		const behind = this.#waiting.findIndex(({ rank }) => rank > sound.rank);
		this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, sound);
		this.#report({ id: sound.id, state: "waiting" });
	}

	#onEnd(sound: Sound, update: SoundUpdate): void {
		if (this.#sound === sound) this.#sound = undefined;
		const at = this.#waiting.indexOf(sound);
		if (at >= 0) this.#waiting.splice(at, 1);
		this.#report(update);
	}

	/** @param id undefined: all, including the queue */
	#stop(by: StopReason, id?: string): void {
		if (id === undefined) return this.#stopAll(by);
		if (this.#sound?.id === id) this.#sound.stop(by);
		else this.#waiting.find((sound) => sound.id === id)?.stop(by);
	}

	#stopAll(by: StopReason): void {
		// stop() removes the sound from the queue.
		while (this.#waiting.length > 0) this.#waiting[0]?.stop(by);
		this.#sound?.stop(by);
	}

	#report(update: SoundUpdate): void {
		this.#updates.push(update);
		this.#planFlush();
	}

	/** Schedules flush() for the end of the turn, since the stack is deep when a command or a socket ends a sound. */
	#planFlush(): void {
		if (this.#isFlushPlanned) return;
		this.#isFlushPlanned = true;
		this.#options.afterTurn(() => {
			this.#isFlushPlanned = false;
			this.flush();
		});
	}
}

function invalid(message: string): CommandRejection {
	return { code: "invalid_value", message };
}
