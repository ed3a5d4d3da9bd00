import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** Size of an empty list or map, in bytes; each member adds one byte. */
const CONTAINER_BYTES = 3;

/** Names and values are in UTF-8 (Amazon DynamoDB developer guide, "DynamoDB item sizes and formats"). */
export function itemSizeBytes(item: Readonly<Record<string, AttributeValue>>): number {
  return sum(Object.entries(item).map(([name, value]) => utf8(name) + valueBytes(value)));
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return utf8(value.S);
  if (value.N !== undefined) return numberBytes(value.N);
  if (value.B !== undefined) return value.B.byteLength;
  if (value.M !== undefined) return CONTAINER_BYTES + itemSizeBytes(value.M) + Object.keys(value.M).length;
  if (value.L !== undefined) return CONTAINER_BYTES + sum(value.L.map(valueBytes)) + value.L.length;
  if (value.BOOL !== undefined || value.NULL !== undefined) return 1;
  throw new Error(`unknown size of ${JSON.stringify(Object.keys(value))}`);
}

function numberBytes(text: string): number {
  const digits = text.replace(/^-/, '').replace('.', '').replace(/^0+/, '').replace(/0+$/, '');
  return Math.ceil(digits.length / 2) + 1 + (text.startsWith('-') ? 1 : 0);
}

function utf8(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
