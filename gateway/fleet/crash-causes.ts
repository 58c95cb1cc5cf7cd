/**
 * Crashes of all devices by cause and by version. The gateway that stores a crash increments its cause and
 * version; all gateways share the sums.
 */

import { type Crash, crashKinds } from "../../device/protocol/messages.js";
import { boolean, type Infer, integer, list, object, oneOf, string } from "../../device/protocol/schema.js";
import type { CrashCause, CrashList, CrashOccurrence, CrashVersion } from "../api/crash-causes.js";
import { time } from "../api/time.js";
import { idOf } from "../digest.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import { isoTime } from "../sessions/view.js";
import { jsonRecord } from "../storage/records.js";
import { signatureOf } from "./crash-signature.js";
import type { CrashHead, CrashStore } from "./crash-store.js";
import { Tallies } from "./tallies.js";

const maxCauses = 500;
const maxVersions = 100;
const maxOfOne = 20;
/** Retry interval after a failed write. */
const retryMs = 60_000;
/** Maximum number of devices per turn of the event loop. */
const devicesAtOnce = 500;

const count = integer(0, Number.MAX_SAFE_INTEGER);
const version = string(32);
const occurrence = object({ version, at: time, deviceId: string(64) });
const storedCause = object({
	kind: oneOf(...crashKinds),
	/** Message of the first crash. */
	message: string(512),
	frames: list(string(1024), 3),
	count,
	first: occurrence,
	last: occurrence,
	versions: list(object({ version, count }), maxOfOne),
	seen: boolean(),
});
export type StoredCause = Infer<typeof storedCause>;
const storedVersion = object({ version, count, lastAt: time });
type StoredVersion = Infer<typeof storedVersion>;

/** Latest crash of a device with a given cause. */
interface Sample {
	readonly deviceId: string;
	readonly head: CrashHead;
}

export interface CrashCausesOptions {
	readonly core: Pick<Core, "records" | "log" | "now" | "yieldToLoop">;
	readonly crashes: Pick<CrashStore, "heads">;
	/** Called for a cause that no gateway knew before, on one gateway only. */
	readonly onNew: (cause: StoredCause, id: string) => void;
	/** Called when the list has changed. */
	readonly onChanged: () => void;
}

