/** Log in a NATS stream, with a subject per key. */

import {
	DeliverPolicy,
	JetStreamApiCodes,
	JetStreamApiError,
	type JetStreamClient,
} from "@nats-io/jetstream";
import type { Entry, Log } from "../../storage/log.js";
import type { NatsLink } from "./link.js";
import { decodeName, encodeName, NatsReader, unlessOverwritten } from "./reader.js";

/** Opens a log. Its stream is created if it is missing. */
export async function openNatsLog(
	link: NatsLink,
	name: string,
	client: JetStreamClient,
	replicas: number,
): Promise<Log> {
	const stream = streamOf(name);
	const { streams } = await client.jetstreamManager();
	const found = await streams.info(stream).catch((error: unknown) => {
		if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return;
		throw error;
	});
	if (!found) await streams.add({ name: stream, subjects: [`${name}.>`], num_replicas: replicas });
	const subjectOf = (key: string) => `${name}.${encodeName(key)}`;
	return {
		append: (key, text, after) => {
			const options = { expect: { lastSubjectSequence: after } };
			const append = async () => (await client.publish(subjectOf(key), text, options)).seq;
			return link.run(() => unlessOverwritten(append));
		},
		removeBefore: async (key, seq) => {
			await link.run(() => streams.purge(stream, { filter: subjectOf(key), seq }));
		},
		read: ({ onAll, onEntry }) => {
			let all: [string, Entry][] | undefined;
			const reader = new NatsReader({
				link,
				client,
				stream,
				consumer: { filter_subjects: `${name}.>`, deliver_policy: DeliverPolicy.All },
				onBegin: () => {
					all = [];
				},
				onMessage: (message) => {
					const key = decodeName(message.subject.slice(name.length + 1));
					const entry = { text: message.string(), revision: message.seq };
					if (all) all.push([key, entry]);
					else onEntry(key, entry);
				},
				onRead: () => {
					const read = all ?? [];
					all = undefined;
					onAll(read);
				},
			});
			return reader.open();
		},
	};
}

/** Replaces dots, which stream names must not contain. */
function streamOf(name: string): string {
	return name.toUpperCase();
}
