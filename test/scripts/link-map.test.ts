/** Link map check of a build, on maps of this computer's linker. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findUnlinkedSources } from "../../scripts/boards/link-map.js";
import { projectFolder } from "../../scripts/command-line/project.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { pathOf, whyMissing } from "../support/programs.js";

const sources = {
	"main.c":
		"void used(void); void collected(void); void unreached(void) { collected(); } int main(void) { used(); }",
	"used.c": "void used(void) {}",
	// Like ESP_SYSTEM_INIT_FN: kept by the linker script once the file is linked.
	"start.c": '__attribute__((used, retain, section("start_functions"))) static int start = 1;',
	"collected.c": "void collected(void) {}",
	"nothing.c": "",
};
const referred = { "start.c": `${sources["start.c"]} void used(void) { start = 2; }`, "used.c": "" };

/** mcconfig's makefile and the linker's map, with the files of the SDK's archive except main.c. */
async function link(folder: string, files: Readonly<Record<string, string>>) {
	await mkdir(folder, { recursive: true });
	const run = (program: string, ...words: readonly string[]) => execFileSync(program, words, { cwd: folder });
	const objects = Object.keys(files).map((file) => `${file}.o`);
	for (const [file, text] of Object.entries(files)) {
		await writeFile(join(folder, file), text);
		run(pathOf("C compiler"), "-ffunction-sections", "-g", "-fno-pie", "-c", file, "-o", `${file}.o`);
	}
	run("ar", "rcs", "xs_esp32.a", ...objects.filter((object) => object !== "main.c.o"));
	const options = ["-no-pie", "-Wl,--gc-sections", "-Wl,-Ttext-segment=0x40000000", "-Wl,-Map=map"];
	run(pathOf("C compiler"), ...options, "main.c.o", "xs_esp32.a", "-o", "program");
	const rules = Object.keys(files)
		.filter((file) => file !== "main.c")
		.map(
			(file) =>
				`$(TMP_DIR)/${file}.o: ${join(projectFolder, "hosts", file)} $(HEADERS) | $(TMP_DIR)/mc.xs.c\n`,
		);
	const others = "$(TMP_DIR)/sdk.c.o: /moddable/modules/sdk.c $(HEADERS) | $(TMP_DIR)/mc.xs.c\n";
	return { makefile: `${rules.join("")}${others}`, map: await readFile(join(folder, "map"), "utf8") };
}

test("names each C source of the project from which nothing was linked", {
	skip: process.platform === "linux" ? whyMissing("C compiler") : "needs GNU ld",
}, async (t) => {
	const folder = await temporaryDirectory(t);
	const { makefile, map } = await link(join(folder, "a"), sources);
	assert.deepEqual(
		findUnlinkedSources(makefile, map),
		["start.c", "collected.c", "nothing.c"].map((file) => join("hosts", file)),
	);
	const fixed = await link(join(folder, "b"), {
		"main.c": "void used(void); int main(void) { used(); }",
		...referred,
	});
	assert.deepEqual(findUnlinkedSources(fixed.makefile, fixed.map), [join("hosts", "used.c")]);
	assert.throws(() => findUnlinkedSources("", map), /contains no C sources/);
	assert.throws(() => findUnlinkedSources(makefile, ""), /contains no C sources/);
});
