/** MQTT 5 broker in this process, on a port of 127.0.0.1: retained messages, wildcards and wills. It persists nothing. */

import { createServer, type Socket } from "node:net";
import { generate, type IConnectPacket, type ISubscription, type Packet, parser } from "mqtt-packet";
import { type Owner, onEnd } from "../cleanup.js";
import { nextEvent } from "../eventually.js";
import type { Mosquitto } from "../mosquitto.js";
import { freePort } from "../ports.js";

interface Message {
	readonly topic: string;
	readonly payload: string | Buffer;
	readonly retain?: boolean;
}

interface Connection {
	readonly socket: Socket;
	readonly subscriptions: Map<string, ISubscription>;
	will: IConnectPacket["will"];
}

/** Reason code of a rejection: not authorized. */
const notAuthorized = 135;

export interface Broker extends Mosquitto {
	/** Whether it rejects a message or a subscription. Default: none. */
	rejects: (topic: string, what: "message" | "subscription") => boolean;
}

export async function startBroker(t: Owner): Promise<Broker> {
	const port = await freePort();
	const retained = new Map<string, Message>();
	const connections = new Map<string, Connection>();
	const send = ({ socket }: Pick<Connection, "socket">, packet: Packet) =>
		void socket.write(generate(packet, { protocolVersion: 5 }));
	const deliver = (to: Connection, { topic, payload }: Message, retain: boolean) =>
		send(to, { cmd: "publish", topic, payload, retain, qos: 0, dup: false });
	const publish = (message: Message, from?: Connection) => {
		const { topic, payload, retain = false } = message;
		if (retain && payload.length > 0) retained.set(topic, message);
		else if (retain) retained.delete(topic);
		for (const to of connections.values()) {
			const found = [...to.subscriptions.values()].find((subscription) => matches(subscription.topic, topic));
			if (found && !(found.nl && to === from)) deliver(to, message, retain && found.rap === true);
		}
	};
	const take = (from: Connection, packet: Packet) => {
		const { messageId = 0 } = packet;
		if (packet.cmd === "publish") {
			const isRejected = broker.rejects(packet.topic, "message");
			if (!isRejected) publish(packet, from);
			if (packet.qos > 0)
				send(from, { cmd: "puback", messageId, reasonCode: isRejected ? notAuthorized : 0 });
		} else if (packet.cmd === "subscribe") {
			const rejected = packet.subscriptions.map(({ topic }) => broker.rejects(topic, "subscription"));
			send(from, {
				cmd: "suback",
				messageId,
				granted: rejected.map((isRejected) => (isRejected ? notAuthorized : 0)),
			});
			for (const [index, subscription] of packet.subscriptions.entries()) {
				if (rejected[index]) continue;
				from.subscriptions.set(subscription.topic, subscription);
				for (const message of retained.values())
					if (matches(subscription.topic, message.topic)) deliver(from, message, true);
			}
		} else if (packet.cmd === "pingreq") send(from, { cmd: "pingresp" });
		else if (packet.cmd === "disconnect") from.will = undefined;
	};
	const server = createServer({ noDelay: true }, (socket) => {
		const connection: Connection = { socket, subscriptions: new Map(), will: undefined };
		let id = "";
		const stream = parser({ protocolVersion: 5 }).on("packet", (packet) => {
			if (packet.cmd !== "connect") return take(connection, packet);
			id = packet.clientId;
			connections.get(id)?.socket.destroy();
			connections.set(id, connection);
			connection.will = packet.will;
			send(connection, { cmd: "connack", reasonCode: 0, sessionPresent: false });
		});
		socket.on("data", (bytes) => stream.parse(bytes)).on("error", () => {});
		socket.on("close", () => {
			if (connections.get(id) === connection) connections.delete(id);
			if (server.listening && connection.will) publish(connection.will);
		});
	});
	const broker: Broker = {
		settings: {
			url: `mqtt://127.0.0.1:${port}`,
			username: undefined,
			password: undefined,
			authority: undefined,
			prefix: "homeassistant",
		},
		rejects: () => false,
		start: async () => void (await nextEvent(server.listen(port, "127.0.0.1"), "listening")),
		kill: async () => {
			retained.clear();
			for (const { socket } of connections.values()) socket.destroy();
			await new Promise((resolve) => server.close(resolve));
		},
	};
	onEnd(t, () => broker.kill());
	await broker.start();
	return broker;
}

/** @param filter topic with the wildcards + and # */
function matches(filter: string, topic: string): boolean {
	const pattern = filter.replaceAll(/[.*?^$()[\]{}|\\]/g, "\\$&").replaceAll("+", "[^/]+");
	return new RegExp(`^${pattern.replace(/\/?#$/, "(/.*|$)")}$`).test(topic);
}
