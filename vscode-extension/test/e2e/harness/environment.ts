// This file reads what test/e2e/run hands over.

/** The value of a variable that test/e2e/run sets. */
export function required(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set; start the tests with test/e2e/run`);
  }
  return value;
}
