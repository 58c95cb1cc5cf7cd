/** Starts the gateway's process, or one that is compared with it, with the Node options of `npm start`. */

import { readFileSync } from "node:fs";
import { Child, type Handlers } from "../child.js";
import type { GatewayServer } from "./gateway-server.js";

export function startGateway(): Child<GatewayServer> {
	return startLikeGateway("servers/gateway-server.ts");
}

/** @param file as for `Child` */
export function startLikeGateway<H extends Handlers>(file: string): Child<H> {
	const packageFile = new URL("../../../package.json", import.meta.url);
	const { scripts }: { scripts: { start: string } } = JSON.parse(readFileSync(packageFile, "utf8"));
	const nodeOptions = scripts.start.split(" ").filter((word) => word.startsWith("--") && word !== "--import");
	return new Child(file, { nodeOptions });
}
