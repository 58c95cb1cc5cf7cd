import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { thisMachine } from "../../scripts/command-line/machine.js";
import { projectFolder } from "../../scripts/command-line/project.js";
import { findSdk, type ModdableSdk } from "../../scripts/moddable/sdk.js";

export interface FakeSdk {
	readonly sdk: ModdableSdk;
	/** Arguments of all calls of mcconfig. */
	readonly calls: () => string;
}

export interface FakeSdkOptions {
	/** Empty folder for the SDK. */
	readonly folder: string;
	/** Image of each host under hosts/. */
	readonly images: Readonly<Record<string, Uint8Array>>;
	/** Further shell lines of mcconfig: `$bin` has the image, `$build` the makefile; `$folder/calls` receives its calls. */
	readonly more?: string;
	readonly environment?: Readonly<Record<string, string>>;
}

/** Creates an SDK whose mcconfig writes a given image, and the makefile and link map of a build with one C source. */
export function fakeSdk({ folder, images, more = "", environment }: FakeSdkOptions): FakeSdk {
	for (const [host, image] of Object.entries(images)) writeFileSync(join(folder, `${host}.bin`), image);
	mkdirSync(join(folder, "tools"));
	writeFileSync(join(folder, "tools", "mcconfig.js"), "");
	for (const desktop of ["lin", "mac"])
		writeScript(
			join(folder, "build", "bin", desktop, "release", "mcconfig"),
			`folder="${folder}"
echo "$@" "SDKCONFIGPATH=$SDKCONFIGPATH" >> "$folder/calls"
while [ $# -gt 0 ]; do
	case $1 in -p) host=\${2##*/};; -o) out=$2;; esac
	shift
done
bin="$out/bin/esp32/boards/release/device"
build="$out/tmp/esp32/boards/release/device"
mkdir -p "$bin" "$build"
cp "$folder/$host.bin" "$bin/xs_esp32.bin"
for part in bootloader partition-table ota_data_initial; do echo $part > "$bin/$part.bin"; done
echo '$(TMP_DIR)/a.c.o: ${join(projectFolder, "hosts", "a.c")} $(HEADERS)' > "$build/makefile"
printf '\\nLinker script and memory map\\n .text 0x400d0020 0x10 xs_esp32.a(a.c.o)\\n' > "$bin/xs_esp32.map"
${more}
`,
		);
	const machine = thisMachine({ ...process.env, ...environment, MODDABLE: folder });
	const sdk = findSdk(machine, { isAnyVersion: true });
	return { sdk, calls: () => readFileSync(join(folder, "calls"), "utf8") };
}

/** Writes a program for the shell. */
export function writeScript(path: string, text: string): void {
	mkdirSync(join(path, ".."), { recursive: true });
	writeFileSync(path, `#!/bin/sh\n${text}`);
	chmodSync(path, 0o755);
}
