/** Gateway in Europe/Berlin with a clock that tests advance, and a device that applies quiet hours like the firmware. */

import { existsSync } from "node:fs";
import type { TestContext } from "node:test";
import { features } from "../../../device/protocol/messages.js";
import type { QuietHours } from "../../../gateway/api/quiet-hours.js";
import type { Schedule } from "../../../gateway/api/schedule.js";
import type { GatewayEvent } from "../../../gateway/events.js";
import { extensions } from "../../../gateway/extensions.js";
import { eventually } from "../../support/eventually.js";
import {
	bearer,
	monitorToken,
	type RunningGateway,
	type RunOptions,
	runGateway,
} from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import type { Command } from "../../support/simulated-device.js";

/** Options of a test that requires other extensions. */
const needs = (...names: readonly string[]) => {
	const missing = names.find((name) => !existsSync(`gateway/${name}`));
	return { skip: missing === undefined ? false : `${missing}/ was removed` };
};
export const ofFleet = needs("fleet");
/** Extensions that provide actions of schedules. */
export const ofActions = needs("announcements", "commands");

export const utc = (text: string) => Date.parse(text);

export class Clock {
	#at: number;
	#from = performance.now();

	/** @param time in UTC, such as `2026-11-27T16:49:00Z` */
	constructor(time: string) {
		this.#at = utc(time);
	}

	/** Sets the clock, which continues from there. */
	set(time: string): void {
		this.#at = utc(time);
		this.#from = performance.now();
	}

	readonly now = () => Math.round(this.#at + performance.now() - this.#from);
}

export class QuietDevice extends ScriptedDevice {
	/** Commands sent to the device, in order. */
	readonly quiet: unknown[] = [];

	protected override onCommand(command: Command): void {
		if (command.command !== "set_quiet") return super.onCommand(command);
		this.quiet.push(command.value);
		const { id } = Object(command.value);
		this.report({ quiet: id === undefined ? undefined : { id } });
	}
}

export interface Answer {
	readonly status: number;
	readonly body: Readonly<Record<string, unknown>>;
}

export async function ask(
	url: string,
	method: string,
	path: string,
	body?: object | string,
	token = monitorToken,
): Promise<Answer> {
	const content = body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) };
	const response = await fetch(`${url}/api/${path}`, { method, headers: bearer(token), ...content });
	const text = await response.text();
	return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

export async function schedulesOf(url: string): Promise<readonly Schedule[]> {
	const { body } = await ask(url, "GET", "schedules");
	return Object(body).schedules;
}

export async function quietHoursOf(url: string): Promise<readonly QuietHours[]> {
	const { body } = await ask(url, "GET", "quiet-hours");
	return Object(body).quietHours;
}

/** Resolves with a schedule once its latest run has ended. */
export async function ended(url: string, id: unknown, dueAt?: string): Promise<Schedule> {
	const read = async () => (await schedulesOf(url)).find((each) => each.id === id);
	const isEnded = (found?: Schedule) =>
		found?.last != null && (dueAt ?? found.last.dueAt) === found.last.dueAt;
	const found = await eventually(read, isEnded);
	if (!found) throw new Error(`there is no schedule ${id}`);
	return found;
}

export interface Timed extends RunningGateway {
	readonly clock: Clock;
	/** Events about schedules. */
	readonly told: Extract<GatewayEvent, { type: "schedule_failed" }>[];
	connect(deviceId?: string, features?: readonly string[]): Promise<QuietDevice>;
}

export async function runTimed(t: TestContext, time: string, options: RunOptions = {}): Promise<Timed> {
	const clock = new Clock(time);
	const told: Timed["told"] = [];
	const running = await runGateway(t, {
		now: clock.now,
		timeZone: "Europe/Berlin",
		...options,
		limits: { scheduleSettleMs: 0, ...options.limits },
		extensions: [
			...extensions,
			() => ({
				onEvent: (event) => {
					if (event.type === "schedule_failed") told.push(event);
				},
			}),
		],
	});
	return {
		...running,
		clock,
		told,
		async connect(deviceId = "dev-1-000001", has: readonly string[] = features) {
			const monitor = await running.monitor();
			const device = await new QuietDevice({ url: running.url, deviceId, features: has }).connect();
			t.after(() => device.close());
			await monitor.until((frame) => frame.type === "device_message" && frame.deviceId === deviceId);
			monitor.socket.terminate();
			return device;
		},
	};
}
