/**
 * What the tests on the Moddable simulator stand on: the SDK, a screen without a monitor (Xvfb), the firmware built for both
 * models, and simulated devices in windows that nobody sees. Every process that is started here is ended by its own id.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Model } from "../../device/protocol/schema.js";
import { findModdableSdk, type ModdableSdk } from "../../scripts/moddable-sdk.js";
import { buildForSimulator, startSimulator } from "../../scripts/simulator-app.js";

export const testToken = "device-token-of-the-tests";

/** The SDK, or the reason why the tests that need it are skipped. */
export interface Found {
	readonly sdk?: ModdableSdk;
	readonly reason?: string;
}

export function findSimulator(): Found {
	try {
		const sdk = findModdableSdk();
		if (process.platform !== "linux") return { reason: "windows that nobody sees need Xvfb, on Linux" };
		if (!isInstalled("Xvfb")) return { reason: "Xvfb is not installed (Debian: apt-get install xvfb)" };
		return { sdk };
	} catch (error) {
		return { reason: error instanceof Error ? error.message : String(error) };
	}
}

export function isInstalled(program: string): boolean {
	return spawnSync("which", [program]).status === 0;
}

export interface Built {
	readonly app: string;
	/** What mcconfig printed. */
	readonly output: string;
}

/** Builds all that a folder without a former build needs, so that nothing goes unsaid. */
export async function buildOnce(sdk: ModdableSdk, model: Model): Promise<Built & { remove: () => void }> {
	const outputFolder = mkdtempSync(join(tmpdir(), "simulator-build-"));
	const remove = () => rmSync(outputFolder, { recursive: true, force: true });
	let output = "";
	const onOutput = (text: string) => {
		output += text;
	};
	try {
		const app = await buildForSimulator({ sdk, model, outputFolder, onOutput });
		return { app, output, remove };
	} catch (error) {
		remove();
		throw new Error(`${error}\n${output}`);
	}
}

export interface SimulatedOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	readonly app: string;
	readonly gatewayUrl: string;
}

export class SimulatedDevice {
	/** What the firmware traced. */
	readonly trace: string[] = [];
	readonly #folder: string;
	readonly #model: Model;
	readonly #display: string;

	private constructor(folder: string, model: Model, display: string) {
		this.#folder = folder;
		this.#model = model;
		this.#display = display;
	}

	/** Switches a device on; it is off again when the test ends, and must not have failed by then. */
	static async start(
		t: TestContext,
		{ sdk, model, app, gatewayUrl }: SimulatedOptions,
	): Promise<SimulatedDevice> {
		const folder = mkdtempSync(join(tmpdir(), "simulator-test-"));
		const home = join(folder, "home");
		mkdirSync(home);
		const { display, server } = await startScreen();
		const device = new SimulatedDevice(folder, model, display);
		const { DBUS_SESSION_BUS_ADDRESS: _, WAYLAND_DISPLAY: __, ...environment } = sdk.environment;
		const simulator = startSimulator({
			sdk: { ...sdk, environment },
			model,
			app,
			configFolder: folder,
			settings: { ssid: "Simulated", gateway: gatewayUrl, token: testToken },
			// No debugger listens on the discard port.
			environment: { DISPLAY: display, HOME: home, GSETTINGS_BACKEND: "memory", XSBUG_PORT: "9" },
			onTrace: (line) => device.trace.push(line),
		});
		t.after(async () => {
			await end(simulator);
			await end(server);
			rmSync(folder, { recursive: true, force: true });
			const aborted = device.trace.find((line) => line.includes("XS abort"));
			if (aborted) throw new Error(device.trace.join("\n"));
		});
		return device;
	}

	/** The settings and the MAC address that the device has kept. */
	get kept(): { readonly macAddress: string; readonly settings: Readonly<Record<string, string>> } {
		const file = join(this.#folder, "tech.moddable.mcsim", `${this.#model.toLowerCase()}.json`);
		return JSON.parse(readFileSync(file, "utf8"));
	}

	/** Works the panel with the mouse, at a point of the window; needs xdotool. */
	mouse(...actions: readonly string[]): void {
		const { status, stderr } = spawnSync("xdotool", actions, {
			env: { ...process.env, DISPLAY: this.#display },
			encoding: "utf8",
		});
		if (status !== 0) throw new Error(`xdotool ${actions.join(" ")}: ${stderr}`);
	}
}

async function startScreen(): Promise<{ display: string; server: ChildProcess }> {
	const server = spawn("Xvfb", ["-displayfd", "3", "-screen", "0", "1000x900x24", "-nolisten", "tcp"], {
		stdio: ["ignore", "ignore", "ignore", "pipe"],
	});
	const numbers = server.stdio[3];
	if (!numbers) throw new Error("Xvfb cannot say which display it is");
	const [number] = await once(numbers, "data");
	return { display: `:${String(number).trim()}`, server };
}

async function end(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill();
	await exited;
}
