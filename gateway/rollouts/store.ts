/**
 * The roll-outs on disk: `<id>/plan.json`, written once, and `<id>/steps.jsonl`, to which each change is appended
 * before it is acted on. A damaged line costs that line, a damaged plan that roll-out.
 */

import { join } from "node:path";
import { integer, isRecord, matches, object, pattern } from "../../device/protocol/schema.js";
import { deviceStep, head, type Plan, type Rollout } from "../api/rollout.js";
import { errorCode } from "../problem.js";
import { type Disk, ifThere, makeFolder, removeFile, writeFileAtomic } from "../storage/atomic-file.js";
import { time } from "../storage/time.js";
import { apply, type Change, firstHead } from "./machine.js";
import { parsePlan } from "./plan.js";

/** Lower case, as it names a folder. */
export const rolloutId = pattern(64, "^[a-z0-9][a-z0-9._-]*$", "lower-case letters, digits, '.', '_' or '-'");
export const planFile = object({ schema: integer(1, 1), createdAt: time, plan: object({}) });

export interface RolloutStoreOptions {
	/** Made if it is missing. */
	readonly directory: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
}

/** What `Rollouts` needs of a store. */
export type RolloutRecords = Pick<RolloutStore, keyof RolloutStore>;

export class RolloutStore {
	readonly #options: RolloutStoreOptions;
	/** Roll-outs whose file is to be written whole, with the error: its end may be damaged. */
	readonly #failed = new Map<string, string>();

	constructor(options: RolloutStoreOptions) {
		this.#options = options;
	}

	/** Why steps cannot be written; undefined if they can. */
	get readinessProblem(): string | undefined {
		const [why] = this.#failed.values();
		return why && `${this.#options.directory} cannot be written (${why}).`;
	}

	/** Whether its latest step could not be written, which the next `append` repairs. */
	hasFailed(id: string): boolean {
		return this.#failed.has(id);
	}

	/** Loads all roll-outs and rewrites their steps without those that are outdated. @throws {NodeJS.ErrnoException} */
	async load(): Promise<readonly Rollout[]> {
		const { directory, disk, onProblem } = this.#options;
		await makeFolder(disk, directory);
		const rollouts: Rollout[] = [];
		for (const entry of await disk.readdir(directory, { withFileTypes: true })) {
			if (!entry.isDirectory() || !matches(rolloutId, entry.name)) continue;
			try {
				const rollout = await this.#read(entry.name);
				if (!rollout) continue;
				rollouts.push(rollout);
				await this.#save(rollout, linesOf(rollout), true);
			} catch (error) {
				const reason = error instanceof Error ? error.message : String(error);
				onProblem(`${join(directory, entry.name)} is left out, with its roll-out: ${reason}`);
			}
		}
		return rollouts;
	}

	/** @returns whether it is on disk */
	async create(rollout: Rollout): Promise<boolean> {
		const { directory, disk } = this.#options;
		const { id, createdAt, plan, asked } = rollout;
		try {
			await makeFolder(disk, join(directory, id));
			// The plan last: without it there is no roll-out.
			await writeFileAtomic(disk, this.#pathOf(id, "steps.jsonl"), linesOf(rollout));
			const content = JSON.stringify({ schema: 1, createdAt, plan, asked }, undefined, "\t");
			await writeFileAtomic(disk, this.#pathOf(id, "plan.json"), `${content}\n`);
			return true;
		} catch (error) {
			this.#report(id, error);
			await disk.rm(this.#pathOf(id, "plan.json"), { force: true }).catch(() => {});
			return false;
		}
	}

	/** @param rollout with the change applied @returns whether it is on disk */
	append(rollout: Rollout, change: Change): Promise<boolean> {
		const isWhole = this.#failed.has(rollout.id);
		return this.#save(rollout, linesOf(isWhole ? rollout : change), isWhole);
	}

	/** @returns whether it is gone */
	async remove(id: string): Promise<boolean> {
		const { directory, disk } = this.#options;
		try {
			await removeFile(disk, this.#pathOf(id, "plan.json"));
			await disk.rm(join(directory, id), { recursive: true, force: true });
			this.#failed.delete(id);
			return true;
		} catch (error) {
			this.#report(id, error);
			return false;
		}
	}

	async #save({ id }: Rollout, lines: string, isWhole: boolean): Promise<boolean> {
		const { disk } = this.#options;
		const path = this.#pathOf(id, "steps.jsonl");
		try {
			if (isWhole) await writeFileAtomic(disk, path, lines);
			else await appendDurably(disk, path, lines);
			this.#failed.delete(id);
			return true;
		} catch (error) {
			const why = errorCode(error) ?? String(error);
			if (this.#failed.get(id) !== why) this.#report(id, error);
			this.#failed.set(id, why);
			return false;
		}
	}

	async #read(id: string): Promise<Rollout | undefined> {
		const { disk, onProblem } = this.#options;
		const content = await ifThere(disk.readFile(this.#pathOf(id, "plan.json"), "utf8"));
		if (content === undefined) return undefined;
		const value: unknown = JSON.parse(content);
		const asked = isRecord(value) ? value.asked : undefined;
		if (!matches(planFile, value)) throw new Error("plan.json is damaged.");
		const { createdAt } = value;
		const empty: Rollout = {
			id,
			createdAt,
			asked,
			plan: storedPlan(value.plan),
			head: firstHead,
			devices: new Map(),
		};
		const path = this.#pathOf(id, "steps.jsonl");
		const lines = (await disk.readFile(path, "utf8")).split("\n").filter((line) => line !== "");
		const changes = lines.flatMap((line) => parseLine(line) ?? []);
		const damaged = lines.length - changes.length;
		if (damaged > 0) onProblem(`${path} has ${damaged} damaged lines, which are left out.`);
		const latest = changes.flatMap((change) => change.head ?? []).at(-1);
		if (!latest) throw new Error("steps.jsonl is damaged.");
		return apply(empty, { head: latest, devices: changes.flatMap(({ devices }) => devices) });
	}

	#report(id: string, error: unknown): void {
		const why = errorCode(error) ?? String(error);
		this.#options.onProblem(`The roll-out ${id} could not be written to or removed from the disk (${why}).`);
	}

	#pathOf(id: string, name: string): string {
		return join(this.#options.directory, id, name);
	}
}

/** Checks a completed plan as at each start; its deadline may be past. @throws {Error} */
export function storedPlan(value: unknown): Plan {
	const plan = parsePlan(value, () => 0, Number.NEGATIVE_INFINITY);
	const { version, source, images } = plan.firmware;
	if (!source || !images) throw new Error("plan.json is damaged.");
	return { ...plan, firmware: { version, source, images } };
}

function linesOf({ head, devices }: Change | Rollout): string {
	const lines: object[] = head ? [{ head }] : [];
	for (const device of devices instanceof Map ? devices.values() : devices) lines.push({ device });
	return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** @returns undefined if the line is damaged */
function parseLine(line: string): Change | undefined {
	try {
		const value: unknown = JSON.parse(line);
		if (!isRecord(value)) return undefined;
		if (matches(head, value.head)) return { head: value.head, devices: [] };
		return matches(deviceStep, value.device) ? { devices: [value.device] } : undefined;
	} catch {
		return undefined;
	}
}

async function appendDurably(disk: Disk, path: string, lines: string): Promise<void> {
	const file = await disk.open(path, "a", 0o600);
	try {
		await file.writeFile(lines);
		await file.sync();
	} finally {
		await file.close();
	}
}
