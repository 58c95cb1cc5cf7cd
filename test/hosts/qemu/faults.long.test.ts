/** Crashes, power cuts and TLS of the boards' firmware on emulated ESP32-S3 chips (hosts/qemu). Takes minutes. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { WebSocketServer } from "ws";
import type { Crash } from "../../../device/protocol/messages.js";
import { Authority, type Certificate } from "../../support/certificates.js";
import { onEnd } from "../../support/cleanup.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { rewritten } from "../../support/images.js";
import { listen } from "../../support/ports.js";
import { qemuOrReason, testMachine, whyMissing } from "../../support/programs.js";
import { Random } from "../../support/random.js";
import { type Connection, ScriptedGateway } from "../../support/scripted-gateway.js";
import { seed, seedNote } from "../../support/seed.js";
import {
	type BuiltForQemu,
	buildForQemu,
	hostAddress,
	ImageServer,
	QemuRig,
	type QemuRigOptions,
	versionOf,
} from "./rig.js";

const { sdk, qemu, reason: skip } = qemuOrReason();
const needsOpenssl = whyMissing("openssl");
/** Reason to skip hangs: Espressif's timer group applies a watchdog's settings only at a bit that the ESP32-S3 lacks. */
const needsWatchdog =
	qemu && !testMachine.run(qemu, ["-device", "timer.esp32s3.timg,help"])?.includes("wdt-immediate")
		? "QEMU's task watchdog never expires. Build QEMU with hosts/qemu/model/qemu.patch"
		: false;
let built: BuiltForQemu | undefined;

function firmware(): BuiltForQemu {
	if (!built) throw new Error("not built");
	return built;
}

async function powerOn(t: TestContext, options: Partial<QemuRigOptions> = {}): Promise<QemuRig> {
	if (!qemu) throw new Error("no QEMU");
	return QemuRig.start(t, { qemu, model: "DEV-1", built: firmware(), ...options });
}

/** Instructions of the Xtensa LX7 that replace the second one of a function, after `entry`. */
const panic = [0x00, 0x00, 0x00]; // ill
const hang = [0x06, 0xff, 0xff]; // j .
const entryBytes = 3;

/** @returns the image with an instruction in a function, and the function's address */
function withFault(name: string, instruction: readonly number[]) {
	const { image, symbols } = firmware();
	const address = symbols.get(name) ?? Number.NaN;
	for (let segment = 0, at = 24; segment < image.readUInt8(1); segment++) {
		const [start, byteLength] = [image.readUInt32LE(at), image.readUInt32LE(at + 4)];
		const offset = at + 8 + address - start + entryBytes;
		if (address >= start && address < start + byteLength)
			return { image: rewritten(image, offset, instruction), address };
		at += 8 + byteLength;
	}
	throw new Error(`${name} is not in the image.`);
}

/** Asserts that the innermost program counter, which ESP-IDF reports less the length of a call, is the fault's. */
function assertInnermost({ stack }: Crash, address: number): void {
	assert.ok(stack.startsWith(`at 0x${address.toString(16)}\n`), stack);
}

/** @returns the crash that the device reports */
async function crashOf(connection: Connection): Promise<Crash> {
	connection.send({ command: "query_crash" });
	const { crash } = await connection.next("crash_report");
	assert.ok(crash, "no crash is reported");
	return crash;
}

/** Installs an image, whose first start follows. */
async function install(connection: Connection, url: string): Promise<void> {
	// Rejected as busy until the running image is confirmed.
	await connection.query();
	connection.send({ command: "start_ota", url });
	await connection.next("ota_complete");
}

