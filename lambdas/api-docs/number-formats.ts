import type { CreateDocumentOptions } from 'zod-openapi';

const INT32 = 2 ** 31;

/**
 * Client generators for Go, Java or Rust choose the type by the format, and default to 32 bits, which amounts and times
 * exceed.
 */
export const numberFormats: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema }) => {
  const { type, const: only, minimum = -INT32 - 1, maximum = INT32 } = jsonSchema;
  if (Number.isInteger(only)) jsonSchema.type = 'integer';
  else if (type !== 'integer' && type !== 'number') return;
  const isSmall = only !== undefined || (minimum >= -INT32 && maximum < INT32);
  const format = isSmall ? 'int32' : 'int64';
  jsonSchema.format ??= jsonSchema.type === 'integer' ? format : 'double';
};
