/** The test files that were ended early, each with the test that it began last. */

export class Unfinished {
	readonly #begun = new Map<string, string>();
	readonly #files: string[] = [];

	/** To be called when a test begins. */
	begin(file: string, name: string): void {
		this.#begun.set(file, name);
	}

	/** To be called when a file has taken too long, or its process has ended early. */
	end(file: string): void {
		this.#files.push(file);
	}

	/** Empty if all files were done. */
	format(): string {
		return this.#files
			.map((file) => `${file} did not end; the last test that began: ${this.#begun.get(file) ?? "none"}\n`)
			.join("");
	}
}
