export const culprit = /pattern/;
