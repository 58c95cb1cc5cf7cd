declare module "*.css";

/** Bundled style sheet as text. */
declare module "*.css?text" {
	const text: string;
	export default text;
}

/** Icon of lucide-static, as loaded by gateway/dashboard/bundle.ts. */
declare module "*.svg" {
	const elements: readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[];
	export default elements;
}
