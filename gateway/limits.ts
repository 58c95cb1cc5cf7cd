/** The limits of connections and sockets; gateway/api/asyncapi.yaml describes them for clients. */

export const socketLimits = Object.freeze({
	/** For a TLS handshake, or a request's headers. */
	requestHeadersMs: 10_000,
	/** A connection without traffic is closed, except a WebSocket. */
	stalledMs: 30_000,
	/** For a request's body, except an upload's. */
	requestBodyMs: 30_000,
	pingIntervalMs: 15_000,
	/** The next ping ends the connection. */
	unansweredPings: 2,
	/** Larger frames close the socket with 1009. */
	maxFrameBytes: 64 * 1024,
	/** This many close a device's socket with 1008. */
	invalidUplinksAMinute: 20,
	/** Of one device; more have to wait. It answers each command with a report. */
	uplinksASecond: 100,
	uplinkBurst: 200,
	/** Unread bytes at which a device is disconnected. */
	deviceBacklogBytes: 1024 * 1024,
	/** Frames to monitors that follow the previous ones sooner wait this long, and go together. */
	gatherFramesMs: 2,
	/** Of a frame to a monitor that offers permessage-deflate; only snapshots and summaries are compressed. */
	compressedFromBytes: 1024,
	/** For a monitor to read its first picture, during which it need not answer pings. */
	firstPictureMs: 120_000,
	/** Unread bytes above which a monitor gets only the newest reports. */
	slowMonitorBytes: 1024 * 1024,
	/** Unread bytes at which a monitor's socket is closed with 1013. */
	stuckMonitorBytes: 8 * 1024 * 1024,
	/** Delay of a snapshot, so that it includes further forgotten devices. */
	snapshotPauseMs: 200,
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
	/** At the start. Others are refused with `Retry-After`. */
	devicesASecond: 600,
	/** Interval between two reads of TLS_CERT and TLS_KEY, which a renewal replaces. */
	certificateCheckMs: 5_000,
	/** Destroys the socket of a peer that does not read its close frame; see server-socket.ts for one that does. */
	closeTimeoutMs: 10_000,
	/** For devices to answer the close frame of a stopping gateway; the next one waits for that. */
	devicesLeaveMs: 2_000,
});
export type SocketLimits = { readonly [Name in keyof typeof socketLimits]: number };

/** RFC 6455, section 7.4.1. */
export const closeCodes = Object.freeze({
	normal: 1000,
	goingAway: 1001,
	unsupportedData: 1003,
	policyViolation: 1008,
	/** IANA's registry. */
	serviceRestart: 1012,
	tryAgainLater: 1013,
});
