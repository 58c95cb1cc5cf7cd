/** The link of a session that another gateway has. */

import type { DeviceLink } from "../sessions/device.js";
import type { Member } from "./members.js";

/** To a device of another gateway; commands go there as a whole. */
export class MirrorLink implements DeviceLink {
	readonly isRemote = true;
	readonly member: Member;
	revision = -1;
	/** The list in which it came last. */
	list = 0;

	constructor(member: Member) {
		this.member = member;
	}

	get gateway(): string {
		return this.member.id;
	}

	isOpen(): boolean {
		return this.member.isUp;
	}

	send(): void {}
	close(): void {}
}
