/** What a virtual device starts with: as on a board, the host puts `device` there, then the firmware's main is called. */

import main from "main";
import config from "mc/config";
import provide from "./provider.js";

export default function boot(): void {
	const device = provide(config.model === "PROTO-1" ? "PROTO-1" : "DEV-1");
	Object.defineProperty(globalThis, "device", { value: device });
	main();
}
