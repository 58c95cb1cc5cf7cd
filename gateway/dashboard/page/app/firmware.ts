/** Firmware that the gateway offers, loaded when a view needs it and shared by all views. */

import { compareVersions } from "../../../api/channels.js";
import { problemDetail } from "../../../api/client/request.js";
import type { Catalog, UploadStatus } from "../../../api/firmware.js";
import { offeredReleases } from "../../../api/offered-releases.js";
import { type FindUpdate, type Firmware, firmwareOf, updatesOf } from "../model/outdated.js";
import { request } from "./gateway.js";
import { Resource } from "./resource.js";

export interface Upload {
	/** `waiting` until the gateway can be reached. */
	readonly name: "waiting" | "sending" | "checking" | "rejected" | "accepted";
	readonly filename: string;
	/** Percentage of the file that was sent. */
	readonly percent?: number;
	/** Reason of the rejection. */
	readonly reason?: string;
}

export class FirmwareStore {
	readonly #onChanged: () => void;
	readonly #isLive: () => boolean;
	readonly #known: Resource<{ readonly catalog: Catalog; readonly status: UploadStatus }>;
	/** Releases with the images that the gateway offers. */
	offered: Catalog | undefined;
	/** Finds updates in the current catalog; a new function for each catalog. */
	findUpdate: FindUpdate = updatesOf(undefined);
	upload: Upload | undefined;
	#sending: XMLHttpRequest | undefined;
	/** Sends the waiting file, once the gateway can be reached again. */
	onLive = () => {};

	/** @param isLive whether the gateway can be reached */
	constructor(onChanged: () => void, isLive: () => boolean) {
		this.#onChanged = onChanged;
		this.#isLive = isLive;
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

	/** Uploads the chosen file with its signature, if any, once the gateway can be reached. */
	selectFiles(files: readonly File[]): void {
		const isSignature = ({ name }: File) => name.endsWith(".sig");
		const [file, signature] = [files.find((each) => !isSignature(each)), files.find(isSignature)];
		const { name: filename } = file ?? signature ?? {};
		if (filename === undefined) return;
		this.#sending?.abort();
		this.#sending = undefined;
		this.onLive = () => {};
		if (!file)
			this.upload = {
				name: "rejected",
				filename,
				reason: "select the .bin file together with its .sig file.",
			};
		else if (this.#isLive()) return this.#upload(file, signature);
		else {
			this.upload = { name: "waiting", filename };
			this.onLive = () => this.selectFiles(files);
		}
		this.#onChanged();
	}

	/** Uploads with XMLHttpRequest, since fetch does not report progress. */
	#upload(file: File, signature: File | undefined): void {
		const { name: filename } = file;
		const request = new XMLHttpRequest();
		const form = new FormData();
		form.append("firmware", file);
		if (signature) form.append("signature", signature);
		const show = (upload: Upload) => {
			if (this.#sending !== request) return;
			this.upload = upload;
			this.#onChanged();
		};
		request.upload.addEventListener("progress", ({ loaded, total }) => {
			show({ name: "sending", filename, percent: Math.floor((100 * loaded) / (total || 1)) });
		});
		request.upload.addEventListener("load", () => show({ name: "checking", filename }));
		request.addEventListener("load", () => {
			if (request.status === 201) show({ name: "accepted", filename });
			else show({ name: "rejected", filename, reason: problemDetail(request.status, request.responseText) });
			void this.refresh();
		});
		request.addEventListener("error", () => {
			show({ name: "rejected", filename, reason: "Connection to the gateway lost. Upload the file again." });
		});
		this.#sending = request;
		show({ name: "sending", filename, percent: 0 });
		request.open("POST", "ota/upload");
		request.send(form);
	}
}
