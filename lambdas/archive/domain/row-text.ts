import { hex } from '../../kernel/hash-chain.ts';

/**
 * Serializes a value of a row, so that two values are equal if and only if their texts are equal. Fields are sorted,
 * and bytes are distinguished from text.
 */
export function valueText(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(canonical(value));
}

function canonical(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: hex(value) };
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return { fields: fields.map(([name, of]) => [name, canonical(of)]) };
}

/** Returns the sorted paths of the fields that differ, for example `payment.amountMinor`. */
export function differingPaths(left: unknown, right: unknown, path = ''): readonly string[] {
  if (valueText(left) === valueText(right)) return [];
  if (!isFields(left) || !isFields(right)) return [path];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names]
    .flatMap((name) => differingPaths(left[name], right[name], path === '' ? name : `${path}.${name}`))
    .sort();
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
