/**
 * Every number that bounds a socket, in one place, so that a test can shrink one and a reader can find them all.
 * What they mean for who connects is in gateway/api/asyncapi.yaml.
 */

export interface SocketLimits {
	/** Time for a TLS handshake, and then for a request's headers. */
	readonly requestHeadersMs: number;
	readonly pingIntervalMs: number;
	/** Pings that may go unanswered; the next one that falls due ends the connection. */
	readonly unansweredPings: number;
	/** Largest frame that is read; a larger one closes the socket with 1009. */
	readonly maxFrameBytes: number;
	/** This many invalid uplinks within a minute close a device's socket with 1008. */
	readonly invalidUplinksAMinute: number;
	/** What one device may send, in the long run and at once: a monitor's commands are each answered by a report. The rest waits. */
	readonly uplinksASecond: number;
	readonly uplinkBurst: number;
	/** A device that leaves this much unread is cut off: it reads nothing. */
	readonly deviceBacklogBytes: number;
	/** A monitor that leaves this much unread gets only the newest state report of each session. */
	readonly slowMonitorBytes: number;
	/** A monitor that leaves this much unread is closed with 1013. */
	readonly stuckMonitorBytes: number;
	/** A snapshot after devices were forgotten waits this long for more of them to be. */
	readonly snapshotPauseMs: number;
	/** What one monitor may send: in the long run, and at once. */
	readonly commandsASecond: number;
	readonly commandBurst: number;
	/** For how long, at most, a monitor that sent more than that is not read. */
	readonly brakeMs: number;
	/** Devices that are let in: in the long run, and at once. The rest is told to come back, as after a power cut. */
	readonly devicesASecond: number;
	readonly deviceBurst: number;
	/** Upgrades that one address may ask for within two seconds, whatever it shows. */
	readonly upgradesInTwoSeconds: number;
	/** Time for a closing handshake, then the socket is destroyed. */
	readonly closeTimeoutMs: number;
}

export const socketLimits: SocketLimits = Object.freeze({
	requestHeadersMs: 10_000,
	pingIntervalMs: 15_000,
	unansweredPings: 2,
	maxFrameBytes: 64 * 1024,
	invalidUplinksAMinute: 20,
	uplinksASecond: 100,
	uplinkBurst: 200,
	deviceBacklogBytes: 1024 * 1024,
	slowMonitorBytes: 1024 * 1024,
	stuckMonitorBytes: 8 * 1024 * 1024,
	snapshotPauseMs: 200,
	commandsASecond: 50,
	commandBurst: 100,
	brakeMs: 5000,
	devicesASecond: 100,
	deviceBurst: 200,
	upgradesInTwoSeconds: 150,
	closeTimeoutMs: 10_000,
});

/** Close codes of RFC 6455, section 7.4.1, as this gateway uses them. */
export const closeCodes = Object.freeze({
	normal: 1000,
	goingAway: 1001,
	unsupportedData: 1003,
	policyViolation: 1008,
	tryAgainLater: 1013,
});
