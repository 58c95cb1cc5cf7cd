/** Test of the network from the access point to the gateway. */

import { parseGatewayUrl } from "../../../device/network/gateway-url.js";
import { messageOf } from "../../command-line/command.js";
import { readAuthority } from "../../command-line/device-settings.js";
import { type Context, type Finding, failed, passed } from "../step.js";

export async function checkNetwork({ board, person }: Context): Promise<Finding> {
	const { networks, problem } = await board.ask("wifi_scan", {});
	if (problem) person.tell(`The scan failed: ${problem}.`);
	for (const { ssid, rssi } of [...networks].sort((one, other) => other.rssi - one.rssi))
		person.tell(`  ${String(rssi).padStart(4)} dBm  ${ssid}`);
	const ssid = await person.type("Name of the network to join (Enter: leave it out):");
	if (ssid === "")
		return networks.length > 0
			? passed(`${networks.length} access points found; none was joined.`)
			: failed("No access point was found: check the antenna.");
	const password = await person.type("Its password (not shown, not kept; Enter: an open network):", {
		isSecret: true,
	});
	const joined = await board.ask("wifi_join", { ssid, password });
	if (joined.problem) return failed(`${ssid}: ${joined.problem}.`);
	const notes = [`Joined ${ssid} as ${joined.address}.`];

	const address = await person.type("Address of the gateway, as npm start prints it (Enter: leave it out):");
	if (address === "") return passed(...notes);
	let host: string;
	let isSecure: boolean;
	try {
		({ host, isSecure } = parseGatewayUrl(address));
	} catch (error) {
		return failed(...notes, `${messageOf(error)}.`);
	}
	const resolved = await board.ask("resolve", { host });
	if (resolved.problem) return failed(...notes, `${host}: ${resolved.problem}.`);
	if (resolved.address !== host) notes.push(`${host} is ${resolved.address}.`);
	const { seconds } = await board.ask("time", {});
	notes.push(
		seconds === undefined
			? "No time server answered; the firmware goes on with the time of its image."
			: `Time: ${new Date(1000 * seconds).toISOString()}.`,
	);
	const token = await person.type("The device token (not shown, not kept):", { isSecret: true });
	const file = isSecure
		? await person.type("PEM file of the authority that signed the gateway's certificate:")
		: "";
	let ca: string | undefined;
	try {
		ca = file === "" ? undefined : readAuthority(file);
	} catch (error) {
		return failed(...notes, messageOf(error));
	}
	const reached = await board.ask("gateway", { url: address, token, ...(ca && { ca }) });
	if (reached.problem) return failed(...notes, `The gateway was not reached: ${reached.problem}.`);
	return passed(...notes, "The gateway accepted the connection and the token.");
}
