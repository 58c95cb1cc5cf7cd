/** Sends a command to many devices, some at a time, and reports what each has come to. */

import { randomBytes } from "node:crypto";
import type { Ask, SentCommand } from "../api/command.js";
import type { Targets } from "../api/targets.js";
import type { Core } from "../extension.js";
import { Jobs } from "../jobs/jobs.js";
import { targetsOf } from "../jobs/targets.js";
import type { SessionListener } from "../sessions/sessions.js";
import { endReasons } from "../sessions/view.js";
import type { Outcome } from "../sockets/monitor-commands.js";
import { Command, type Moment } from "./command.js";

type CommandsCore = Pick<
	Core,
	"sessions" | "monitors" | "execute" | "now" | "monotonic" | "log" | "yieldToLoop"
>;

export class Commands {
	readonly jobs: Jobs<SentCommand, Command>;
	readonly #core: CommandsCore;
	/** Ids of the devices whose reports are needed: those that are asked, and some that were. */
	readonly #followed = new Set<string>();
	#unfollow: (() => void) | undefined;

	readonly sessions: SessionListener = {
		onChanged: ({ device }, reason) => {
			if (!device) return;
			const { deviceId } = device;
			if (reason === "connected")
				this.#each(deviceId, (command) => command.onConnected(deviceId, this.#moment()));
			else if (endReasons.some((each) => each === reason))
				this.#each(deviceId, (command) => command.onGone(deviceId, this.#moment()));
		},
	};

	constructor(core: CommandsCore) {
		this.#core = core;
		this.jobs = new Jobs({
			core,
			channel: "commands",
			noun: "command",
			onTick: (command) => {
				command.expire(this.#moment());
				this.#askMore(command);
			},
			onRest: () => this.close(),
			followedMs: 0,
		});
	}

	/** @param by the name of a person's token @returns its id @throws {HttpProblem} 409, 422 */
	async begin(targets: Targets, ask: Ask, by: string): Promise<string> {
		const { sessions, now, log } = this.#core;
		const devices = targetsOf(sessions.devices, targets);
		this.jobs.checkRoom();
		const id = randomBytes(8).toString("hex");
		const command = new Command({ id, ask, by, devices, createdAt: now() });
		this.jobs.add(command);
		log.info({ id, command: ask.command, devices: devices.length }, "command to devices");
		this.#askMore(command);
		await this.jobs.onBegun?.(id);
		return id;
	}

	/** Calls off what has not begun; one that has ended is forgotten. @throws {HttpProblem} 404 */
	stop(id: string): void {
		const command = this.jobs.known(id);
		if (command.endedAt === null) command.cancel(this.#moment());
		else this.jobs.forget(command);
	}

	close(): void {
		this.jobs.close();
		this.#followed.clear();
		this.#unfollow?.();
		this.#unfollow = undefined;
	}

	#askMore(command: Command): void {
		const ids = command.next(this.#moment());
		if (ids.length === 0) return;
		this.#follow(ids);
		for (const deviceId of ids) void this.#ask(command, deviceId);
	}

	async #ask(command: Command, deviceId: string): Promise<void> {
		const { log } = this.#core;
		try {
			const { refusal } = await this.#send(deviceId, command.ask);
			if (refusal) command.refuse(deviceId, refusal, this.#moment());
		} catch (error) {
			log.error({ deviceId, err: error }, "a command could not be sent");
			const message = "The command could not be sent; see the gateway's log.";
			command.refuse(deviceId, { code: "invalid_command", message }, this.#moment());
		}
		// Otherwise those of a fleet that is away would all be asked in this turn.
		await this.#core.yieldToLoop();
		this.#askMore(command);
	}

	#send(targetId: string, ask: Ask): Promise<Outcome> {
		const { execute } = this.#core;
		if (ask.command === "boot_device") return execute({ type: "boot_device", targetId });
		return execute({ type: "control_device", targetId, payload: ask });
	}

	#follow(ids: readonly string[]): void {
		const { monitors } = this.#core;
		const asked = new Set([...this.jobs.all()].flatMap((command) => [...command.asked]));
		for (const id of this.#followed) if (!asked.has(id)) this.#followed.delete(id);
		for (const id of ids) this.#followed.add(id);
		this.#unfollow ??= monitors.follow(
			this.#followed,
			({ device }, text) => device && this.#hear(device.deviceId, text.toString()),
			true,
		);
		monitors.changed();
	}

	#hear(deviceId: string, text: string): void {
		if (![...this.jobs.all()].some(({ asked }) => asked.has(deviceId))) return;
		const uplink: unknown = JSON.parse(text);
		this.#each(deviceId, (command) => command.hear(deviceId, uplink, this.#moment()));
	}

	/** Changes the commands that a device was asked to carry out, then asks others. */
	#each(deviceId: string, change: (command: Command) => void): void {
		for (const command of this.jobs.all()) {
			if (!command.asked.has(deviceId)) continue;
			change(command);
			this.#askMore(command);
		}
	}

	#moment(): Moment {
		const { now, monotonic } = this.#core;
		return { now: now(), monotonic: monotonic() };
	}
}
