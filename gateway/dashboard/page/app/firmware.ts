/** Firmware that the gateway offers, loaded when a view needs it and shared by all views. */

import { compareVersions } from "../../../api/channels.js";
import { problemDetail } from "../../../api/client/request.js";
import type { Catalog } from "../../../api/firmware.js";
import { offeredReleases } from "../../../api/offered-releases.js";
import { type FindUpdate, type Firmware, firmwareOf, updatesOf } from "../model/outdated.js";
import { request } from "./gateway.js";
import { Resource } from "./resource.js";

async function readFirmware() {
	const [catalog, status] = await Promise.all([request("GET /ota/catalog"), request("GET /ota/status")]);
	const releases = [...catalog.releases].sort((a, b) => compareVersions(b.version, a.version) ?? 0);
	const sorted: Catalog = { ...catalog, releases };
	/** Releases with the images that the gateway offers. */
	const offered = offeredReleases(sorted, status.signature_required);
	return { catalog: sorted, status, offered, findUpdate: updatesOf(offered) };
}

const findNone = updatesOf(undefined);

export class FirmwareStore extends Resource<Awaited<ReturnType<typeof readFirmware>>> {
	constructor(onChanged: () => void) {
		super(readFirmware, onChanged);
	}

	/** All releases, the newest first. */
	get catalog(): Catalog | undefined {
		return this.value?.catalog;
	}

	/** Finds updates in the current catalog; a new function for each catalog. */
	get findUpdate(): FindUpdate {
		return this.value?.findUpdate ?? findNone;
	}

	/** All firmware that a device can be updated to. */
	get choices(): readonly Firmware[] {
		return firmwareOf(this.value?.offered, this.value?.status);
	}

	/** Latest release of the catalog. */
	get latest(): Firmware | undefined {
		const latest = this.catalog?.latest;
		return this.choices.find(({ selector }) => selector === latest);
	}

	/** Uploads a file with its signature, if any. @returns its name @throws {Error} that says why it was rejected */
	async upload(files: readonly File[]): Promise<string> {
		const isSignature = ({ name }: File) => name.endsWith(".sig");
		const [file, signature] = [files.find((chosen) => !isSignature(chosen)), files.find(isSignature)];
		if (!file) throw new Error("Select the .bin file together with its .sig file.");
		const form = new FormData();
		form.append("firmware", file);
		if (signature) form.append("signature", signature);
		const response = await fetch("ota/upload", { method: "POST", body: form }).catch((cause: unknown) => {
			throw new Error("Connection to the gateway lost. Upload the file again.", { cause });
		});
		if (!response.ok)
			throw new Error(`${file.name} was rejected: ${problemDetail(response.status, await response.text())}`);
		await this.refresh();
		return file.name;
	}
}
