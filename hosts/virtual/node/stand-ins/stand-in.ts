/** What a stand-in's Node half is: the firmware opened a channel of some kind, and this serves it. */

import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from "node:tls";
import { isRecord } from "../../../../device/protocol/schema.js";
import type { Board } from "../board.js";
import type { Channel, ChannelHandler } from "../machine.js";

/** What stand-ins share: the device that they belong to. */
export interface Surroundings {
	readonly board: Board;
}

export type StandIn = (channel: Channel, surroundings: Surroundings) => ChannelHandler;

/** @throws Error where the firmware's half sent something else */
export function textOf(detail: unknown, name: string): string {
	const value = isRecord(detail) ? detail[name] : undefined;
	if (typeof value !== "string") throw new Error(`${name} must be a string`);
	return value;
}

/** @throws Error where the firmware's half sent something else */
export function numberOf(detail: unknown, name: string): number {
	const value = isRecord(detail) ? detail[name] : undefined;
	if (typeof value !== "number") throw new Error(`${name} must be a number`);
	return value;
}

/** What decides whether a server is trusted, as Node's TLS takes it. */
export interface Trust {
	readonly ca?: string;
	readonly checkServerIdentity?: (name: string, certificate: PeerCertificate) => Error | undefined;
}

/**
 * @param secure how the firmware's half wants TLS: TrustOptions of device/host.ts, and `now`, the device's clock in
 *     milliseconds since 1970, by which a board checks certificates
 * @returns the authority, where Node's own are not meant, and a check of dates by that clock
 */
export function trustOf(secure: unknown): Trust {
	if (!isRecord(secure)) return {};
	const { certificate } = secure;
	const now = numberOf(secure, "now");
	return {
		...(typeof certificate === "string" && { ca: pem(certificate) }),
		checkServerIdentity: (name, peer) => checkServerIdentity(name, peer) ?? checkDates(peer, now),
	};
}

function pem(base64: string): string {
	const lines = base64.match(/.{1,64}/g) ?? [];
	return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----"].join("\n");
}

function checkDates(peer: DetailedPeerCertificate | PeerCertificate, now: number): Error | undefined {
	const { valid_from, valid_to } = peer;
	if (now < Date.parse(valid_from) || now > Date.parse(valid_to))
		return new Error(
			`a certificate from ${valid_from} to ${valid_to}, and by the clock it is ${new Date(now).toISOString()}`,
		);
	const issuer = "issuerCertificate" in peer ? peer.issuerCertificate : undefined;
	return issuer && issuer !== peer ? checkDates(issuer, now) : undefined;
}
