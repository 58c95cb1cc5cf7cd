/**
 * Moddable's `Resource`: a file that the build put into flash. On a board its bytes take no memory; here they are in the XS
 * heap, so they are fetched in pieces.
 */

import Channel from "virtual/channel";

const pieceBytes = 2048;

export default class Resource extends ArrayBuffer {
	/** @throws Error where there is no such resource */
	constructor(path: string) {
		const channel = new Channel("resource", { path }, {});
		super(channel.call("byteLength"));
		const bytes = new Uint8Array(this);
		for (let offset = 0; offset < bytes.byteLength; offset += pieceBytes)
			bytes.set(channel.call("read", { offset, byteLength: pieceBytes }), offset);
		channel.close();
	}
}
