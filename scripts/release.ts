/** `npm run release`: builds the images of a version and adds them to the releases folder, which a running gateway serves immediately. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { channelOf } from "../gateway/api/channels.js";
import { readSettings } from "../gateway/settings.js";
import { needBoardTools } from "./boards/tools.js";
import { runCommand, UsageError } from "./command-line/command.js";
import { Problems } from "./command-line/problems.js";
import { projectFolder } from "./command-line/project.js";
import { formatReleaseKeys, givenReleaseKeys } from "./command-line/release-keys.js";
import { anyVersionFlag } from "./moddable/sdk.js";
import {
	addRelease,
	type InstallableImage,
	ReleaseRefused,
	readCatalog,
	requireNew,
} from "./release/folder.js";
import { buildReleaseImages, makeVirtualImages } from "./release/images.js";
import { prepareSigning } from "./release/signing.js";

const usage = `Usage: npm run release -- <version> [--channel beta] [--key release-key.pem] [--notes "what is new"] [--allow-dirty] [--any-version]

Builds the images of a version, such as 1.4.0 or 1.5.0-rc.1, and adds them to RELEASES_DIR, or releases. Images for virtual
devices are always built, those for boards and QEMU where the Moddable SDK and ESP-IDF are found. Devices that run one of the three
releases before it download a patch instead of the image, where it is less than half as large.

  --channel       such as beta; by default stable, and none for a pre-release. A standing rollout goes on to each later release
                  of its channel; devices that ask for the latest release get that of stable
  --key           signs the images; their firmware then takes only what is signed by a key of RELEASE_KEYS, a file with one or
                  two public keys, by default that of this key alone (npm run keygen makes one)
  --notes         shown with the release
  --allow-dirty   releases although there are changes that are not committed
  --any-version   builds images for boards also with another Moddable SDK or ESP-IDF than npm run doctor asks for`;

const options = {
	channel: { type: "string" },
	key: { type: "string" },
	notes: { type: "string", default: "" },
	"allow-dirty": { type: "boolean", default: false },
	[anyVersionFlag]: { type: "boolean", default: false },
} as const;

await runCommand({ name: "release", usage, options: Object.keys(options), run });

async function run(words: readonly string[]): Promise<void> {
	const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
	const [version] = positionals;
	if (version === undefined || positionals.length > 1) throw new UsageError("One version is needed.");
	const { channel, key, notes, "allow-dirty": allowDirty } = values;
	const { releasesDir } = readSettings({ RELEASES_DIR: process.env.RELEASES_DIR });
	requireNew(await readCatalog(releasesDir), { version, channel });
	const { sign, ...signing } = prepareSigning(key, givenReleaseKeys());
	const releaseKeys = formatReleaseKeys(signing.releaseKeys);
	if (!allowDirty) requireCleanTree();

	const now = new Date();
	const buildTime = Math.floor(now.getTime() / 1000);
	const images: (Uint8Array | InstallableImage)[] = [
		...(await makeVirtualImages(version, buildTime, releaseKeys)),
	];
	const problems = new Problems();
	const sdk = needBoardTools(problems, { isAnyVersion: values[anyVersionFlag] });
	if (problems.areFound || !sdk)
		console.log(`Without images for boards and QEMU: ${problems.asError().message}`);
	else
		images.push(...(await buildReleaseImages(join(projectFolder, ".cache"), { sdk, version, releaseKeys })));

	const date = now.toISOString().slice(0, 10);
	const onSkipped = (sentence: string) => console.log(sentence);
	const added = { version, channel, date, notes, images, ...(sign && { sign }), onSkipped };
	const catalog = await addRelease(releasesDir, added);
	const release = catalog.releases.find((candidate) => candidate.version === version);
	for (const { model, chip, path, size, patches = [] } of release?.images ?? []) {
		console.log(`${model} (${chip})  ${path}  ${size} bytes`);
		for (const { from_version: from, size: patch } of patches)
			console.log(`  for devices that run ${from}: ${patch} bytes (${((patch / size) * 100).toFixed(1)} %)`);
	}
	console.log(
		sign
			? `It is signed, and carries ${signing.releaseKeys.length === 1 ? "one public key" : "two public keys"}.`
			: "It is not signed (--key), and a device that runs it takes any firmware.",
	);
	const named = channelOf({ version, channel });
	const where = `${releasesDir}${named === undefined ? "" : `, channel ${named}`}`;
	console.log(`Release ${version} is in ${where}; the latest is ${catalog.latest ?? "none"}.`);
}

/** Requires that the release can be traced to a commit. @throws ReleaseError */
function requireCleanTree(): void {
	let changes: string;
	try {
		changes = execFileSync("git", ["status", "--porcelain"], {
			cwd: projectFolder,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "ignore"],
		});
	} catch {
		throw new ReleaseRefused(
			"this is not a git checkout, so the release could not be found by its commit; use --allow-dirty to release anyway",
		);
	}
	if (changes !== "")
		throw new ReleaseRefused(
			`there are changes that are not committed; commit them, or use --allow-dirty:\n${changes}`,
		);
}
