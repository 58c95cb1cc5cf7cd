/** Moddable's `mc/config`. */
const config: Readonly<Record<string, string>> = Object.freeze(JSON.parse(natives.config));

export default config;
