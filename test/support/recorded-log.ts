import { createLog } from "../../gateway/telemetry/log.js";

/** Log that keeps its lines. */
export function recordLog(level: Parameters<typeof createLog>[0] = "info") {
	const lines: Record<string, unknown>[] = [];
	return { lines, log: createLog(level, { write: (line) => void lines.push(JSON.parse(line)) }) };
}
