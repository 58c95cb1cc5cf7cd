export { default as culprit } from "no/such/module";
