/** Access tokens of people. A token is shown only once, after its creation. */

import { useState } from "preact/hooks";
import { age } from "../../../api/client/words.js";
import { roleWords } from "../../../api/permissions.js";
import { type PersonRole, personRoles } from "../../../api/person.js";
import { request } from "../app/gateway.js";
import { useNow, useResource } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { CopyLine } from "../parts/copy-button.js";
import { Choice, Field } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";

export function Tokens() {
	const list = useResource(() => request("GET /api/tokens"));
	const [made, setMade] = useState<{ readonly name: string; readonly token: string }>();
	const now = useNow(10_000);
	const ago = (time: string) => age(now - Date.parse(time));
	const revoke = async (name: string) => {
		await request("DELETE /api/tokens/:name", { params: { name } });
		if (made?.name === name) setMade(undefined);
		await list.refresh();
	};
	return (
		<Panel title="Tokens" look="stack">
			<Problem>{list.problem}</Problem>
			<ul class="listed" aria-label="Tokens">
				{list.value?.tokens.map(({ name, role, since, usedAt }) => (
					<li key={name}>
						<div>
							<strong>{name}</strong>
							<p class="hint">
								{role}
								{since && ` · created ${ago(since)}`}
								{usedAt ? ` · used ${ago(usedAt)}` : " · no recent activity"}
							</p>
						</div>
						{name !== "monitor" && (
							<Button
								look="small"
								label={`Revoke ${name}`}
								isChange
								question={{
									title: `Revoke the token of ${name}?`,
									text: <p>Its logins and connections end immediately.</p>,
									loss: { do: "Revoke", keep: "Keep it" },
								}}
								onClick={() => revoke(name)}
							>
								Revoke
							</Button>
						)}
					</li>
				))}
			</ul>
			{made && (
				<>
					<p role="status">Token of {made.name}. It is shown only once:</p>
					<CopyLine text={made.token} />
				</>
			)}
			<NewToken
				onMade={(token) => {
					setMade(token);
					return list.refresh();
				}}
			/>
		</Panel>
	);
}

interface NewTokenProps {
	readonly onMade: (token: { readonly name: string; readonly token: string }) => Promise<void>;
}

function NewToken({ onMade }: NewTokenProps) {
	const [name, setName] = useState("");
	const [role, setRole] = useState<PersonRole>("user");
	return (
		<div class="actions of-fields">
			<Field label="Name" placeholder="anna" maxLength={64} value={name} onInput={setName} />
			<Choice label="Role" value={role} onChange={setRole} options={personRoles.map((one) => [one, one])} />
			<Button
				isChange
				disabled={name === ""}
				onClick={async () => {
					await onMade(await request("POST /api/tokens", { body: { name, role } }));
					setName("");
				}}
			>
				Invite person
			</Button>
			<p class="hint">May {roleWords[role]}.</p>
		</div>
	);
}
