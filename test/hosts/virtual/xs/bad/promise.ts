export const culprit = Promise.resolve(1).then((value) => value + 1);
