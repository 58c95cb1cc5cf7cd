/** Discovery by multicast DNS: devices need the gateway's token, but not its address. */

import { isLoopback } from "../access/origin.js";
import type { Core, Extension } from "../extension.js";
import { deviceAddresses } from "../http/server.js";
import { onOffSetting } from "../setting.js";
import { proofFor } from "./proof.js";
import type { Responder } from "./responder.js";

const mdns = onOffSetting("MDNS", "`off` disables mDNS; see [Discovery](discovery/README.md)");

/** Limit for a DNS text of at most 255 bytes including its key. */
const longestUrl = 200;
/** Maximum delay until a token change takes effect. */
const longestUnreadMs = 1_000;

/** Announces the URL printed at the start. With PUBLIC_URL it is that URL, as devices must not bypass its proxy. */
export function createDiscovery(core: Core): Extension {
	const { settings, log, tokens, monotonic } = core;
	const { host, publicUrl } = settings;
	const isUseless = publicUrl && (isLoopback(publicUrl.hostname) || publicUrl.href.length > longestUrl);
	if (!mdns.read(core.environment) || isLoopback(host) || isUseless) return {};
	let responder: Responder | undefined;
	return {
		async open() {
			const { Responder } = await import("./responder.js");
			responder = new Responder({
				name: core.name(),
				host,
				addressAt: (own) => deviceAddresses({ ...settings, host: own }, core.port())[0] ?? "",
				proofFor: async (question, address) => {
					await tokens.refresh(longestUnreadMs);
					return proofFor(question, address, tokens.of("device"));
				},
				monotonic,
				onProblem: (error) =>
					log.warn({ err: error }, "multicast DNS failed, devices cannot discover this gateway"),
			});
		},
		close: async () => responder?.close(),
	};
}

createDiscovery.settings = [mdns];
