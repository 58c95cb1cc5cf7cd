/**
 * Three gateways on NATS, one of which is killed while schedules are due. Each schedule must be heard exactly once.
 * SCHEDULE_ROUNDS is the number of rounds; TEST_SEED selects others.
 */

import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Results, type SoundUpdate } from "../../device/sound/results.js";
import type { Schedule } from "../../gateway/api/schedule.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { GatewayProcess } from "../support/gateway-process.js";
import { deviceToken, monitorToken } from "../support/gateway-settings.js";
import { isNatsOld, startNats } from "../support/nats.js";
import { freePort } from "../support/ports.js";
import { whyMissing } from "../support/programs.js";
import { Random } from "../support/random.js";
import { ReconnectingDevice } from "../support/reconnecting-device.js";
import { seed, seedNote } from "../support/seed.js";
import type { Command } from "../support/simulated-device.js";
import { tone, wav } from "../support/sounds.js";

const rounds = Number(process.env.SCHEDULE_ROUNDS ?? 4);
const schedulesAtOnce = 6;
const gatewayCount = 3;
/** One schedule per gateway, because queued sounds are lost with their gateway. */
const idsOf = (schedule: number) =>
	Array.from({ length: gatewayCount }, (_, gateway) => `dev-1-0000${gateway}${schedule}`);

/** Plays each sound immediately and remembers results as the firmware does. */
class Player extends ReconnectingDevice {
	/** Ids of the sounds heard. */
	readonly played: string[] = [];
	readonly #results = new Results({ remembered: () => "", remember: () => {}, flush: () => {} });

	protected override onCommand(command: Command): void {
		if (command.command !== "play_sound") return super.onCommand(command);
		const { id } = Object(command.value);
		const known = this.#results.find(id);
		if (!known) {
			this.played.push(id);
			this.#update({ id, state: "playing" });
		}
		this.#update(known ?? { id, state: "played" });
	}

	#update(update: SoundUpdate): void {
		this.#results.keep(update);
		this.send({ type: "sound_update", deviceId: this.deviceId, ...update });
	}
}

test("runs a due schedule exactly once across a crash", { skip: whyMissing("nats-server") }, async (t) => {
	t.diagnostic(seedNote);
	const random = new Random(seed);
	const directory = await temporaryDirectory(t);
	for (let count = 0; count < schedulesAtOnce; count += 1)
		await writeFile(join(directory, `${count}.wav`), wav(tone(1_600 + count)));
	const program = join(directory, "speak.sh");
	await writeFile(program, `#!/bin/sh\nread -r number\nsleep 0.1\ncat ${directory}/$number.wav\n`);
	await chmod(program, 0o755);
	const nats = await startNats(t);
	const gateways: GatewayProcess[] = [];
	/** Devices by schedule, then by gateway. */
	const players: Player[][] = Array.from({ length: schedulesAtOnce }, () => []);
	for (let index = 0; index < gatewayCount; index += 1) {
		const environment = {
			DATA_DIR: join(directory, `gateway-${index}`),
			RELEASES_DIR: join(directory, "releases"),
			DEVICE_TOKEN: deviceToken,
			MONITOR_TOKEN: monitorToken,
			LOG_LEVEL: "info",
			NATS_URL: nats.url,
			NATS_ALLOW_OLD: isNatsOld ? "1" : "0",
			SPEECH_COMMAND: program,
		};
		const gateway = new GatewayProcess(t, await freePort(), environment);
		gateways.push(gateway);
		for (const [schedule, group] of players.entries())
			group.push(
				new Player({
					url: gateway.url,
					deviceId: String(idsOf(schedule)[index]),
					features: ["sound", "queue"],
					reconnectMs: () => 200,
					updateMs: () => 0,
				}),
			);
	}
	await Promise.all(gateways.map((gateway) => gateway.start()));
	const runs = players.flat().map((player) => player.run());
	onEnd(t, async () => {
		for (const player of players.flat()) player.end();
		await Promise.all(runs);
	});
	const allKnow = async () => {
		for (const gateway of gateways)
			await eventually(
				() => gateway.call<{ devices: readonly { connected: boolean }[] }>("GET", "devices"),
				({ devices }) => devices.filter(({ connected }) => connected).length === players.flat().length,
			);
	};
	const ends: Record<string, number> = {};
	/** Ids of the announcements started by schedules, one for each due time. */
	const jobs: string[] = [];
	for (let round = 0; round < rounds; round += 1) {
		await allKnow();
		const victim = gateways[random.between(0, gateways.length - 1)];
		const others = gateways.filter((each) => each !== victim);
		const [first] = others;
		assert.ok(victim && first, `only ${gateways.length} gateways`);
		const made: Schedule[] = [];
		for (let count = 0; count < schedulesAtOnce; count += 1) {
			const what = count % 2 === 0 ? { url: "http://10.0.0.1/a.wav" } : { text: String(count) };
			const announcement = { ...what, targets: { devices: idsOf(count) }, together: false };
			made.push(await first.call("POST", "schedules", { at: { in: 2 }, do: { announcement } }));
		}
		const due = Math.min(...made.map(({ nextAt }) => Date.parse(nextAt ?? "")));
		// Either only the gateway that is killed can start them, or each of them.
		const isAlone = random.next() < 0.7;
		await setTimeout(due - 200 - Date.now());
		if (isAlone) for (const other of others) other.suspend();
		await setTimeout(due + random.between(0, 700) - Date.now());
		await victim.kill();
		for (const other of others) other.resume();
		const ended = await eventually(
			() => first.call<{ schedules: readonly Schedule[] }>("GET", "schedules"),
			({ schedules }) => schedules.every(({ last }) => last !== null),
		);
		for (const { id, last } of ended.schedules) {
			assert.ok(
				last?.outcome === "done" || last?.outcome === "late",
				`${JSON.stringify(last)}, round ${round}`,
			);
			ends[last.outcome] = (ends[last.outcome] ?? 0) + 1;
			const job = last.job ?? assert.fail(`${id} has no job`);
			jobs.push(job);
			const group = players[made.findIndex((each) => each.id === id)] ?? [];
			// A device of a killed gateway may be offline.
			for (const [index, { played }] of group.entries())
				if (gateways[index] !== victim)
					await eventually(
						() => played.includes(job),
						(isHeard) => isHeard,
					);
			await first.call("DELETE", `schedules/${id}`).catch(() => {});
		}
		await victim.start();
	}
	for (const { deviceId, played } of players.flat()) {
		assert.deepEqual(played, [...new Set(played)], `${deviceId} plays a sound twice`);
		assert.deepEqual(
			played.filter((id) => !jobs.includes(id)),
			[],
			`${deviceId} plays a due time under two ids`,
		);
	}
	t.diagnostic(`${JSON.stringify(ends)}`);
});
