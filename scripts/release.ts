/** `npm run release`: builds the images of a version and adds them to the releases folder, which a running gateway serves immediately. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { channelOf } from "../gateway/api/channels.js";
import { readSettings } from "../gateway/settings.js";
import { needBoardTools } from "./boards/tools.js";
import { type Arguments, onlyArgument, runCommand } from "./command-line/command.js";
import { Problems } from "./command-line/problems.js";
import { projectFolder } from "./command-line/project.js";
import { formatReleaseKeys, givenReleaseKeys } from "./command-line/release-keys.js";
import { anyVersionFlag } from "./moddable/sdk.js";
import { addRelease, type InstallableImage, readCatalog, requireNew } from "./release/folder.js";
import { buildReleaseImages, makeVirtualImages } from "./release/images.js";
import { prepareSigning } from "./release/signing.js";

const usage = `Usage: npm run release -- <version> [--channel beta] [--key release-key.pem] [--notes "what is new"] [--allow-dirty] [--any-version]

Builds the images of a version, such as 1.4.0 or 1.5.0-rc.1, and adds them to RELEASES_DIR (default releases). Images for boards
are built only if the Moddable SDK and ESP-IDF are found, those for virtual devices always. Devices with one of the three
previous releases download a patch instead of the image if it is less than half as large.

  --channel       channel such as beta; default: stable, or none for a prerelease. Standing rollouts follow the releases of their
                  channel; devices that request the latest release get the one of stable
  --key           private key that signs the images (see npm run keygen). Their firmware then accepts only firmware signed by a key
                  in RELEASE_KEYS, a file with one or two public keys; default: the public key of this key
  --notes         release notes
  --allow-dirty   allow uncommitted changes
  --any-version   allow other versions of the Moddable SDK and ESP-IDF than npm run doctor requires`;

const options = {
	channel: { type: "string" },
	key: { type: "string" },
	notes: { type: "string", default: "" },
	"allow-dirty": { type: "boolean", default: false },
	[anyVersionFlag]: { type: "boolean", default: false },
} as const;

await runCommand({ name: "release", usage, options, allowPositionals: true, run });

async function run({ values, positionals }: Arguments<typeof options>): Promise<void> {
	const version = onlyArgument(positionals, "Specify one version.");
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
	if (problems.areFound || !sdk) console.log(`Skipping images for boards: ${problems.asError().message}`);
	else
		images.push(
			...(await buildReleaseImages(join(projectFolder, ".cache", "esp32"), { sdk, version, releaseKeys })),
		);

	const date = now.toISOString().slice(0, 10);
	const onSkipped = (sentence: string) => console.log(sentence);
	const added = { version, channel, date, notes, images, ...(sign && { sign }), onSkipped };
	const catalog = await addRelease(releasesDir, added);
	const release = catalog.releases.find((candidate) => candidate.version === version);
	for (const { model, chip, path, size, patches = [] } of release?.images ?? []) {
		console.log(`${model} (${chip})  ${path}  ${size} bytes`);
		for (const { from_version: from, size: patch } of patches)
			console.log(`  patch from ${from}: ${patch} bytes (${((patch / size) * 100).toFixed(1)} %)`);
	}
	console.log(
		sign
			? `Signed; contains ${signing.releaseKeys.length === 1 ? "one public key" : "two public keys"}.`
			: "Not signed (--key): devices that run it accept any firmware.",
	);
	const named = channelOf({ version, channel });
	const where = `${releasesDir}${named === undefined ? "" : `, channel ${named}`}`;
	console.log(`Added release ${version} to ${where}. Latest release: ${catalog.latest ?? "none"}.`);
}

/** Requires that the release can be traced to a commit. @throws Error */
function requireCleanTree(): void {
	let changes: string;
	try {
		changes = execFileSync("git", ["status", "--porcelain"], {
			cwd: projectFolder,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "ignore"],
		});
	} catch {
		throw new Error(
			"Not a git checkout, so the release cannot be traced to a commit. Use --allow-dirty to release anyway.",
		);
	}
	if (changes !== "") throw new Error(`Uncommitted changes. Commit them, or use --allow-dirty:\n${changes}`);
}
