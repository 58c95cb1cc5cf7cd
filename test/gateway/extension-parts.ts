/**
 * Files and folders to delete with each extension, besides its folders gateway/<name>/ and test/gateway/<name>/.
 */

const ofReplacement = ["test/gateway/replacement", "test/system/replacement.test.ts"] as const;

export const extensionParts = {
	guard: [],
	replacement: ["test/browser/replacement.long.test.ts", ...ofReplacement],
	fleet: [
		"test/browser/fleet.long.test.ts",
		"test/browser/home.long.test.ts",
		"test/browser/issues.long.test.ts",
		...ofReplacement,
		"test/system/backup.test.ts",
		"test/support/monitor-view.ts",
		"test/system/torment.long.test.ts",
		// Compares events with /api/devices.
		"test/torment",
	],
	rollouts: [
		...ofReplacement,
		"test/system/backup.test.ts",
		"scripts/rollout.ts",
		"scripts/rollout",
		"test/browser/rollout.long.test.ts",
		"test/gateway/cluster/shared-rollouts.test.ts",
		"test/scripts/rollout.long.test.ts",
		"test/scripts/rollout.test.ts",
		"test/system/rollout.test.ts",
	],
	announcements: [
		"test/system/backup.test.ts",
		"test/system/schedules.test.ts",
		"scripts/say.ts",
		"scripts/say",
		"test/bench/load/listeners.ts",
		"test/browser/announce.long.test.ts",
		"test/bench/sound.ts",
		"test/scripts/say.test.ts",
		"test/system/announcement-queue.test.ts",
	],
	commands: ofReplacement,
	wifi: ["test/browser/settings.long.test.ts"],
	cluster: [
		"test/system/backup-on-bus.test.ts",
		"test/system/backup-on-bus.long.test.ts",
		"test/gateway/announcements/cluster.test.ts",
		"test/gateway/webhooks/cluster.test.ts",
		"test/gateway/commands/cluster.test.ts",
		"test/gateway/fleet/issues-cluster.test.ts",
		"test/gateway/fleet/crash-causes-cluster.test.ts",
		"test/gateway/wifi/cluster.test.ts",
		"test/bench/cluster.ts",
		"test/gateway/home-assistant/cluster.test.ts",
		"test/gateway/replacement/cluster.test.ts",
		"test/gateway/schedules/cluster.test.ts",
		"test/support/gateway-cluster.ts",
		"test/support/nats.ts",
		"test/support/nats-credentials.ts",
		"test/system/cluster.long.test.ts",
	],
	audit: ["test/browser/settings.long.test.ts", "test/scripts/backup.test.ts", "test/system/backup.test.ts"],
	webhooks: ["test/browser/webhooks.long.test.ts"],
	"home-assistant": [
		"test/support/home-assistant",
		"test/support/mosquitto.ts",
		"test/system/home-assistant.test.ts",
	],
	dashboard: [
		"scripts/demo.ts",
		"scripts/demo",
		"scripts/screenshots.ts",
		"test/bench/dashboard.ts",
		"test/browser",
		"test/gateway/cluster/page.long.test.ts",
		"test/scripts/demo.test.ts",
		"test/support/demo.ts",
		"test/system/demo.long.test.ts",
	],
	schedules: [
		...ofReplacement,
		"test/system/backup.test.ts",
		"test/browser/schedules.long.test.ts",
		"test/system/schedules.test.ts",
	],
	discovery: ["test/system/found-gateway.ts", "test/system/found-gateway.long.test.ts"],
	backup: [
		"test/system/replacement.test.ts",
		"scripts/backup.ts",
		"scripts/restore.ts",
		"scripts/backup",
		"test/scripts/backup.test.ts",
		"test/system/backup.test.ts",
		"test/browser/settings.long.test.ts",
		"test/system/backup-format-1.tar.gz",
		"test/system/backup-on-bus.test.ts",
		"test/system/backup-on-bus.long.test.ts",
	],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ExtensionName = keyof typeof extensionParts;

export function isExtension(name: string): name is ExtensionName {
	return name in extensionParts;
}

/** All paths deleted with the extension. */
export function pathsOf(name: ExtensionName): readonly string[] {
	return [`gateway/${name}`, `test/gateway/${name}`, ...extensionParts[name]];
}

/** Files with lines about extensions or their parts. */
export const lists = ["gateway/extensions.ts", "test/bench/main.ts", "package.json"];
