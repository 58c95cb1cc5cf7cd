/** People: login link for another browser of this person, and for admins the list of people with invitations. */

import { useState } from "preact/hooks";
import type { LoginLink } from "../../../api/login.js";
import { request } from "../app/gateway.js";
import { useTopic } from "../app/hooks.js";
import { personName } from "../model/roles.js";
import { Button } from "../parts/button.js";
import { Panel } from "../parts/panel.js";
import { LinkCode } from "./link-code.js";
import { Tokens } from "./tokens.js";

export function People() {
	const { person } = useTopic("link");
	const [link, setLink] = useState<LoginLink>();
	return (
		<>
			{person?.role === "monitor" && <Tokens />}
			<Panel title="Add phone or computer" look="stack">
				{person && (
					<p class="hint">
						Signs you in on another device as {personName(person.name)}. The link works once within ten
						minutes.
					</p>
				)}
				{link && <LinkCode url={link.url} />}
				<div class="actions">
					<Button onClick={async () => setLink(await request("POST /login/link"))}>
						{link ? "Create another link" : "Create link"}
					</Button>
				</div>
			</Panel>
		</>
	);
}
