/** Every limit of connections and sockets; gateway/api/asyncapi.yaml describes them for clients. */

import type { Logger } from "pino";
import type { Sessions } from "../sessions/sessions.js";
import type { Metrics } from "../telemetry/metrics.js";

export const socketLimits = Object.freeze({
	/** For a TLS handshake, and for a request's headers. */
	requestHeadersMs: 10_000,
	/** Open ones; at most half of the files that may be open. */
	unauthenticatedConnections: 2000,
	/** A connection without traffic is closed, unless it is a WebSocket. */
	stalledMs: 30_000,
	/** For a request's body, except an upload's. */
	requestBodyMs: 30_000,
	pingIntervalMs: 15_000,
	/** The next ping ends the connection. */
	unansweredPings: 2,
	/** Larger ones close the socket with 1009. */
	maxFrameBytes: 64 * 1024,
	/** This many close a device's socket with 1008. */
	invalidUplinksAMinute: 20,
	/** Of one device; more wait. It answers each command with a report. */
	uplinksASecond: 100,
	uplinkBurst: 200,
	/** Unread bytes that disconnect a device. */
	deviceBacklogBytes: 1024 * 1024,
	/** Unread bytes from which a monitor gets only the newest reports. */
	slowMonitorBytes: 1024 * 1024,
	/** Unread bytes that close a monitor's socket with 1013. */
	stuckMonitorBytes: 8 * 1024 * 1024,
	/** Delay of a snapshot, to include further forgotten devices. */
	snapshotPauseMs: 200,
	/** Between two frames of changes of the summary. */
	summaryPauseMs: 250,
	/** Whole summaries of one monitor that switches it off and on: each takes as long as hundreds of reports. */
	summariesASecond: 1,
	summaryBurst: 20,
	/** Of one monitor. */
	commandsASecond: 50,
	commandBurst: 100,
	/** Further messages that get `rate_limited`; then 1008. */
	refusalsASecond: 10,
	refusalBurst: 400,
	/** Of one peer; then 1008. */
	controlFramesASecond: 20,
	controlFrameBurst: 100,
	/** Of one message; then 1008. */
	maxFragments: 256,
	/** At the start; then as many as the event loop bears (admission-rate.ts). Others are told when to try again. */
	devicesASecond: 600,
	deviceBurst: 200,
	/** Of one device id, so that one in a loop does not keep others out. */
	returnsInTenSeconds: 20,
	/** Of one address: admitted ones by path, and refused ones. */
	upgradesInTwoSeconds: 150,
	/** More end the connection, or it would be read for `closeTimeoutMs`. */
	messagesAfterClose: 1000,
	/** Between two heartbeats to other gateways. */
	gatewayBeatMs: 2_000,
	/** For a monitor to subscribe, before the reports of other gateways' devices are gathered for it. */
	subscribeMs: 250,
	/** Then the socket is destroyed. */
	closeTimeoutMs: 10_000,
	/** For devices to answer the close frame of a gateway that stops: the next one waits for the end of this. */
	devicesLeaveMs: 2_000,
});
export type SocketLimits = { readonly [Name in keyof typeof socketLimits]: number };

/** RFC 6455, section 7.4.1. */
export const closeCodes = Object.freeze({
	normal: 1000,
	goingAway: 1001,
	unsupportedData: 1003,
	policyViolation: 1008,
	/** In IANA's registry. */
	serviceRestart: 1012,
	tryAgainLater: 1013,
});

/** What both ends of WebSockets need. */
export interface SocketsOptions {
	readonly sessions: Sessions;
	readonly limits: SocketLimits;
	readonly metrics: Metrics;
	readonly log: Logger;
	/** Awaited before work that many clients may cause at once: see event-loop.ts. */
	readonly yieldToLoop: () => Promise<void>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}
