/**
 * Every number that bounds a socket, in one place, so that a test can shrink one and a reader can find them all.
 * What they mean for who connects is in gateway/api/asyncapi.yaml.
 */

export const socketLimits = Object.freeze({
	/** Time for a TLS handshake, and then for a request's headers. */
	requestHeadersMs: 10_000,
	/** Connections that may be open without having shown a token; at most half of the files that may be open. */
	strangers: 2000,
	/** A client that neither sends nor reads anything for so long is cut off, unless it has a WebSocket. */
	stalledMs: 30_000,
	/** Time for a request's body, an upload's aside. */
	requestBodyMs: 30_000,
	pingIntervalMs: 15_000,
	/** Pings that may go unanswered; the next one that falls due ends the connection. */
	unansweredPings: 2,
	/** Largest frame that is read; a larger one closes the socket with 1009. */
	maxFrameBytes: 64 * 1024,
	/** This many invalid uplinks within a minute close a device's socket with 1008. */
	invalidUplinksAMinute: 20,
	/** What one device may send, in the long run and at once: a monitor's commands are each answered by a report. The rest waits. */
	uplinksASecond: 100,
	uplinkBurst: 200,
	/** A device that leaves this much unread is cut off: it reads nothing. */
	deviceBacklogBytes: 1024 * 1024,
	/** A monitor that leaves this much unread gets only the newest state report of each session. */
	slowMonitorBytes: 1024 * 1024,
	/** A monitor that leaves this much unread is closed with 1013. */
	stuckMonitorBytes: 8 * 1024 * 1024,
	/** A snapshot after devices were forgotten waits this long for more of them to be. */
	snapshotPauseMs: 200,
	/** What one monitor may send: in the long run, and at once. */
	commandsASecond: 50,
	commandBurst: 100,
	/** Messages over that rate which one monitor is answered with `rate_limited`; one more closes its socket with 1008. */
	refusalsASecond: 10,
	refusalBurst: 400,
	/** Ping and pong frames that one peer may send; one more closes its socket with 1008. */
	controlFramesASecond: 20,
	controlFrameBurst: 100,
	/** A message in more fragments closes its socket with 1008. */
	maxFragments: 256,
	/** Devices that are let in: in the long run, and at once. The rest is told to come back, as after a power cut. */
	devicesASecond: 100,
	deviceBurst: 200,
	/** Connections of one device within ten seconds: one that is sent away and comes back at once keeps no other out. */
	returnsInTenSeconds: 20,
	/** Upgrades of one address that are admitted within two seconds, by path, and that are refused with their own reason. */
	upgradesInTwoSeconds: 150,
	/** Messages that may still come after our goodbye; whoever sends more is cut off, or it would be read until that time is over. */
	lastWords: 1000,
	/** Time for a closing handshake, then the socket is destroyed. */
	closeTimeoutMs: 10_000,
});
export type SocketLimits = { readonly [Name in keyof typeof socketLimits]: number };

/** Close codes of RFC 6455, section 7.4.1, as this gateway uses them. */
export const closeCodes = Object.freeze({
	normal: 1000,
	goingAway: 1001,
	unsupportedData: 1003,
	policyViolation: 1008,
	tryAgainLater: 1013,
});
