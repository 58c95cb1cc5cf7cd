import { join } from "node:path";
import { projectFolder } from "../../scripts/command-line/project.js";

/**
 * Shell lines for a fake mcconfig: makefile and link map of a build to `$out` for `$host`, whose only C source is
 * linked.
 */
export const writeLinkMap = `
mkdir -p "$out/tmp/esp32/$host/release/device" "$out/bin/esp32/$host/release/device"
echo '$(TMP_DIR)/a.c.o: ${join(projectFolder, "hosts", "a.c")} $(HEADERS)' > "$out/tmp/esp32/$host/release/device/makefile"
printf '\\nLinker script and memory map\\n .text 0x400d0020 0x10 xs_esp32.a(a.c.o)\\n' > "$out/bin/esp32/$host/release/device/xs_esp32.map"
`;
