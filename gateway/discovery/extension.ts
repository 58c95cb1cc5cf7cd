/** Devices find this gateway by multicast DNS: they need its token, and not its address. */

import { hostname } from "node:os";
import { isLoopback } from "../access/origin.js";
import type { Core, Extension } from "../extension.js";
import { deviceAddresses } from "../http/server.js";
import { switched } from "../setting.js";
import { proofFor } from "./proof.js";
import type { Responder } from "./responder.js";

const mdns = switched(
	"MDNS",
	"`off`: devices do not find this gateway by themselves; see [Discovery](discovery/README.md)",
);

/** A text of DNS has at most 255 bytes, with what names it. */
const longestUrl = 200;
/** Of a change of the tokens. */
const longestUnreadMs = 1_000;

/** Announced is the address that is printed at the start: with PUBLIC_URL that, since devices must not go around its proxy. */
export function createDiscovery(core: Core): Extension {
	const { settings, log, tokens, monotonic } = core;
	const { host, publicUrl, gatewayName } = settings;
	const isUseless = publicUrl && (isLoopback(publicUrl.hostname) || publicUrl.href.length > longestUrl);
	if (!mdns.read(core.environment) || isLoopback(host) || isUseless) return {};
	let responder: Responder | undefined;
	return {
		async open() {
			const { Responder } = await import("./responder.js");
			responder = new Responder({
				name: gatewayName ?? `${hostname()}:${core.port()}`,
				host,
				addressAt: (own) => deviceAddresses({ ...settings, host: own }, core.port())[0] ?? "",
				proofFor: async (question, address) => {
					await tokens.refresh(longestUnreadMs);
					return proofFor(question, address, tokens.of("device"));
				},
				monotonic,
				onProblem: (error) => log.warn({ err: error }, "multicast DNS: devices cannot find this gateway"),
			});
		},
		close: async () => responder?.close(),
	};
}

createDiscovery.settings = [mdns];
