/**
 * Announces the gateway by multicast DNS (RFC 6762, RFC 6763) and responds to devices on all networks of this
 * computer. Unsolicited announcements go to the default network only, so they contain no addresses of
 * containers and VPNs. There is no probing, as the name contains the host name and the port and is unique.
 */

import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";
import { BlockList } from "node:net";
import { hostname, type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import multicastDns, { type QueryPacket, type ResponseOutgoingPacket } from "multicast-dns";
import { gatewayService } from "../../device/protocol/gateway-proof.js";
import { TokenBucket } from "../access/rates.js";

type Answer = ResponseOutgoingPacket["answers"][number];

const multicast = Object.freeze({ address: "224.0.0.251", port: 5353 });
/** Retry interval while another program uses the port. */
const rebindMs = 5_000;
/** MAC address of interfaces without a link layer, such as VPN tunnels. */
const noMac = "00:00:00:00:00:00";
/** TTL, RFC 6762, section 10. */
const ttlSeconds = 120;
/** Times of announcements, RFC 6762, section 8.3. */
const announceMs = [0, 1_000];
/** Limit of a label, below the 63 bytes allowed. */
const longestLabelBytes = 60;
/** Rate limit of responses. Clients repeat unanswered queries. */
const rate = Object.freeze({ perSecond: 50, burst: 100 });
/** Limit of questions per datagram. */
const mostQuestions = 4;
const allServices = "_services._dns-sd._udp.local";

export interface ResponderOptions {
	/** Unique name of this gateway. */
	readonly name: string;
	/** Address of this computer; a wildcard stands for all. */
	readonly host: string;
	/** @returns URL for devices that reach this computer at `own` */
	readonly addressAt: (own: string) => string;
	/** Function `proofFor` with the current tokens. */
	readonly proofFor: (question: string, address: string) => Promise<string | undefined>;
	readonly onProblem: (error: unknown) => void;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}

export class Responder {
	readonly #options: ResponderOptions;
	readonly #instance: string;
	readonly #target = `${labelOf(hostname().replace(/\..*/, ""))}.local`;
	readonly #network = multicastDns();
	readonly #bucket: TokenBucket;

	constructor(options: ResponderOptions) {
		this.#options = options;
		this.#instance = `${labelOf(options.name)}.${gatewayService}`;
		const { onProblem, monotonic } = options;
		this.#bucket = new TokenBucket({ ...rate, monotonic });
		this.#network.once("error", onProblem);
		// Sending binds the port.
		this.#network.on("error", () => setTimeout(() => this.#announce().catch(onProblem), rebindMs).unref());
		this.#network.on("query", (query: QueryPacket, from: RemoteInfo) => {
			this.#onQuery(query, from).catch(onProblem);
		});
		// At the start, and when an interface comes up (RFC 6762, section 8.3).
		this.#network.on("networkInterface", () => {
			for (const delayMs of announceMs) setTimeout(() => this.#announce().catch(onProblem), delayMs).unref();
		});
	}

	/** Sends the goodbye packet (RFC 6762, section 10.1). */
	async close(): Promise<void> {
		await this.#announce(0).catch(this.#options.onProblem);
		this.#network.destroy();
	}

	async #announce(ttl = ttlSeconds): Promise<void> {
		const address = await defaultAddress();
		const isEligible = this.#own().some((own) => own.address === address && own.mac !== noMac);
		if (address !== undefined && isEligible)
			await this.#respond({ answers: this.#records([address], gatewayService, [], ttl) });
	}

	async #onQuery({ id, questions = [], answers = [] }: QueryPacket, from: RemoteInfo): Promise<void> {
		if (answers.some((known) => known.type === "PTR" && known.data === this.#instance)) return;
		const names = [gatewayService, allServices, this.#instance, this.#target];
		for (const { name, type } of questions.slice(0, mostQuestions)) {
			const isForAll = names.some((asked) => asked.toLowerCase() === name.toLowerCase());
			const isOfDevice = name.toLowerCase().endsWith(`._sub.${gatewayService}`);
			if ((!isForAll && !isOfDevice) || !this.#bucket.take()) continue;
			const own = addressesFor(from.address, this.#own());
			if (own[0] === undefined) return;
			const facts = isForAll ? [] : await this.#factsFor(name.toLowerCase(), own[0]);
			if (!facts) continue;
			const answers = this.#records(own, isForAll ? gatewayService : name, facts);
			// A simple client, such as a device, receives a unicast response (RFC 6762, section 6.7).
			if (from.port !== multicast.port)
				await this.#respond({ id, questions: [{ name, type }], answers }, from);
			// Multicast goes to the default network only.
			else if (own[0] === (await defaultAddress())) await this.#respond({ answers });
			else await this.#respond({ answers }, from);
		}
	}

	/** Returns the TXT entries for a device. */
	async #factsFor(question: string, own: string): Promise<readonly string[] | undefined> {
		const { addressAt, proofFor } = this.#options;
		const address = addressAt(own);
		const proof = await proofFor(question, address);
		return proof === undefined ? undefined : [`address=${address}`, `proof=${proof}`];
	}

	#records(own: readonly string[], pointer: string, facts: readonly string[], ttl = ttlSeconds): Answer[] {
		const { protocol, port, pathname } = new URL(this.#options.addressAt(own[0] ?? ""));
		const isSecure = protocol === "wss:";
		const [instance, target] = [this.#instance, this.#target];
		const data = [`path=${pathname}`, `tls=${isSecure ? 1 : 0}`, ...facts];
		return [
			{ name: pointer, type: "PTR", ttl, data: instance },
			{ name: allServices, type: "PTR", ttl, data: gatewayService },
			{ name: instance, type: "SRV", ttl, data: { port: Number(port) || (isSecure ? 443 : 80), target } },
			{ name: instance, type: "TXT", ttl, data },
			...own.map((address) => ({ name: target, type: "A", ttl, data: address }) as const),
		];
	}

	/** Returns the IPv4 interfaces on which this gateway listens. */
	#own(): readonly NetworkInterfaceInfo[] {
		const { host } = this.#options;
		const isAny = host === "0.0.0.0" || host === "::";
		return Object.values(networkInterfaces())
			.flatMap((list) => list ?? [])
			.filter(
				({ address, family, internal }) => family === "IPv4" && !internal && (isAny || address === host),
			);
	}

	/** Sends a packet. Errors are ignored, as any datagram may be lost. */
	#respond(packet: ResponseOutgoingPacket, to?: RemoteInfo): Promise<void> {
		return new Promise((resolve) => this.#network.respond(packet, to, () => resolve()));
	}
}

/** @returns own addresses in the smallest network that contains the client, as routing chooses it */
export function addressesFor(
	client: string,
	own: readonly Pick<NetworkInterfaceInfo, "address" | "cidr">[],
): readonly string[] {
	const prefixes = own.map(({ address, cidr }) => {
		const [network = address, bits = "32"] = cidr?.split("/") ?? [];
		const list = new BlockList();
		list.addSubnet(network, Number(bits));
		return list.check(client) ? Number(bits) : -1;
	});
	const longest = Math.max(0, ...prefixes);
	return own.flatMap(({ address }, index) => (prefixes[index] === longest ? [address] : []));
}

/** @returns source address of multicast on this computer; undefined without a network */
async function defaultAddress(): Promise<string | undefined> {
	const socket = createSocket("udp4");
	try {
		socket.connect(multicast.port, multicast.address);
		await once(socket, "connect");
		return socket.address().address;
	} catch {
		return undefined;
	} finally {
		socket.close();
	}
}

/** Replaces dots, which separate labels. */
function labelOf(text: string): string {
	return Buffer.from(text.replaceAll(".", "-")).subarray(0, longestLabelBytes).toString();
}
