import type { Row } from "./row.js";
export async function run(): Promise<readonly Row[]> {
	return [];
}
