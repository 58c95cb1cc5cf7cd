/** Virtual devices in XS on a running gateway, seen through one monitor: what a system test starts from. */

import { join } from "node:path";
import type { TestContext } from "node:test";
import { type StateReport, uplinks } from "../../device/protocol/messages.js";
import { type Model, matches } from "../../device/protocol/schema.js";
import type { Exit } from "../../hosts/virtual/node/machine.js";
import { VirtualDevice, type VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { addRelease } from "../../scripts/release-folder.js";
import { onEnd, temporaryDirectory } from "../cleanup.js";
import { type Client, deviceToken, type Frame, type Running, runGateway } from "../gateway/running.js";

export interface Fleet extends Running {
	readonly monitorClient: Client;
	/** Powers a device on. */
	powerOn(model: Model, options?: Partial<VirtualDeviceOptions>): Promise<FleetDevice>;
	/** Makes releases of images, each by the version that it carries; the gateway hands them out at once. */
	release(version: string, ...images: readonly Uint8Array[]): Promise<void>;
	/** How the update of a device stands once it has ended. */
	updateEnd(deviceId: string): Promise<UpdateStanding>;
}

export interface UpdateStanding {
	readonly otaStatus: string;
	readonly otaReason?: string | null;
}

export interface FleetDevice {
	readonly device: VirtualDevice;
	readonly deviceId: string;
	/** Its next state report that satisfies `isMeant`. */
	report(isMeant?: (report: StateReport) => boolean): Promise<StateReport>;
	/** Sends it a control command, as a monitor does. @returns the gateway's answer */
	control(payload: object): Promise<Frame>;
	/** The command_error that it answers next. */
	refusal(): Promise<{ readonly command: string; readonly code: string; readonly message: string }>;
}

export async function runFleet(t: TestContext): Promise<Fleet> {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	const running = await runGateway(t, { dataDir, releasesDir });
	const monitorClient = await running.monitor();
	const exits: Exit[] = [];
	onEnd(t, () => {
		if (exits.length > 0) throw new Error(`a device ended: ${JSON.stringify(exits)}`);
	});
	return {
		...running,
		monitorClient,
		async powerOn(model, options = {}) {
			const serial = options.serial ?? "a1b2c3";
			const device = await VirtualDevice.start({
				model,
				serial,
				config: { gateway: `${running.url.replace("http", "ws")}/device`, token: deviceToken },
				onExit: (exit) => exits.push(exit),
				...options,
			});
			onEnd(t, () => device.close());
			return fleetDevice(device, monitorClient);
		},
		async release(version, ...images) {
			await addRelease(releasesDir, { version, date: "2026-01-02", notes: "", images });
		},
		async updateEnd(deviceId) {
			const ended = ["updated", "rolled_back", "failed"];
			for (;;) {
				const { sessions } = await monitorClient.until(
					(frame) => frame.type === "status_update" && frame.reason === "ota",
				);
				const session = sessions.find((candidate) => candidate.deviceId === deviceId);
				if (session && ended.includes(session.metadata.otaStatus)) return session.metadata;
			}
		},
	};
}

function fleetDevice(device: VirtualDevice, monitor: Client): FleetDevice {
	const { deviceId } = device;
	const nextMessage = async (isMeant: (message: unknown) => boolean): Promise<unknown> => {
		const { message } = await monitor.until(
			(frame) => frame.type === "device_message" && frame.deviceId === deviceId && isMeant(frame.message),
		);
		return message;
	};
	return {
		device,
		deviceId,
		async report(isMeant = () => true) {
			const report = await nextMessage(
				(message) => matches(uplinks.state_report, message) && isMeant(message),
			);
			if (!matches(uplinks.state_report, report)) throw new Error("unreachable");
			return report;
		},
		control: (payload) => monitor.ask({ type: "control_device", targetId: deviceId, payload }),
		async refusal() {
			const error = await nextMessage((message) => matches(uplinks.command_error, message));
			if (!matches(uplinks.command_error, error)) throw new Error("unreachable");
			return error;
		},
	};
}
