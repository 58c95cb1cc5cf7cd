/** Virtual devices in XS on a running gateway, observed through one monitor. Basis of system tests. */

import assert from "node:assert/strict";
import { get } from "node:http";
import { get as getOverTls } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { type StateReport, uplinks } from "../../device/protocol/messages.js";
import { type Model, matches } from "../../device/protocol/schema.js";
import type { GatewayOptions } from "../../gateway/gateway.js";
import type { VirtualDevice, VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { addRelease, type NewRelease } from "../../scripts/release/folder.js";
import { type Authority, tlsFiles } from "./certificates.js";
import { onEnd, temporaryDirectory } from "./cleanup.js";
import { nextEvent } from "./eventually.js";
import {
	bearer,
	type Client,
	deviceToken,
	type Frame,
	monitorToken,
	type RunningGateway,
	runGateway,
} from "./running.js";
import { powerOn } from "./scripted-gateway.js";

export interface Fleet extends RunningGateway {
	readonly monitorClient: Client;
	readonly releasesDir: string;
	/** Powers a device on. */
	powerOn(model: Model, options?: Partial<VirtualDeviceOptions>): Promise<FleetDevice>;
	/** Adds a release with images, which the gateway serves immediately. */
	release(version: string, ...images: NewRelease["images"]): Promise<void>;
	/** Result of a device's update, once it has ended. */
	updateResult(deviceId: string): Promise<UpdateStatus>;
}

export interface UpdateStatus {
	readonly otaStatus: string;
	readonly otaReason?: string | null;
}

export interface FleetDevice {
	readonly device: VirtualDevice;
	readonly deviceId: string;
	/** Next state report that satisfies `predicate`. */
	report(predicate?: (report: StateReport) => boolean): Promise<StateReport>;
	/** Sends a control command as a monitor. @returns the gateway's response */
	control(payload: object): Promise<Frame>;
	/** Next command_error. */
	rejection(): Promise<{ readonly command: string; readonly code: string; readonly message: string }>;
}

/**
 * @param authority signs the gateway's certificate and is trusted by the devices; absent: plain ws
 * @param options of the gateway
 */
export async function runFleet(
	t: TestContext,
	authority?: Authority,
	options: GatewayOptions = {},
): Promise<Fleet> {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	const running = await runGateway(t, {
		...options,
		dataDir,
		releasesDir,
		...(authority && tlsOf(dataDir, authority)),
	});
	failOnDroppedUplinks(t, running.url, authority);
	const gatewayUrl = `${running.url.replace("http", "ws")}/device`;
	const ended = ["updated", "rolled_back", "failed"];
	const monitorClient = await running.monitor();
	return {
		...running,
		monitorClient,
		releasesDir,
		async powerOn(model, options = {}) {
			const ca = authority && { ca: authority.base64 };
			const settings = { gateway: gatewayUrl, token: deviceToken, ...ca };
			const device = await powerOn(t, { url: gatewayUrl }, model, { settings, ...options });
			return fleetDevice(device, monitorClient);
		},
		async release(version, ...images) {
			await addRelease(releasesDir, { version, date: "2026-01-02", notes: "", images });
		},
		async updateResult(id) {
			for (;;) {
				const { sessions } = await monitorClient.until(
					(frame) => frame.type === "status_update" && frame.reason === "ota",
				);
				for (const { deviceId, metadata } of sessions)
					if (deviceId === id && ended.includes(metadata.otaStatus)) return metadata;
			}
		},
	};
}

/** Fails the test at its end if the gateway has dropped an uplink as invalid, which firmware never sends. */
export function failOnDroppedUplinks(t: TestContext, gatewayUrl: string, authority?: Authority): void {
	onEnd(t, async () => {
		const options = { headers: bearer(monitorToken), ...(authority && { ca: authority.certificate }) };
		const ask = authority ? getOverTls : get;
		const [response] = await nextEvent(ask(`${gatewayUrl}/metrics`, options), "response");
		const metrics = await text(response);
		const dropped = /^gateway_dropped_uplinks_total (\d+)$/m.exec(metrics)?.[1];
		assert.equal(dropped, "0", "uplinks that the gateway dropped");
	});
}

function tlsOf(folder: string, authority: Authority) {
	return { tls: tlsFiles(folder, authority.issue("IP:127.0.0.1")), authority: authority.certificate };
}

function fleetDevice(device: VirtualDevice, monitor: Client): FleetDevice {
	const { deviceId } = device;
	const nextMessage = async (predicate: (message: unknown) => boolean): Promise<unknown> => {
		const { message } = await monitor.until(
			(frame) => frame.type === "device_message" && frame.deviceId === deviceId && predicate(frame.message),
		);
		return message;
	};
	return {
		device,
		deviceId,
		async report(predicate = () => true) {
			const report = await nextMessage(
				(message) => matches(uplinks.state_report, message) && predicate(message),
			);
			if (!matches(uplinks.state_report, report)) throw new Error("unreachable");
			return report;
		},
		control: (payload) => monitor.request({ type: "control_device", targetId: deviceId, payload }),
		async rejection() {
			const error = await nextMessage((message) => matches(uplinks.command_error, message));
			if (!matches(uplinks.command_error, error)) throw new Error("unreachable");
			return error;
		},
	};
}
