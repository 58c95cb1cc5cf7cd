/** Extensions, and the files and folders to delete with each of them. */

import { existsSync, readdirSync } from "node:fs";
import { entryOf } from "../../device/protocol/schema.js";

/** Folders of the core; all others in gateway/ are extensions. */
export const coreFolders = [
	...["access", "api", "firmware", "http", "jobs", "services", "sessions", "sockets", "uplinks", "storage"],
	"telemetry",
];

const browser = (...names: readonly string[]) => names.map((name) => `test/browser/${name}.long.test.ts`);
const system = (...names: readonly string[]) => names.map((name) => `test/system/${name}.test.ts`);
const scripts = (...names: readonly string[]) =>
	names.flatMap((name) => [`scripts/${name}.ts`, `scripts/${name}`, `test/scripts/${name}.test.ts`]);
const ofClusters = readdirSync("test/gateway", { recursive: true, encoding: "utf8" })
	.filter((file) => /\bcluster\.test\.ts$/.test(file) && !file.startsWith("cluster"))
	.map((file) => `test/gateway/${file}`);

/** Parts besides gateway/<name>/ and test/gateway/<name>/. */
const extensionParts: Readonly<Record<string, readonly string[]>> = {
	replacement: browser("replacement"),
	// The torment compares events with /api/devices.
	fleet: [
		...browser("fleet", "home", "issues", "settings"),
		...system("backup"),
		...["test/gateway/audit", "test/gateway/inherited-names.test.ts", "test/gateway/replacement"],
		...["test/support/monitor-view.ts", "test/torment"],
	],
	rollouts: [
		...browser("rollout"),
		...system("backup"),
		...["scripts/rollout.ts", "scripts/rollout", "test/scripts/rollout.long.test.ts"],
		"test/gateway/replacement",
		"test/gateway/cluster/shared-rollouts.test.ts",
	],
	announcements: [
		...browser("announce"),
		...system("backup", "announcement-queue"),
		...scripts("say"),
		...["test/bench/load/players.ts", "test/bench/sound.ts"],
	],
	commands: ["test/gateway/replacement"],
	cluster: [
		...ofClusters,
		...system("backup-on-bus", "backup-on-bus.long", "cluster.long"),
		...["test/bench/cluster.ts", "test/support/gateway-cluster.ts"],
		...["test/support/nats.ts", "test/support/nats-credentials.ts"],
	],
	audit: [...browser("settings"), ...system("backup"), "test/scripts/backup.test.ts"],
	webhooks: browser("webhooks"),
	"home-assistant": [
		...["test/support/home-assistant", "test/support/mosquitto.ts"],
		...system("home-assistant"),
	],
	dashboard: [
		...["test/browser", "test/gateway/cluster/page.long.test.ts"],
		...scripts("demo"),
		...["scripts/screenshots.ts", "test/bench/dashboard.ts", "test/support/demo.ts"],
		...system("demo.long"),
	],
	schedules: ["test/gateway/replacement", ...system("backup"), ...browser("schedules")],
	discovery: ["test/system/found-gateway.ts", ...system("found-gateway.long")],
	backup: [
		...browser("settings"),
		...system("backup", "backup-on-bus", "backup-on-bus.long"),
		...scripts("backup"),
		...["scripts/restore.ts", "test/support/backups.ts", "test/system/backup-format-1.tar.gz"],
	],
};

/** Names of all extensions, removed ones included if they have other parts. */
export const extensionNames: readonly string[] = [
	...new Set([
		...readdirSync("gateway").filter(
			(name) => !coreFolders.includes(name) && existsSync(`gateway/${name}/extension.ts`),
		),
		...Object.keys(extensionParts),
	]),
];

/** All paths deleted with the extension. */
export function pathsOf(name: string): readonly string[] {
	return [`gateway/${name}`, `test/gateway/${name}`, ...(entryOf(extensionParts, name) ?? [])];
}

/** Files with lines about extensions or their parts. */
export const lists = ["gateway/extensions.ts", "test/bench/main.ts", "package.json"];
