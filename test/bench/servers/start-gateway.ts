/** Starts the gateway's process with the Node options of `npm start`. */

import { readFileSync } from "node:fs";
import { Child } from "../child.js";
import type { GatewayServer } from "./gateway-server.js";

export function startGateway(): Child<GatewayServer> {
	const packageFile = new URL("../../../package.json", import.meta.url);
	const { scripts }: { scripts: { start: string } } = JSON.parse(readFileSync(packageFile, "utf8"));
	const nodeOptions = scripts.start.split(" ").filter((word) => word.startsWith("--") && word !== "--import");
	return new Child("servers/gateway-server.ts", { nodeOptions });
}
