function* numbers() {
	yield 1;
	yield 2;
}

export const culprit = numbers();
culprit.next();
