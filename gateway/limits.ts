/** Limits of connections and sockets; gateway/api/asyncapi.yaml describes them for clients. */

export const socketLimits = Object.freeze({
	/** Timeout of a TLS handshake, and of a request's headers. */
	requestHeadersMs: 10_000,
	/** Idle timeout of a connection, except a WebSocket. */
	stalledMs: 30_000,
	/** Idle timeout of a connection after a response; Node adds a second. */
	keepAliveMs: 5_000,
	/**
	 * The same for connections of trusted proxies, which respond with 502 to a request that they send while the gateway
	 * closes its connection. Exceeds Envoy's hour, the longest default of the proxies in gateway/operations.md.
	 */
	proxyKeepAliveMs: 3_700_000,
	pingIntervalMs: 15_000,
	/** Number of unanswered pings after which the connection is closed instead of sending the next one. */
	unansweredPings: 2,
	/** The same for monitors, which may take two minutes to read a snapshot and the pings after it. */
	unansweredMonitorPings: 8,
	/** Size limit of received frames; larger ones close the socket with 1009. */
	maxFrameBytes: 64 * 1024,
	/** Size limit of frames to monitors, the default of common clients. Longer lists are split. */
	maxMonitorFrameBytes: 1024 * 1024,
	/** Limit of invalid uplinks of a device; at it, the socket is closed with 1008. */
	invalidUplinksAMinute: 20,
	/** Rate limit of a device, which reports after each command; further uplinks are delayed. */
	uplinksASecond: 100,
	uplinkBurst: 200,
	/** Unsent bytes at which a device is disconnected. */
	deviceBacklogBytes: 1024 * 1024,
	/**
	 * Minimum size of a compressed frame to a monitor with permessage-deflate; only snapshots and summaries are
	 * compressed.
	 */
	compressionThresholdBytes: 1024,
	/** Unsent bytes above which a monitor receives only the newest report of each device. */
	slowMonitorBytes: 1024 * 1024,
	/** Unsent bytes at which a monitor's socket is closed with 1013. */
	stuckMonitorBytes: 8 * 1024 * 1024,
	/** Time for a new monitor to subscribe before the reports of all gateways are fetched for its snapshot. */
	subscribeMs: 250,
	/** Debounce of the snapshot after forgetting devices. */
	snapshotDebounceMs: 200,
	/** Rate limit of a monitor's commands. */
	commandsASecond: 50,
	commandBurst: 100,
	/** Rate limit of `rate_limited` errors to a monitor; above it the socket is closed with 1008. */
	rejectionsASecond: 10,
	rejectionBurst: 400,
	/** Rate limit of a peer's control frames; above it the socket is closed with 1008. */
	controlFramesASecond: 20,
	controlFrameBurst: 100,
	/** Limit of the fragments of a message; above it the socket is closed with 1008. */
	maxFragments: 256,
	/** Rate limit of connecting devices after the start; others are rejected with `Retry-After`. */
	devicesASecond: 600,
	/** Interval of checking TLS_CERT and TLS_KEY for changes. */
	certificateCheckMs: 5_000,
	/** Timeout of the closing handshake, after which the socket is destroyed; see server-socket.ts. */
	closeTimeoutMs: 10_000,
	/** Timeout of the closing handshake of devices when the gateway stops, for which a restart waits. */
	deviceCloseTimeoutMs: 2_000,
});
export type SocketLimits = { readonly [Name in keyof typeof socketLimits]: number };

/** WebSocket close codes (RFC 6455, 7.4.1). */
export const closeCodes = Object.freeze({
	normal: 1000,
	goingAway: 1001,
	unsupportedData: 1003,
	policyViolation: 1008,
	/** 1012 and 1013 are in IANA's WebSocket registry. */
	serviceRestart: 1012,
	tryAgainLater: 1013,
});
