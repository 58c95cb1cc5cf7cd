export default "named";
