/** Sends inputs to a board in order, one at a time. */

import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../device/message-of.js";
import type { BoardInput } from "../../../hosts/virtual/node/input.js";
import { demo } from "./requests.js";

/** Minimum time between inputs: the firmware debounces for 20 ms. */
const leastMs = 40;

interface Inputs {
	readonly send: (input: BoardInput) => void;
	/** Error of the last input; empty after success. */
	readonly problem: string;
}

/** @param id device id @param isOn whether the board is reachable */
export function useInputs(id: string, isOn: boolean): Inputs {
	const [problem, setProblem] = useState("");
	useEffect(() => setProblem(""), [isOn]);
	const last = useRef(Promise.resolve());
	const post = async (input: BoardInput) => {
		const sent = demo.request("POST /api/demo/devices/:id/input", { params: { id }, body: input });
		setProblem(await sent.then(() => "", messageOf));
		await new Promise((resolve) => setTimeout(resolve, leastMs));
	};
	const send = (input: BoardInput) => {
		last.current = last.current.then(() => post(input));
	};
	return { send, problem };
}
