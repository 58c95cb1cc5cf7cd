/** Speaks the text on standard input with `say` of macOS, as WAV on standard output. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "say-"));
try {
	const file = join(folder, "speech.wav");
	const format = ["--file-format=WAVE", "--data-format=LEI16@22050"];
	execFileSync("say", ["-o", file, ...format, "-f", "-"], { stdio: ["inherit", "ignore", "inherit"] });
	process.stdout.write(readFileSync(file));
} finally {
	rmSync(folder, { recursive: true });
}
