/** Test of the network from the access point to the gateway. */

import { messageOf } from "../../../device/message-of.js";
import { parseGatewayUrl } from "../../../device/network/gateway-url.js";
import { readAuthority } from "../../command-line/device-settings.js";
import { type Context, type Finding, failed, passed } from "../step.js";

export async function checkNetwork(context: Context): Promise<Finding> {
	const notes: string[] = [];
	try {
		return await reach(context, notes);
	} catch (error) {
		return failed(...notes, `${messageOf(error)}.`);
	}
}

/** @param notes completed steps @throws Error that names the failed one */
async function reach({ board, person }: Context, notes: string[]): Promise<Finding> {
	const { networks, problem } = await board.request("wifi_scan", {});
	if (problem) person.print(`Scan failed: ${problem}.`);
	for (const { ssid, rssi } of [...networks].sort((a, b) => b.rssi - a.rssi))
		person.print(`  ${String(rssi).padStart(4)} dBm  ${ssid}`);
	const ssid = await person.prompt("Name of the network to join (press Enter to skip):");
	if (ssid === "")
		return networks.length > 0
			? passed(`${networks.length} access points found, none joined.`)
			: failed("No access points found. Check the antenna.");
	const password = await person.prompt("Password (hidden, not stored; press Enter for an open network):", {
		isSecret: true,
	});
	const joined = await board.request("wifi_join", { ssid, password });
	notes.push(`Joined ${ssid} as ${joined.address}.`);

	const address = await person.prompt(
		"Address of the gateway, as printed by npm start (press Enter to skip):",
	);
	if (address === "") return passed(...notes);
	const { host, isSecure } = parseGatewayUrl(address);
	const resolved = await board.request("resolve", { host });
	if (resolved.address !== host) notes.push(`${host} is ${resolved.address}.`);
	const { seconds } = await board.request("time", {});
	notes.push(
		seconds === undefined
			? "No response of a time server. The firmware uses the build time of its image."
			: `Time: ${new Date(1000 * seconds).toISOString()}.`,
	);
	const token = await person.prompt("Device token (hidden, not stored):", { isSecret: true });
	const file = isSecure ? await person.prompt("CA certificate of the gateway (PEM file):") : "";
	const ca = file === "" ? undefined : readAuthority(file);
	await board.request("gateway", { url: address, token, ...(ca && { ca }) });
	return passed(...notes, "The gateway accepted the connection and the token.");
}
