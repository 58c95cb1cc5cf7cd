/** Firmware that the gateway offers, loaded when a view needs it and shared by all views. */

import { compareVersions } from "../../../api/channels.js";
import { problemDetail } from "../../../api/client/request.js";
import type { Catalog, UploadStatus } from "../../../api/firmware.js";
import { offeredReleases } from "../../../api/offered-releases.js";
import { type FindUpdate, type Firmware, firmwareOf, updatesOf } from "../model/outdated.js";
import { request } from "./gateway.js";
import { Resource } from "./resource.js";

export class FirmwareStore {
	readonly #known: Resource<{ readonly catalog: Catalog; readonly status: UploadStatus }>;
	/** Releases with the images that the gateway offers. */
	offered: Catalog | undefined;
	/** Finds updates in the current catalog; a new function for each catalog. */
	findUpdate: FindUpdate = updatesOf(undefined);

	constructor(onChanged: () => void) {
		const read = async () => {
			const [catalog, status] = await Promise.all([request("GET /ota/catalog"), request("GET /ota/status")]);
			const releases = [...catalog.releases].sort((a, b) => compareVersions(b.version, a.version) ?? 0);
			const sorted: Catalog = { ...catalog, releases };
			return { catalog: sorted, status };
		};
		this.#known = new Resource(read, (known) => {
			if (known) {
				this.offered = offeredReleases(known.catalog, known.status.signature_required);
				this.findUpdate = updatesOf(this.offered);
			}
			onChanged();
		});
	}

	/** All releases, the newest first. */
	get catalog(): Catalog | undefined {
		return this.#known.value?.catalog;
	}

	get status(): UploadStatus | undefined {
		return this.#known.value?.status;
	}

	/** Error of the latest request; empty after a success. */
	get problem(): string {
		return this.#known.problem;
	}

	refresh(): Promise<void> {
		return this.#known.refresh();
	}

	/** All firmware that a device can be updated to. */
	get choices(): readonly Firmware[] {
		return firmwareOf(this.offered, this.status);
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