export class CrashCauses {
	readonly #options: CrashCausesOptions;
	readonly #causes: Tallies<StoredCause>;
	readonly #versions: Tallies<StoredVersion>;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: CrashCausesOptions) {
		this.#options = options;
		const { core, onNew, onChanged } = options;
		this.#causes = new Tallies({
			core,
			name: "crash-causes",
			what: "crash causes",
			...jsonRecord(storedCause),
			merge: mergeCauses,
			most: maxCauses,
			lastAt: ({ last }) => last.at,
			onWritten: (cause, isFirst, id) => {
				onChanged();
				if (isFirst) onNew(cause, id);
			},
		});
		this.#versions = new Tallies({
			core,
			name: "crash-versions",
			what: "crash counts by version",
			...jsonRecord(storedVersion),
			merge: (a, b) => ({
				version: a.version,
				count: a.count + b.count,
				lastAt: Math.max(a.lastAt, b.lastAt),
			}),
			most: maxVersions,
			lastAt: ({ lastAt }) => lastAt,
			onWritten: onChanged,
		});
	}

	/** @throws {NodeJS.ErrnoException} if a folder cannot be used */
	async open(): Promise<void> {
		await this.#causes.open();
		await this.#versions.open();
		this.#timer = setInterval(() => void this.#write(), retryMs).unref();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#write();
	}

	/** Counts a crash stored by this gateway. */
	async add({ deviceId }: Pick<Device, "deviceId">, crash: Crash): Promise<void> {
		const { id, frames } = signatureOf(crash);
		const { kind, message, firmware_version: version } = crash;
		const at = this.#options.core.now();
		const occurrence = { version, at, deviceId };
		const versions = [{ version, count: 1 }];
		const cause = {
			kind,
			message,
			frames,
			count: 1,
			first: occurrence,
			last: occurrence,
			versions,
			seen: false,
		};
		this.#causes.add(id, cause);
		if (version) this.#versions.add(idOf(version), { version, count: 1, lastAt: at });
		await this.#write();
	}

	/** @returns whether everything is written */
	async #write(): Promise<boolean> {
		const written = await Promise.all([this.#causes.write(), this.#versions.write()]);
		return written.every(Boolean);
	}

	/**
	 * Marks causes as seen, ignoring unknown ones.
	 * @returns whether the marks are stored
	 */
	async see(items: readonly { readonly kind: string; readonly id: string }[]): Promise<boolean> {
		for (const { kind, id } of items) {
			const cause = kind === "crash_new" && this.#causes.known.get(id);
			if (cause) this.#causes.add(id, { ...cause, count: 0, versions: [], seen: true });
		}
		return this.#write();
	}

	/** Lists causes and versions, yielding to the event loop if there are many devices. */
	async list(): Promise<CrashList> {
		const { devices, devicesOf, dropped } = await this.#countDevices();
		const causes = [...this.#causes.known].map(
			([id, { kind, message, frames, seen, ...cause }]): CrashCause => {
				const { deviceCount, samples } = devices.get(id) ?? { deviceCount: 0, samples: [] };
				return {
					id,
					kind,
					message,
					frames,
					count: cause.count,
					first: shown(cause.first),
					last: shown(cause.last),
					versions: cause.versions.map(({ version, count }) => ({ version: version || null, count })),
					deviceCount,
					samples: samples.map(({ deviceId, head }) => ({ deviceId, crashId: head.id, ...shown(head) })),
					seen,
				};
			},
		);
		return {
			causes: causes.sort((a, b) => Date.parse(b.last.at) - Date.parse(a.last.at)),
			versions: [...this.#versions.known.values()].map(
				({ version, count }): CrashVersion => ({ version, count, deviceCount: devicesOf.get(version) ?? 0 }),
			),
			dropped,
		};
	}

	/** Counts devices and samples of the stored crashes. */
	async #countDevices() {
		/** Devices and samples by cause. */
		const devices = new Map<string, { deviceCount: number; samples: readonly Sample[] }>();
		/** Number of devices by version. */
		const devicesOf = new Map<string, number>();
		let dropped = 0;
		const { core, crashes } = this.#options;
		for (const [index, [deviceId, heads]] of [...crashes.heads()].entries()) {
			if (index % devicesAtOnce === devicesAtOnce - 1) await core.yieldToLoop();
			for (const head of heads) {
				if (heads.find(({ version }) => version === head.version) === head)
					devicesOf.set(head.version, (devicesOf.get(head.version) ?? 0) + 1);
				if (!this.#causes.known.has(head.cause)) dropped += 1;
				else if (heads.findLast(({ cause }) => cause === head.cause) === head) {
					const found = devices.get(head.cause) ?? { deviceCount: 0, samples: [] };
					found.deviceCount += 1;
					found.samples = withSample(found.samples, { deviceId, head });
					devices.set(head.cause, found);
				}
			}
		}
		return { devices, devicesOf, dropped };
	}
}

/** Adds a sample, latest first, up to the limit. */
function withSample(samples: readonly Sample[], added: Sample): readonly Sample[] {
	const earliest = samples[maxOfOne - 1];
	if (earliest && earliest.head.at >= added.head.at) return samples;
	return [...samples, added].sort((a, b) => b.head.at - a.head.at).slice(0, maxOfOne);
}

/** Merges two causes with the same signature. */
export function mergeCauses(a: StoredCause, b: StoredCause): StoredCause {
	const versions = new Map(a.versions.map(({ version, count }) => [version, count]));
	for (const { version, count } of b.versions) versions.set(version, (versions.get(version) ?? 0) + count);
	return {
		...a,
		count: a.count + b.count,
		first: b.first.at < a.first.at ? b.first : a.first,
		last: b.last.at > a.last.at ? b.last : a.last,
		versions: [...versions]
			.map(([version, count]) => ({ version, count }))
			.sort((a, b) => b.count - a.count)
			.slice(0, maxOfOne),
		seen: a.seen || b.seen,
	};
}

function shown({ version, at }: { readonly version: string; readonly at: number }): CrashOccurrence {
	return { version: version || null, at: isoTime(at) };
}
