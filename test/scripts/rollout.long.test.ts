import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { callCommand, runCommand } from "../support/command-line.js";
import {
	getRollout,
	postRolloutAction,
	putRollout,
	quickPlan,
	rolloutIds,
	runReleasedFleet,
} from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken } from "../support/running.js";
import type { ScriptedDeviceOptions, UpdateOutcome } from "../support/scripted-device.js";

async function setUp(t: TestContext, devices: readonly Partial<ScriptedDeviceOptions>[]) {
	const released = await runReleasedFleet(t, devices);
	const rollout = (...words: readonly string[]) =>
		runCommand(t, "scripts/rollout.ts", [...words, "--gateway", released.url], {
			MONITOR_TOKEN: monitorToken,
		});
	const environment = { MONITOR_TOKEN: monitorToken };
	const call = (...words: readonly string[]) =>
		callCommand("scripts/rollout.ts", ["--gateway", released.url, ...words], environment);
	return { ...released, rollout, call };
}

function some(count: number, ending: UpdateOutcome) {
	return Array.from({ length: count }, () => ({ ending }) as const);
}

const quick = ["--model", "dev-1", "--soak", "0", "--yes"];

describe("npm run rollout", () => {
	test("updates all devices of a model group by group and exits with 0", async (t) => {
		const { fleet, url, call } = await setUp(t, [...some(4, "updates"), { version: "1.4.0" }]);
		const words = ["1.4.0", ...quick, "--canary", "1", "--concurrency", "3"];
		const { code, output: printed } = await call(...words);
		assert.equal(code, 0, printed);
		assert.match(printed, /^5 devices, 1 already up to date\.\nPlan: first 1 device, 3 at a time/);
		assert.match(printed, /then the rest, 3 at a time, pauses at 10% failures\.\n/);
		assert.match(printed, /Rollout 1\.4\.0-[0-9a-f]{6} started\./);
		assert.match(printed, /\nFinished {2}100 % {2}4 updated, 1 already up to date\n$/);
		const counts = fleet.map(({ commands }) => commands.length);
		assert.deepEqual(counts, [1, 1, 1, 1, 0]);
		const [id = ""] = await rolloutIds(url);
		assert.ok(printed.includes(id), `the output lacks ${id}: ${printed}`);
	});

	test("exits with 1 when failures stop it, with each reason and how to continue", async (t) => {
		const { call } = await setUp(t, some(5, "rolls back"));
		const { code, output } = await call("1.4.0", ...quick, "--canary", "2");
		assert.equal(code, 1);
		const reason = "rolled back: The device reverted to 1.2.3; the new firmware ended: crashed.\n";
		for (const device of ["dev-1-000000", "dev-1-000001"])
			assert.equal(output.split(`${device} ${reason}`).length, 2, output);
		assert.match(output, /Paused: too many failures, group 1 of 2/);
		const hint = /npm run rollout -- --resume (1\.4\.0-[0-9a-f]{6}); retry the failed devices with /;
		assert.match(output, hint);
		const [, id = ""] = hint.exec(output) ?? [];
		assert.match((await call("--retry", id)).output, /Running: /, "a retry also resumes");
	});

	test("prints the remaining soak time, even when watching starts later", async (t) => {
		const { rollout, url } = await setUp(t, some(1, "updates"));
		const words = ["--model", "dev-1", "--soak", "3600", "--canary", "0", "--yes"];
		const command = rollout("1.4.0", ...words);
		const watched = /0 % {2}1 runs 1\.4\.0 \(watched for another (1 h 0 min|59 min \d+ s)\)\n/;
		await command.printed(watched);
		const [id = ""] = await rolloutIds(url);
		await rollout("--watch", id).printed(watched);
	});

	test("exits with 2 if it ended without some devices, and with 3 if it was canceled", async (t) => {
		const { url, fleet, rollout } = await setUp(t, [{ ending: "rolls back" }, { ending: "waits" }]);
		const target = { devices: ["dev-1-000000", "dev-1-000001"] };
		const groups = [{ size: "rest", soakSeconds: 0, errorThreshold: { count: 2 } }];
		await putRollout(url, "two", quickPlan({ target, groups }));
		const command = rollout("--watch", "two");
		await command.printed(/dev-1-000000 rolled back/);
		await fleet[1]?.finish("updates");
		assert.equal(await command.exitCode, 2, command.output());
		assert.match(command.output(), /Finished, 1 failed/);
		assert.equal(command.output().split("dev-1-000000 rolled back").length, 2, "printed once");
		await putRollout(
			url,
			"later",
			quickPlan({ startsAt: "2036-01-01T00:00:00Z", deadline: "2036-02-01T00:00:00Z" }),
		);
		const watching = rollout("--watch", "later");
		await watching.printed(/^Scheduled/);
		await postRolloutAction(url, "later", "cancel");
		assert.equal(await watching.exitCode, 3);
	});

	test("leaves the rollout running at Ctrl-C, and later calls control and watch it", async (t) => {
		const { url, fleet, rollout, call } = await setUp(t, some(2, "waits"));
		const command = rollout("1.4.0", ...quick, "--canary", "1", "--approval");
		await command.printed(/Running, group 1 of 2/);
		await fleet[0]?.offered;
		command.process.kill("SIGINT");
		assert.equal(await command.exitCode, 130);
		const [id = ""] = await rolloutIds(url);
		assert.ok(command.output().includes(`npm run rollout -- --watch ${id}`), command.output());

		const control = async (...words: readonly string[]) => {
			const { code, output } = await call(...words);
			assert.equal(code, 0, output);
			return output;
		};
		assert.match(await control("--pause", id), /Paused: 1 waiting, 1 (offered|downloading)/);
		assert.match(await control("--resume", id), /Running: /);
		const watching = rollout("--watch", id);
		await fleet[0]?.finish("updates");
		await watching.printed(new RegExp(`Group 2 waits for approval: npm run rollout -- --approve ${id}`));
		await control("--approve", id);
		await watching.printed(/Running, group 2 of 2/);
		await fleet[1]?.offered;
		await fleet[1]?.finish("updates");
		assert.equal(await watching.exitCode, 0);
		assert.match(await control("--list"), new RegExp(`^${id}  1\\.4\\.0  Finished: 2 updated\\n$`));
		await control("--delete", id);
		assert.equal(await control("--list"), "No rollouts.\n");
	});

	test("waits while the gateway is away and continues when it is back", async (t) => {
		const { url, fleet, stopGateway, rollout } = await setUp(t, some(1, "waits"));
		await putRollout(url, "autumn");
		const watching = rollout("--watch", "autumn");
		await watching.printed(/Running/);
		await fleet[0]?.offered;
		const startAgain = await stopGateway();
		await watching.printed(/^Gateway unreachable at http:\/\/127\.0\.0\.1:\d+: .+\. Retrying\.$/m);
		await startAgain();
		await fleet[0]?.connect();
		await fleet[0]?.finish("updates");
		assert.equal(await watching.exitCode, 0);
		assert.equal((await getRollout(url, "autumn")).status, "finished");
	});

	test("stands for devices with tags, and exits once the present ones have the channel's latest release", async (t) => {
		const { url, fleet, releasesDir, call } = await setUp(t, some(2, "updates"));
		const image = { model: "DEV-1", chip: "esp32s3" } as const;
		await writeReleases(releasesDir, [
			{ ...image, version: "1.4.0" },
			{ ...image, version: "1.5.0", channel: "beta" },
		]);
		const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
		const body = JSON.stringify({ tags: ["shop"] });
		await fetch(`${url}/api/devices/dev-1-000000`, { method: "PATCH", headers, body });
		const words = ["--channel", "beta", "--tags", "shop and not test", "--standing", "--soak", "0", "--yes"];
		const { code, output: printed } = await call(...words);
		assert.equal(code, 0, printed);
		assert.match(printed, /; includes new devices and new releases of beta\.\n/);
		assert.match(printed, /Rollout beta-[0-9a-f]{6} started\./);
		assert.match(printed, /\nWaiting for new devices, group 1 of 2 {2}100 % {2}1 updated\n$/);
		assert.deepEqual(
			fleet.map(({ commands }) => commands.map(({ url: from }) => /v(1\.\d\.0)/.exec(String(from))?.[1])),
			[["1.5.0"], []],
		);
		const { output } = await call("--list");
		assert.match(output, /^beta-[0-9a-f]{6} {2}1\.5\.0 {2}Waiting for new devices: 1 updated\n$/);
	});

	test("rejects words that the gateway or the command cannot use, names the option and starts nothing", async (t) => {
		const { url, call } = await setUp(t, some(1, "waits"));
		for (const [words, message] of [
			[["9.9.9", ...quick], /^firmware\.version: .*9\.9\.9/],
			[["1.4.0", ...quick, "--concurrency", "many"], /^groups\.0\.concurrency must be/],
			[
				["--channel", "beta", ...quick],
				/^firmware\.channel: The channel "beta" has no release\. Channels with releases: stable\./,
			],
			[["1.4.0", "--tags", "shop,", "--yes"], /^target\.tags: At character 1: write /],
			[["--watch", "unknown"], /unknown/],
			[["1.4.0", "--model", "dev-1"], /No terminal for the confirmation\. Confirm with --yes\./],
			[[], /Specify one version, --channel, or one of/],
			[["1.4.0", "--list"], /Specify one version, --channel, or one of/],
			[["1.4.0", "--channel", "beta"], /Specify one version, --channel, or one of/],
			[["1.4.0"], /Specify the devices with --model, --tags, --all or --devices\./],
			[["1.4.0", "--model", "dev-9"], /--model must be dev-1 or proto-1, not "dev-9"/],
			[["--list", "--gateway", "here"], /--gateway must be an address/],
		] as const) {
			const { code, output } = await call(...words);
			assert.equal(code, 1);
			assert.match(output, message);
			assert.doesNotMatch(output, /^ +at /m);
		}
		assert.deepEqual(await rolloutIds(url), []);
	});
});
