/** Statistics of the slowest test files. */

const listed = 10;

export class Slowest {
	readonly #msByFile = new Map<string, number>();

	/** @param ms duration of one test */
	add(file: string, ms: number): void {
		this.#msByFile.set(file, (this.#msByFile.get(file) ?? 0) + ms);
	}

	format(): string {
		const files = [...this.#msByFile].sort(([, a], [, b]) => b - a).slice(0, listed);
		const lines = files.map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
		return ["Slowest files:", ...lines].join("\n");
	}
}
