/** People: login link for another browser of this person; for admins, people with their roles, invitations and links. */

import userPlus from "lucide-static/icons/user-plus.svg";
import { useState } from "preact/hooks";
import { age } from "../../../api/client/words.js";
import type { LoginLink } from "../../../api/login.js";
import { type PersonRole, personRoles } from "../../../api/person.js";
import { cleanText } from "../../../api/text.js";
import { request } from "../app/gateway.js";
import { useNow, useResource, useTopic } from "../app/hooks.js";
import { personName, roleNames, roleTexts } from "../model/roles.js";
import { Button } from "../parts/button.js";
import { CopyLine } from "../parts/copy-button.js";
import { requestClose } from "../parts/dialog.js";
import { Cards, Field } from "../parts/field.js";
import { FormDialog } from "../parts/form-dialog.js";
import { Icon } from "../parts/icon.js";
import { Item } from "../parts/item.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { Sheet } from "../parts/sheet.js";
import { LinkCode } from "./link-code.js";

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

interface Invitation extends LoginLink {
	readonly name: string;
	/** Token of a new person. */
	readonly token?: string | undefined;
}

/** People with their roles. */
function Tokens() {
	const list = useResource(() => request("GET /api/tokens"));
	const [isInviting, setIsInviting] = useState(false);
	const [invitation, setInvitation] = useState<Invitation>();
	const { person } = useTopic("link");
	const now = useNow(10_000);
	const ago = (time: string) => age(now - Date.parse(time));
	return (
		<Panel
			title="People"
			look="stack"
			actions={
				<Button look="primary" isChange onClick={() => setIsInviting(true)}>
					<Icon of={userPlus} />
					Invite person
				</Button>
			}
		>
			<Problem>{list.problem}</Problem>
			<ul class="listed" aria-label="People">
				{list.value?.tokens.map(({ name, role, since, usedAt }) => (
					<Item
						key={name}
						title={`${personName(name)}${name === person?.name ? " (you)" : ""}`}
						facts={[
							roleNames[role],
							usedAt ? `Active ${ago(usedAt)}` : "No recent activity",
							since && `Invited ${ago(since)}`,
						]}
						actions={
							name !== "monitor" && (
								<>
									<Button
										look="quiet"
										label={`New link for ${name}`}
										isChange
										onClick={async () => setInvitation(await invite(name))}
									>
										New link
									</Button>
									<Button
										look="quiet"
										label={`Revoke ${name}`}
										isChange
										question={{
											title: `Revoke access of ${name}?`,
											text: "All browsers and programs that use it are logged out immediately.",
											loss: { do: "Revoke", keep: "Cancel" },
										}}
										onClick={() => list.after(request("DELETE /api/tokens/:name", { params: { name } }))}
									>
										Revoke
									</Button>
								</>
							)
						}
					/>
				))}
			</ul>
			{isInviting && (
				<InviteForm
					onInvited={async (made) => {
						setInvitation(made);
						await list.refresh();
					}}
					onClosed={() => setIsInviting(false)}
				/>
			)}
			{/* Closing the form returns the focus to its button. */}
			{invitation && !isInviting && (
				<InvitationSheet initial={invitation} onClose={() => setInvitation(undefined)} />
			)}
		</Panel>
	);
}

async function invite(name: string): Promise<Invitation> {
	return { name, ...(await request("POST /api/tokens/:name/link", { params: { name } })) };
}

interface InviteFormProps {
	readonly onInvited: (invitation: Invitation) => Promise<void>;
	readonly onClosed: () => void;
}

function InviteForm({ onInvited, onClosed }: InviteFormProps) {
	const [name, setName] = useState("");
	const [role, setRole] = useState<PersonRole>("user");
	return (
		<FormDialog
			title="Invite person"
			verb="Create link"
			isComplete={name.trim() !== ""}
			onSave={async () => {
				const made = await request("POST /api/tokens", { body: { name: cleanText(name), role } });
				await onInvited({ ...(await invite(made.name)), token: made.token });
			}}
			onClosed={onClosed}
		>
			<Field label="Name" placeholder="Tom" maxLength={64} value={name} onInput={setName} />
			<Cards
				label="Role"
				value={role}
				onChange={setRole}
				options={personRoles.map((option) => [option, roleNames[option], roleTexts[option]])}
			/>
		</FormDialog>
	);
}

interface InvitationSheetProps {
	readonly initial: Invitation;
	readonly onClose: () => void;
}

function InvitationSheet({ initial, onClose }: InvitationSheetProps) {
	const [{ name, url, token }, setShown] = useState(initial);
	return (
		<Sheet
			title={`Link for ${name}`}
			onClose={onClose}
			footer={
				<>
					<Button isChange onClick={async () => setShown({ token, ...(await invite(name)) })}>
						New link
					</Button>
					<button type="button" class="primary" onClick={({ currentTarget }) => requestClose(currentTarget)}>
						Done
					</button>
				</>
			}
		>
			<p role="status">
				Send this link to {name}, or let them scan the code. It works once and expires in 24 hours.
			</p>
			<LinkCode url={url} />
			{token !== undefined && (
				<details>
					<summary>Access token</summary>
					<p class="hint">For programs that act as {name}. It is shown only once.</p>
					<CopyLine text={token} />
				</details>
			)}
		</Sheet>
	);
}
