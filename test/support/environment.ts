/** Sets environment variables for the duration of an action, because test files of a folder share a process. */
export function withEnvironment<T>(variables: Readonly<Record<string, string>>, action: () => T): T {
	const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
	Object.assign(process.env, variables);
	try {
		return action();
	} finally {
		for (const [name, value] of before)
			if (value === undefined) delete process.env[name];
			else process.env[name] = value;
	}
}
