/** Devices in the Moddable simulator on virtual screens. Each process started here is ended by its id. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Model } from "../../device/protocol/schema.js";
import type { DeviceSettings } from "../../scripts/command-line/device-settings.js";
import type { ModdableSdk } from "../../scripts/moddable/sdk.js";
import { startSimulator } from "../../scripts/simulator/app.js";
import { sdkOrReason, whyMissing } from "../support/programs.js";
import { end, Screen } from "./screen.js";

export const testToken = "device-token-of-the-tests";

/** Path of the SDK, or the reason to skip the tests that need it. */
export interface Found {
	readonly sdk?: ModdableSdk;
	readonly reason?: string;
}

export function findSimulator(): Found {
	if (process.platform !== "linux") return { reason: "invisible windows need Xvfb, on Linux" };
	const reason = whyMissing("Xvfb");
	return reason ? { reason } : sdkOrReason();
}

export interface SimulatedOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	readonly app: string;
	/** Additional settings besides those for Wi-Fi and gateway. */
	readonly settings: DeviceSettings;
	/** Whether the test expects the firmware to crash. */
	readonly mayAbort?: boolean;
}

export class SimulatedDevice {
	/** Trace output of the firmware. */
	readonly trace: string[] = [];
	readonly screen: Screen;
	readonly #folder: string;
	readonly #model: Model;

	private constructor(folder: string, model: Model, screen: Screen) {
		this.#folder = folder;
		this.#model = model;
		this.screen = screen;
	}

	/** Powers a device on until the test ends, and fails the test if it crashed. */
	static async start(
		t: TestContext,
		{ sdk, model, app, settings, mayAbort = false }: SimulatedOptions,
	): Promise<SimulatedDevice> {
		const folder = mkdtempSync(join(tmpdir(), "simulator-test-"));
		const home = join(folder, "home");
		mkdirSync(home);
		const screen = await Screen.open();
		const device = new SimulatedDevice(folder, model, screen);
		const { DBUS_SESSION_BUS_ADDRESS: _, WAYLAND_DISPLAY: __, ...environment } = sdk.environment;
		// No debugger listens on the discard port.
		const own = { DISPLAY: screen.display, HOME: home, GSETTINGS_BACKEND: "memory", XSBUG_PORT: "9" };
		const simulator = startSimulator({
			sdk: { ...sdk, environment: { ...environment, ...own } },
			model,
			app,
			configFolder: folder,
			settings: { ssid: "Simulated", token: testToken, ...settings },
			onTrace: (line) => device.trace.push(line),
		});
		t.after(async () => {
			await end(simulator);
			await screen.close();
			rmSync(folder, { recursive: true, force: true });
			const aborted = device.trace.find((line) => line.includes("XS abort"));
			if (aborted && !mayAbort) throw new Error(device.trace.join("\n"));
		});
		return device;
	}

	/** Resolves at a matching trace line. @throws Error after 30 s, with the trace output */
	async traced(pattern: RegExp): Promise<void> {
		const deadline = AbortSignal.timeout(30_000);
		while (!this.trace.some((line) => pattern.test(line))) {
			if (deadline.aborted) throw new Error(`no line matches ${pattern} in\n${this.trace.join("\n")}`);
			await setTimeout(50);
		}
	}

	/** Files in the simulator's folder. */
	get files(): readonly string[] {
		return readdirSync(join(this.#folder, "tech.moddable.mcsim")).sort();
	}

	/** Stored settings and MAC address of the device. */
	get kept(): { readonly macAddress: string; readonly settings: Readonly<Record<string, string>> } {
		const file = join(this.#folder, "tech.moddable.mcsim", `${this.#model.toLowerCase()}.json`);
		for (;;) {
			const text = readFileSync(file, "utf8");
			// The simulator empties the file before it writes.
			if (text.trimEnd().endsWith("}")) return JSON.parse(text);
		}
	}
}
