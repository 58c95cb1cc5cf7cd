/** Serves the files of the page at `/` without login, as they contain no secrets. */

import { type Request, type RequestHandler, type Response, Router } from "express";
import { rejectMethod } from "../problem.js";
import { type Asset, type Bundle, plainFiles } from "./bundle.js";

const yearInSeconds = 31_536_000;
const encodings = ["br", "gzip"] as const;

export function createPages(bundled: () => Promise<Bundle>): Router {
	const router = Router();
	const paths = ["/", ...plainFiles.map((name) => `/${name}`), "/assets/:name"];
	router.route(paths).get(serveAsset(bundled)).all(rejectMethod("GET, HEAD"));
	return router;
}

function serveAsset(bundled: () => Promise<Bundle>): RequestHandler {
	return async (request, response, next) => {
		const { assets } = await bundled();
		const asset = assets.get(request.path.slice(1));
		if (!asset) return next("route");
		sendAsset(request, response, asset);
	};
}

/** Sends an asset with one ETag per encoding: RFC 9110, section 8.8.3.3. */
function sendAsset(request: Request, response: Response, asset: Asset): void {
	// Prefers our order: browsers accept all encodings equally and list gzip first.
	const encoding = encodings.find((name) => request.acceptsEncodings(name));
	const body = encoding === "br" ? asset.brotli : encoding === "gzip" ? asset.gzip : asset.content;
	if (encoding) response.set("Content-Encoding", encoding);
	const policy = response.get("Content-Security-Policy");
	const inline = Object.entries(asset.inline ?? {});
	if (policy)
		response.set(
			"Content-Security-Policy",
			inline.reduce(
				(text, [directive, sources]) => text.replace(`${directive} 'self'`, `$& ${sources}`),
				policy,
			),
		);
	response
		.set({
			"Cache-Control": asset.isImmutable ? `public, max-age=${yearInSeconds}, immutable` : "no-cache",
			ETag: `"${asset.hash}${encoding ? `-${encoding}` : ""}"`,
			Vary: "Accept-Encoding",
		})
		.type(asset.type)
		.send(body);
}
