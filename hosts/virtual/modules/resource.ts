/**
 * Moddable's `Resource`: a file that the build puts into flash. On a board it uses no RAM; here its bytes are in the XS heap, so they are
 * read in pieces.
 */

import Channel from "virtual/channel";

const pieceBytes = 2048;

export default class Resource extends ArrayBuffer {
	/** @throws Error if the resource does not exist */
	constructor(path: string) {
		const channel = new Channel("resource", { path }, {});
		super(channel.call("byteLength"));
		const bytes = new Uint8Array(this);
		for (let offset = 0; offset < bytes.byteLength; offset += pieceBytes)
			bytes.set(channel.call("read", { offset, byteLength: pieceBytes }), offset);
		channel.close();
	}
}
