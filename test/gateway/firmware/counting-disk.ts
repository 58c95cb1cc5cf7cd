/** Disk that counts its steps, so that a test can fail or stop at any of them. */

import fs, { type FileHandle } from "node:fs/promises";
import type { Disk } from "../../../gateway/storage/atomic-file.js";

export type Operation = "open" | "write" | "sync" | "rename" | "rm";

/**
 * @param before called before each step that changes the disk, numbered from 1; the step throws its errors. A write has
 * two steps: before it and after its first half.
 */
export function countingDisk(before: (number: number, operation: Operation) => void): Disk {
	let count = 0;
	const step = (operation: Operation) => before(++count, operation);
	const counted =
		<P extends readonly unknown[], R>(operation: Operation, work: (...parameters: P) => Promise<R>) =>
		async (...parameters: P) => {
			step(operation);
			return work(...parameters);
		};
	const open: Disk["open"] = async (...parameters) => {
		if (parameters[1] === "r") return watch(await fs.open(...parameters));
		if (parameters[1] !== "wx" && parameters[1] !== "a") return fs.open(...parameters);
		step("open");
		return watch(await fs.open(...parameters));
	};
	const watch = (handle: FileHandle): FileHandle => {
		const write = async (content: Uint8Array | string) => {
			const bytes = Buffer.from(content);
			const half = bytes.length >> 1;
			step("write");
			await fs.writeFile(handle, bytes.subarray(0, half));
			step("write");
			await fs.writeFile(handle, bytes.subarray(half));
		};
		return new Proxy(handle, {
			get(target, name) {
				if (name === "writeFile") return write;
				// No test cuts the power.
				if (name === "sync") return counted("sync", async () => {});
				const value: unknown = Reflect.get(target, name, target);
				return typeof value === "function" ? value.bind(target) : value;
			},
		});
	};
	return {
		...fs,
		open,
		rename: counted("rename", fs.rename),
		rm: counted("rm", fs.rm),
	};
}