describe("on an emulated ESP32-S3", { skip, concurrency: 2 }, () => {
	const folder = mkdtempSync(join(tmpdir(), "faults-"));
	let tls: { authority: Authority; certificate: Certificate; otherAuthority: Authority } | undefined;
	before(async () => {
		if (!sdk) return;
		if (!needsOpenssl) {
			// Valid before the build, since the device's clock starts at the build time.
			const authority = new Authority(folder, "authority");
			const certificate = authority.issue(`IP:${hostAddress}`);
			tls = { authority, certificate, otherAuthority: new Authority(folder, "other") };
		}
		built = await buildForQemu(sdk, "DEV-1");
	});
	after(() => rmSync(folder, { recursive: true }));

	for (const [name, instruction, kind, reason, message, needed] of [
		["panics", panic, "panic", "PANIC_RESET", /^IllegalInstruction \(cause 0\)/, false],
		["hangs", hang, "watchdog", "TASK_WDT_RESET", /watchdog/i, needsWatchdog],
	] as const)
		test(`an image that ${name} at its first start is rolled back, and the crash reported with its stack`, {
			skip: needed,
		}, async (t) => {
			const rig = await powerOn(t);
			const server = await ImageServer.run(t);
			const faulty = withFault("board_ring_show", instruction);
			const first = await rig.connection();
			await install(first, server.serve(versionOf(faulty.image, "1.1.0")));
			const connection = await rig.connection();
			const { system, health } = await connection.next("state_report");
			assert.deepEqual([system.firmware_version, health.reset_reason], ["1.0.0", reason]);
			const crash = await crashOf(connection);
			assert.equal(crash.kind, kind);
			assert.match(crash.message, message);
			assert.equal(crash.firmware_version, "1.1.0");
			assertInnermost(crash, faulty.address);
			assert.ok(crash.stack.split("\n").length > 4, crash.stack);
			assert.match(crash.trace, /DEV-1 1\.1\.0/);
			// The first word of a core dump is its size.
			const dumpBytes = () => rig.read("coredump").readUInt32LE(0);
			assert.ok(dumpBytes() < rig.read("coredump").length, "no core dump");
			connection.send({ command: "clear_crash", id: crash.id });
			await eventually(dumpBytes, (size) => size === 0xffffffff);
		});

	test("an image that never reaches the gateway is rolled back after two minutes", async (t) => {
		const rig = await powerOn(t);
		const server = await ImageServer.run(t);
		const first = await rig.connection();
		const { length } = rig.serial;
		await install(first, server.serve(versionOf(firmware().image, "1.1.0")));
		const { options } = rig.gateway.server;
		options.verifyClient = () => false;
		await rig.printed("DEV-1 1.1.0", length);
		await rig.printed("DEV-1 1.0.0", length);
		delete options.verifyClient;
		const next = await (await rig.connection()).next("state_report");
		assert.equal(next.system.firmware_version, "1.0.0");
	});

	test("an image under which the codec stops answering is rolled back after two minutes", async (t) => {
		const rig = await powerOn(t);
		const server = await ImageServer.run(t);
		await install(await rig.connection(), server.serve(versionOf(firmware().image, "1.1.0")));
		rig.board.hasCodec = false;
		for (const version of ["1.1.0", "1.0.0"]) {
			const { system, peripherals } = await (await rig.connection()).next("state_report");
			assert.equal(system.firmware_version, version);
			assert.notEqual(peripherals.audio.fault, undefined);
		}
	});

	test("firmware that crashes three times at its start runs in safe mode, where it can be replaced", async (t) => {
		const faulty = withFault("i2c_new_master_bus", panic);
		const rig = await powerOn(t, { image: faulty.image });
		const connection = await rig.connection();
		const { health, peripherals } = await connection.next("state_report");
		assert.deepEqual([health.safe_mode, health.reset_reason], [true, "PANIC_RESET"]);
		assert.equal(rig.serial.match(/Guru Meditation/g)?.length, 3);
		assert.deepEqual([peripherals.audio.volume, peripherals.audio.fault], [0, undefined]);
		const crash = await crashOf(connection);
		assertInnermost(crash, faulty.address);
		const server = await ImageServer.run(t);
		await install(connection, server.serve(versionOf(firmware().image, "1.1.0")));
		const next = await (await rig.connection()).next("state_report");
		assert.deepEqual([next.system.firmware_version, next.health.safe_mode], ["1.1.0", undefined]);
	});

	test("a hang at a command restarts the device, and is reported with the stack of XS", {
		skip: needsWatchdog,
	}, async (t) => {
		const faulty = withFault("board_trace_read", hang);
		const rig = await powerOn(t, { image: faulty.image });
		const connection = await rig.connection();
		connection.send({ command: "set_log", level: "info", seconds: 60 });
		const restarted = await rig.connection();
		assert.equal((await restarted.next("state_report")).health.reset_reason, "TASK_WDT_RESET");
		const crash = await crashOf(restarted);
		assert.equal(crash.kind, "watchdog");
		assertInnermost(crash, faulty.address);
	});

	test("a power cut at any time of an update leaves a device that runs one of both images and can be updated", async (t) => {
		t.diagnostic(seedNote);
		const rig = await powerOn(t);
		const server = await ImageServer.run(t);
		const random = new Random(seed);
		let connection = await rig.connection();
		let running = (await connection.next("state_report")).system.firmware_version;
		const blocks = Math.ceil(firmware().image.length / 16_384);
		/** Frames of the ring, one every 33 ms, from an event on. */
		const frames = async (from: Promise<unknown>, most: number) => {
			await from;
			rig.forget();
			await rig.frames(random.between(0, most));
		};
		const phases: Readonly<Record<string, (version: string) => Promise<void>>> = {
			"the download": async () => {
				const end = server.requests + random.between(1, blocks);
				await waitUntil(() => server.requests >= end);
			},
			"the verification": () =>
				frames(
					connection.next("ota_progress", ({ percent }) => percent === 100),
					30,
				),
			"the restart": () => frames(connection.next("ota_complete"), 15),
			"the first start": (version) => frames(rig.printed(`DEV-1 ${version}`, rig.serial.length), 3),
			"the confirmation": async () => {
				await connection.next("ota_complete");
				connection = await rig.connection();
				await frames(connection.next("state_report"), 3);
			},
		};
		let update = 0;
		for (let round = 0; round < 2; round++)
			for (const [name, phase] of Object.entries(phases)) {
				update += 1;
				const version = `1.0.${update}`;
				await connection.query();
				connection.send({ command: "start_ota", url: server.serve(versionOf(firmware().image, version)) });
				await phase(version);
				await rig.powerCycle();
				connection = await rig.connection();
				const { system } = await connection.next("state_report");
				assert.ok(
					[running, version].includes(system.firmware_version),
					`${name}: ${system.firmware_version}`,
				);
				t.diagnostic(`power cut in ${name} of ${version}: ${system.firmware_version} runs`);
				running = system.firmware_version;
			}
		await install(connection, server.serve(versionOf(firmware().image, "2.0.0")));
		assert.equal((await (await rig.connection()).next("state_report")).system.firmware_version, "2.0.0");
	});

	test("connects by TLS to a gateway of its authority only, and is updated by TLS", {
		skip: needsOpenssl,
	}, async (t) => {
		if (!tls) throw new Error("no certificates");
		const { authority, certificate, otherAuthority } = tls;
		const secure = createServer(certificate);
		const server = new WebSocketServer({ server: secure });
		const port = await listen(t, secure);
		onEnd(t, () => {
			for (const client of server.clients) client.terminate();
		});
		const gateway = new ScriptedGateway(t, server);
		const settings = { gateway: `wss://${hostAddress}:${port}/device`, ca: authority.base64 };
		const rig = await powerOn(t, { gateway, settings });
		const connection = await rig.connection();
		const idle = await connection.next("state_report");
		const images = await ImageServer.run(t, certificate);
		connection.send({ command: "start_ota", url: images.serve(versionOf(firmware().image, "1.1.0")) });
		await connection.next("ota_progress", ({ percent }) => percent > 95);
		const { health } = await connection.query();
		t.diagnostic(
			`free heap: ${idle.health.free_heap_bytes} bytes, in an update over TLS ${health.min_free_heap_bytes}`,
		);
		await connection.next("ota_complete");
		const next = await rig.connection();
		assert.equal((await next.next("state_report")).system.firmware_version, "1.1.0");
		t.diagnostic(rig.serial.match(/update: \d+ bytes .*/)?.[0] ?? "no times");

		let accepted = 0;
		server.on("connection", () => accepted++);
		const mismatched = await powerOn(t, { gateway, settings: { ...settings, ca: otherAuthority.base64 } });
		await mismatched.printed("was not issued by the device's authority", 0);
		assert.equal(accepted, 0);
	});
});
