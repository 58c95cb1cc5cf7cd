/** Every limit of connections and sockets. gateway/api/asyncapi.yaml tells clients what they mean. */

export const socketLimits = Object.freeze({
	/** For a TLS handshake, and then for a request's headers. */
	requestHeadersMs: 10_000,
	/** Open connections without a token; at most half of the files that may be open. */
	unauthenticatedConnections: 2000,
	/** A connection that neither sends nor reads for this time is closed, unless it is a WebSocket. */
	stalledMs: 30_000,
	/** For a request's body, except an upload's. */
	requestBodyMs: 30_000,
	pingIntervalMs: 15_000,
	/** The next ping ends the connection. */
	unansweredPings: 2,
	/** A larger frame closes the socket with 1009. */
	maxFrameBytes: 64 * 1024,
	/** More close a device's socket with 1008. */
	invalidUplinksAMinute: 20,
	/** Of one device; more wait. A device answers each command of a monitor with a report. */
	uplinksASecond: 100,
	uplinkBurst: 200,
	/** A device with this much unread is disconnected. */
	deviceBacklogBytes: 1024 * 1024,
	/** A monitor with this much unread gets only the newest state report of each session. */
	slowMonitorBytes: 1024 * 1024,
	/** A monitor with this much unread is closed with 1013. */
	stuckMonitorBytes: 8 * 1024 * 1024,
	/** Delay of a snapshot after a device was forgotten, to include further ones. */
	snapshotPauseMs: 200,
	/** Of one monitor. */
	commandsASecond: 50,
	commandBurst: 100,
	/** Messages over that rate that get `rate_limited`; one more closes the socket with 1008. */
	refusalsASecond: 10,
	refusalBurst: 400,
	/** Ping and pong frames of one peer; one more closes its socket with 1008. */
	controlFramesASecond: 20,
	controlFrameBurst: 100,
	/** More fragments of a message close its socket with 1008. */
	maxFragments: 256,
	/** Devices that are admitted; others are told to try again, such as after a power cut. */
	devicesASecond: 100,
	deviceBurst: 200,
	/** Connections of one device id, so that one in a loop does not keep others out. */
	returnsInTenSeconds: 20,
	/** Upgrades of one address: admitted ones by path, and refused ones. */
	upgradesInTwoSeconds: 150,
	/** Messages after our close frame; more end the connection, or it would be read for `closeTimeoutMs`. */
	messagesAfterClose: 1000,
	/** For a closing handshake; then the socket is destroyed. */
	closeTimeoutMs: 10_000,
});
export type SocketLimits = { readonly [Name in keyof typeof socketLimits]: number };

/** RFC 6455, section 7.4.1. */
export const closeCodes = Object.freeze({
	normal: 1000,
	goingAway: 1001,
	unsupportedData: 1003,
	policyViolation: 1008,
	tryAgainLater: 1013,
});
