/**
 * The page at `/` and what it alone asks for. Its files hold nothing secret and so are open; what they show comes over
 * `/monitor`, and the device token only to who has logged in as a monitor.
 */

import { type Request, type RequestHandler, type Response, Router } from "express";
import type { Access } from "../access/access.js";
import { refuseMethod } from "../problem.js";
import { type Asset, type Bundle, bundlePage } from "./bundle.js";

export interface DashboardOptions {
	readonly access: Pick<Access, "require">;
	/** What devices show; the page puts it into the commands that start a device. */
	readonly deviceToken: () => string;
	readonly makeBundle?: () => Promise<Bundle>;
}

export interface Dashboard {
	readonly router: Router;
	/** The login page, which access/login.ts fills in. */
	readonly loginPage: () => Promise<string>;
}

const yearInSeconds = 31_536_000;
const encodings = ["br", "gzip"] as const;

/** Makes the page when it is first asked for. */
export function createDashboard(options: DashboardOptions): Dashboard {
	const { access, deviceToken, makeBundle = bundlePage } = options;
	let bundle: Promise<Bundle> | undefined;
	const bundled = () => {
		bundle ??= makeBundle().catch((error: unknown) => {
			// The next who asks has it made anew: a package may just be being installed.
			bundle = undefined;
			throw error;
		});
		return bundle;
	};
	const router = Router();
	router
		.route("/api/device-token")
		.get(access.require("monitor"), (_request, response) => {
			response.set("Cache-Control", "no-store").json({ token: deviceToken() });
		})
		.all(refuseMethod("GET, HEAD"));
	router.route(["/", "/icon.svg", "/assets/:name"]).get(serveAsset(bundled)).all(refuseMethod("GET, HEAD"));
	return { router, loginPage: async () => (await bundled()).loginPage };
}

function serveAsset(bundled: () => Promise<Bundle>): RequestHandler {
	return async (request, response, next) => {
		const { assets } = await bundled();
		const asset = assets.get(request.path.slice(1));
		if (!asset) return next("route");
		sendAsset(request, response, asset);
	};
}

/** Each encoding is a representation of its own and so has an ETag of its own: RFC 9110, section 8.8.3.3. */
function sendAsset(request: Request, response: Response, asset: Asset): void {
	// Our order counts: browsers like all encodings equally and name gzip first.
	const encoding = encodings.find((one) => request.acceptsEncodings(one));
	const body = encoding === "br" ? asset.brotli : encoding === "gzip" ? asset.gzip : asset.content;
	if (encoding) response.set("Content-Encoding", encoding);
	response
		.set({
			"Cache-Control": asset.isImmutable ? `public, max-age=${yearInSeconds}, immutable` : "no-cache",
			ETag: `"${asset.hash}${encoding ? `-${encoding}` : ""}"`,
			Vary: "Accept-Encoding",
		})
		.type(asset.type)
		.send(body);
}
