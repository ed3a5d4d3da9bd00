import { marshall } from '@aws-sdk/util-dynamodb';

/** @returns the image, still in DynamoDB JSON, with base64 text converted to bytes at any depth */
export function fromStreamImage(image: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(image).map(([name, value]) => [name, fromValue(value)]));
}

function fromValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const [[kind, inner] = ['', undefined]] = Object.entries(value);
  if (kind === 'B' && typeof inner === 'string') return { B: new Uint8Array(Buffer.from(inner, 'base64')) };
  if (kind === 'M' && typeof inner === 'object' && inner !== null)
    return { M: fromStreamImage(inner as Readonly<Record<string, unknown>>) };
  if (kind === 'L' && Array.isArray(inner)) return { L: inner.map(fromValue) };
  return value;
}

export function toStreamImage(item: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const text = JSON.stringify(marshall(item), (_name, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  );
  return JSON.parse(text) as Record<string, unknown>;
}
