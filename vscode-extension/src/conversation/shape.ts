// Checks that a value from the other side has the shape that its type promises. Fields that a shape does not name are allowed.

/** Tells whether a value is a T. */
export type Shape<T> = (value: unknown) => value is T;

/** What a shape promises. */
export type Of<S> = S extends Shape<infer T> ? T : never;

type Fields = Record<string, Shape<unknown>>;
type OptionalKeys<F extends Fields> = { [K in keyof F]: undefined extends Of<F[K]> ? K : never }[keyof F];
type Flat<T> = { [K in keyof T]: T[K] };
type OfFields<F extends Fields> = Flat<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: Of<F[K]> } & { [K in OptionalKeys<F>]?: Of<F[K]> | undefined }
>;

/** Text of at most max UTF-16 units. */
export const text =
  (max: number): Shape<string> =>
  (value): value is string =>
    typeof value === "string" && value.length <= max;

/** A whole number that is not negative. */
export const count: Shape<number> = (value): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

export const bool: Shape<boolean> = (value): value is boolean => typeof value === "boolean";

/** One of some words. */
export const word =
  <const T extends string>(...words: readonly T[]): Shape<T> =>
  (value): value is T =>
    words.some((known) => known === value);

export const optional =
  <T>(shape: Shape<T>): Shape<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || shape(value);

/** An array of at most max elements. */
export const list =
  <T>(shape: Shape<T>, max: number): Shape<readonly T[]> =>
  (value): value is readonly T[] =>
    Array.isArray(value) && value.length <= max && value.every(shape);

export const object =
  <F extends Fields>(fields: F): Shape<OfFields<F>> =>
  (value): value is OfFields<F> =>
    isObject(value) && Object.entries(fields).every(([name, shape]) => shape(value[name]));

/** An object with texts as values, as dictionaries are. */
export const dictionary: Shape<Record<string, string>> = (value): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((entry) => typeof entry === "string");

/** Something of the contract that the other side of ours has typed: only that it is an object with these fields. */
export const trusted =
  <T>(...fields: readonly (keyof T & string)[]): Shape<T> =>
  (value): value is T =>
    isObject(value) && fields.every((field) => value[field] !== undefined);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
