/** Attribute values as DynamoDB's document client accepts and returns them. */

export type Value =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | readonly Value[]
  | ReadonlySet<number | string>
  | { readonly [name: string]: Value };
export type Item = Readonly<Record<string, Value>>;

/**
 * Copies the value as the document client sends it with its default options.
 *
 * @throws Error in the same cases as the document client: undefined, NaN, infinite or unsafe numbers, empty or mixed
 * sets, and instances of classes
 */
function kept(value: unknown): Value {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return keptNumber(value);
  if (value === undefined) {
    throw new Error('Pass options.removeUndefinedValues=true to remove undefined values from map/array/set.');
  }
  if (Array.isArray(value)) return Object.freeze(value.filter((each) => typeof each !== 'function').map(kept));
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof Set) return keptSet(value);
  if (typeof value === 'object' && isPlain(value)) return keptMap(value);
  throw new Error(
    `Unsupported type passed: ${typeof value}. Pass options.convertClassInstanceToMap=true to marshall typeof object as map attribute.`,
  );
}

/** Like the document client, omits undefined attributes and rejects undefined values inside other values. */
export function storedItem(value: object): Item {
  return Object.freeze(storedValues(value));
}

/** For values that are not an item, such as the values of placeholders. Does not freeze the result. */
export function storedValues(value: object): Item {
  const item: Record<string, Value> = {};
  const given = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(given)) {
    const each = given[name];
    if (each !== undefined && typeof each !== 'function') item[name] = kept(each);
  }
  return item;
}

function keptMap(value: object): Item {
  const map: Record<string, Value> = {};
  const given = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(given)) {
    const each = given[name];
    if (typeof each !== 'function') map[name] = kept(each);
  }
  return Object.freeze(map);
}

/**
 * Returns true for a plain object of any JavaScript realm, because Jest gives each suite its own realm. An object with
 * a key `constructor` is also plain: the production client stores it.
 */
function isPlain(value: object): boolean {
  if (Object.hasOwn(value, 'constructor')) return true;
  const { constructor } = value as { readonly constructor?: { readonly name: string } };
  return constructor === undefined || constructor.name === 'Object';
}

function keptNumber(value: number): number {
  if (!Number.isFinite(value)) throw new Error(`Special numeric value ${value} is not allowed`);
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new Error(`Number ${value} is not safe. Use NumberValue from @aws-sdk/lib-dynamodb.`);
  }
  // DynamoDB has no negative zero.
  return value + 0;
}

function keptSet(value: ReadonlySet<unknown>): ReadonlySet<number | string> {
  if (value.size === 0) throw new Error('Pass a non-empty set, or options.convertEmptyValues=true.');
  const values = [...value];
  if (values.every((each) => typeof each === 'string')) return new Set(values);
  if (values.every((each) => typeof each === 'number')) return new Set(values.map(keptNumber));
  throw new Error('Only Number Set (NS) or String Set (SS) are allowed.');
}

export function equalValues(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (left instanceof Set)
    return right instanceof Set && left.size === right.size && [...left].every((each) => right.has(each));
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((each: Value, index) => equalValues(each, right[index] as Value));
  }
  if (right instanceof Uint8Array || right instanceof Set) return false;
  const names = Object.keys(left);
  const [one, other] = [left as Item, right as Item];
  return names.length === Object.keys(right).length && names.every((name) => equalMaybe(one[name], other[name]));
}

function equalMaybe(left: Value | undefined, right: Value | undefined): boolean {
  return left !== undefined && right !== undefined && equalValues(left, right);
}

/** Returns undefined for values of different types, and for types without an order. */
export function compareValues(left: Value, right: Value): number | undefined {
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  return undefined;
}

/** The order of UTF-8 bytes is also the order of code points. */
function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const one = left.charCodeAt(index);
    const other = right.charCodeAt(index);
    if (one !== other) return ranked(one) - ranked(other);
  }
  return left.length - right.length;
}

/** Surrogates rank last, because they encode the highest code points. */
function ranked(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * A missing target counts as zero or as an empty set.
 *
 * @throws TypeError for other types
 */
export function add(to: Value | undefined, value: Value): Value {
  if (typeof value === 'number') {
    if (to === undefined) return value;
    return typeof to === 'number' ? keptNumber(to + value) : mismatch();
  }
  if (!(value instanceof Set) || !(to === undefined || to instanceof Set)) return mismatch();
  return new Set([...(to ?? []), ...value]);
}

/** Returns undefined when the set becomes empty. @throws TypeError for other types */
export function remove(from: Value | undefined, value: Value): Value | undefined {
  if (!(value instanceof Set)) return mismatch();
  if (from === undefined) return undefined;
  if (!(from instanceof Set)) return mismatch();
  const left = new Set([...from].filter((each) => !value.has(each)));
  return left.size === 0 ? undefined : left;
}

function mismatch(): never {
  throw new TypeError('An operand in the update expression has an incorrect data type');
}

/**
 * Returns the size that counts towards limits and capacity units, in bytes (Amazon DynamoDB developer guide, "DynamoDB
 * item sizes and formats").
 */
function sizeOf(value: Value): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return 1 + Math.ceil(digitsOf(value) / 2);
  if (value === null || typeof value === 'boolean') return 1;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Set) {
    return [...(value as ReadonlySet<number | string>)].reduce<number>((sum, each) => sum + sizeOf(each), 0);
  }
  if (Array.isArray(value)) return value.reduce<number>((sum, each: Value) => sum + 1 + sizeOf(each), 3);
  let sum = 3;
  const map = value as Item;
  for (const name in map) sum += 1 + Buffer.byteLength(name) + sizeOf(map[name] as Value);
  return sum;
}

function digitsOf(value: number): number {
  if (Number.isSafeInteger(value)) {
    let rest = Math.abs(value);
    while (rest > 0 && rest % 10 === 0) rest /= 10;
    return rest === 0 ? 0 : Math.floor(Math.log10(rest)) + 1;
  }
  return String(Math.abs(value)).replace('.', '').replace(/^0+/, '').replace(/0+$/, '').length;
}

export function itemSize(item: Item): number {
  let sum = 0;
  for (const name in item) sum += Buffer.byteLength(name) + sizeOf(item[name] as Value);
  return sum;
}
