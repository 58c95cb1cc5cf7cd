/**
 * Routes of the firmware service on a free port of 127.0.0.1 without the rest of the gateway, on their own folder and
 * a disk that can fail.
 */

import fs from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from "node:http";
import { join } from "node:path";
import type { TestContext } from "node:test";
import express, { type ErrorRequestHandler } from "express";
import { AddressLimit } from "../../gateway/access/rates.js";
import type { Catalog } from "../../gateway/api/firmware.js";
import { createBinaries } from "../../gateway/firmware/binaries.js";
import { CatalogFile } from "../../gateway/firmware/catalog.js";
import type { ReleaseKeys } from "../../gateway/firmware/release-keys.js";
import { FirmwareRepository } from "../../gateway/firmware/repository.js";
import { createFirmwareRoutes } from "../../gateway/firmware/routes.js";
import { Selection } from "../../gateway/firmware/selection.js";
import { UploadStore, type UploadStoreOptions } from "../../gateway/firmware/upload-store.js";
import { createRouter } from "../../gateway/http/routes.js";
import { createSendError } from "../../gateway/problem.js";
import type { Disk } from "../../gateway/storage/atomic-file.js";
import { Blobs } from "../../gateway/storage/blobs.js";
import { fileRecords } from "../../gateway/storage/file-records.js";
import { addRelease, type NewRelease } from "../../scripts/release/folder.js";
import { temporaryDirectory } from "./cleanup.js";
import { nextEvent } from "./eventually.js";
import { listen } from "./ports.js";

export interface FirmwareServerOptions {
	readonly directory?: string;
	readonly disk?: Disk;
	readonly maxBytes?: number;
	readonly checkImages?: boolean;
	readonly releaseKeys?: ReleaseKeys;
	readonly recheckMs?: number;
	readonly now?: () => number;
}

export interface Answer {
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	readonly body: Buffer;
	readonly json: Readonly<Record<string, unknown>>;
}

export interface FirmwareServer {
	readonly directory: string;
	readonly uploadsDir: string;
	readonly releasesDir: string;
	readonly url: string;
	readonly port: number;
	readonly server: Server;
	readonly selection: Selection;
	readonly catalog: CatalogFile;
	readonly store: UploadStore;
	/** Problems reported to the log. */
	readonly problems: unknown[];
	request(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Answer>;
	/** Sends a multipart form. */
	post(body: Buffer, headers?: Readonly<Record<string, string>>): Promise<Answer>;
	upload(image: Uint8Array, filename?: string): Promise<Answer>;
	/** Adds a release to the catalog. */
	release(version: string, images: NewRelease["images"], sign?: NewRelease["sign"]): Promise<Catalog>;
}

/** Uploads of a single gateway. @param directory `firmware` in its data folder */
export function uploadsIn(
	directory: string,
	options: Pick<UploadStoreOptions, "onProblem"> & { readonly disk?: Disk; readonly now?: () => number },
): UploadStore {
	const { disk = fs, now = Date.now, onProblem } = options;
	return new UploadStore({
		records: (kind) => fileRecords({ ...kind, directory, disk, onProblem }),
		blobs: (kind) => new Blobs({ ...kind, directory, disk }),
		now,
		onProblem,
	});
}

export async function runFirmwareServer(
	t: TestContext,
	options: FirmwareServerOptions = {},
): Promise<FirmwareServer> {
	const { disk = fs, now = Date.now, checkImages = true, maxBytes = 1 << 20 } = options;
	const directory = options.directory ?? (await temporaryDirectory(t));
	const [uploadsDir, releasesDir] = [join(directory, "firmware"), join(directory, "releases")];
	const problems: unknown[] = [];
	const onProblem = (problem: unknown) => void problems.push(problem);
	const store = uploadsIn(uploadsDir, { disk, now, onProblem });
	const catalog = new CatalogFile({ directory: releasesDir, disk, onProblem });
	const { recheckMs = 0, releaseKeys = [] } = options;
	const repository = new FirmwareRepository({
		catalog,
		uploads: store,
		disk,
		checkImages,
		releaseKeys,
		recheckMs,
	});
	const selection = new Selection({ catalog, uploads: store, repository, onProblem });
	await store.open();
	const sendError = createSendError(onProblem);
	const access = { check: async () => ({}), authorize: async () => undefined, reportChange: () => {} };
	const binaries = createBinaries(repository, access, sendError);
	const routes = createFirmwareRoutes({
		upload: { store, maxBytes, checkImages, releaseKeys },
		catalog,
		repository,
		latestUpdates: () => [],
		uploadsByAddress: new AddressLimit({ points: 1_000_000, seconds: 60, what: "uploads" }),
		onUploaded: () => {},
	});
	const onError: ErrorRequestHandler = (error: unknown, _request, response, _next) =>
		sendError(error, response);
	const app = express().disable("x-powered-by").use(createRouter(routes, access)).use(onError);
	const server = createServer((request, response) => {
		if (!binaries(request, response)) app(request, response);
	});
	const port = await listen(t, server);
	const url = `http://127.0.0.1:${port}`;
	const request: FirmwareServer["request"] = (path, headers = {}, method = "GET") =>
		exchange(port, { path, headers, method });
	const post: FirmwareServer["post"] = (body, headers = {}) =>
		exchange(port, {
			path: "/ota/upload",
			method: "POST",
			headers: { ...formHeaders, ...("Transfer-Encoding" in headers ? {} : lengthOf(body)), ...headers },
			body,
		});
	return {
		directory,
		uploadsDir,
		releasesDir,
		url,
		port,
		server,
		selection,
		catalog,
		store,
		problems,
		request,
		post,
		upload: (image, filename = "firmware.bin") => post(form(filePart(image, filename))),
		release: (version, images, sign) =>
			addRelease(releasesDir, { version, date: "2026-01-02", notes: "", images, ...(sign && { sign }) }),
	};
}

const boundary = "----the-boundary";
export const formHeaders = { "Content-Type": `multipart/form-data; boundary=${boundary}` };

/** Body of a form with these parts. */
export function form(...parts: readonly Buffer[]): Buffer {
	return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

export function filePart(content: Uint8Array, filename = "firmware.bin", field = "firmware"): Buffer {
	return part(`name="${field}"; filename="${filename}"`, content, "application/octet-stream");
}

/** File part without a filename, as curl sends `-F 'firmware=<file;type=application/octet-stream'`. */
export function namelessPart(content: Uint8Array): Buffer {
	return part('name="firmware"', content, "application/octet-stream");
}

export function textPart(field: string, text: string): Buffer {
	return part(`name="${field}"`, Buffer.from(text));
}

function part(disposition: string, content: Uint8Array, type?: string): Buffer {
	const head = `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
	return Buffer.concat([
		Buffer.from(`${head}${type ? `Content-Type: ${type}\r\n` : ""}\r\n`),
		content,
		Buffer.from("\r\n"),
	]);
}

function lengthOf(body: Buffer): Readonly<Record<string, string>> {
	return { "Content-Length": String(body.length) };
}

interface Exchange {
	readonly path: string;
	readonly method: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body?: Buffer;
}

/** Sends one request verbatim on its own connection. */
async function exchange(port: number, { path, method, headers, body }: Exchange): Promise<Answer> {
	const sent = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false });
	sent.end(body);
	const [response] = await nextEvent(sent, "response");
	const chunks: Buffer[] = [];
	for await (const chunk of response) chunks.push(chunk);
	const content = Buffer.concat(chunks);
	return {
		status: response.statusCode,
		headers: response.headers,
		body: content,
		get json() {
			return JSON.parse(content.toString());
		},
	};
}
